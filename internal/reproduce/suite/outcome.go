package suite

import (
	"math"
	"slices"
)

// Outcome holds the runs of a comparison.
type Outcome struct {
	Options Options
	Runs    []*Run
	// Missing are the contenders whose library is not installed.
	Missing []string
}

// solver is a contender with a choice of its settings.
type solver struct {
	name    string
	setting string // the setting for all problems; "" for ppal and for a choice per problem
	runs    func(problem string) []*Run
}

// of returns the runs of a problem.
func (o *Outcome) runs(problem string) []*Run {
	var list []*Run
	for _, r := range o.Runs {
		if r.Problem == problem {
			list = append(list, r)
		}
	}
	return list
}

// targets returns the targets of the problems that have a feasible point.
func (o *Outcome) targets() map[string]target {
	list := map[string]target{}
	for _, p := range o.Options.Problems {
		if t, ok := newTarget(o.runs(p.Name), p.optimum()); ok {
			list[p.Name] = t
		}
	}
	return list
}

// problems returns the problems of one use.
func (o *Outcome) problems(heldOut bool) []Problem {
	return slices.DeleteFunc(slices.Clone(o.Options.Problems), func(p Problem) bool { return p.HeldOut != heldOut })
}

// cost returns the cost of a solver on a problem: the least cost of its runs. It is infinite if
// the solver does not meet the convergence test, or if no run of the problem is feasible.
func (s solver) cost(targets map[string]target, problem string, tau float64, unit cost) float64 {
	least := math.Inf(1)
	if t, ok := targets[problem]; ok {
		for _, r := range s.runs(problem) {
			least = min(least, t.solved(r, tau, unit))
		}
	}
	return least
}

// contenders returns the names of the contenders that ran, ppal's own first.
func (o *Outcome) contenders() (own, others []string) {
	for _, c := range owns() {
		if slices.ContainsFunc(o.Runs, func(r *Run) bool { return r.Contender == c.Name }) {
			own = append(own, c.Name)
		}
	}
	for _, r := range o.Runs {
		if !slices.Contains(own, r.Contender) && !slices.Contains(others, r.Contender) {
			others = append(others, r.Contender)
		}
	}
	slices.Sort(others)
	return own, others
}

// with returns a contender with one setting for all problems.
func (o *Outcome) with(contender, setting string) solver {
	return solver{contender, setting, func(problem string) []*Run {
		return slices.DeleteFunc(o.runs(problem), func(r *Run) bool { return r.Contender != contender || r.Setting != setting })
	}}
}

// perProblem returns a contender with its best setting for each problem and each tolerance.
func (o *Outcome) perProblem(contender string) solver {
	return solver{contender, "", func(problem string) []*Run {
		return slices.DeleteFunc(o.runs(problem), func(r *Run) bool { return r.Contender != contender })
	}}
}

// settings returns the settings of a contender.
func (o *Outcome) settings(contender string) []string {
	var list []string
	for _, r := range o.Runs {
		if r.Contender == contender && !slices.Contains(list, r.Setting) {
			list = append(list, r.Setting)
		}
	}
	return list
}

// single returns a contender with its best setting for all problems: the setting with the least
// score over the tuning problems and the tolerances, in evaluations. Without tuning problems, all
// problems choose.
func (o *Outcome) single(contender string, targets map[string]target) solver {
	problems := o.problems(false)
	if len(problems) == 0 {
		problems = o.Options.Problems
	}
	penalty := float64(unsolvedFactor * o.Options.Evaluations)
	var best solver
	least := math.Inf(1)
	for _, setting := range o.settings(contender) {
		s := o.with(contender, setting)
		var costs []float64
		for _, p := range problems {
			for _, tau := range tolerances() {
				costs = append(costs, s.cost(targets, p.Name, tau, inEvaluations))
			}
		}
		if v := score(costs, penalty); best.runs == nil || v < least {
			best, least = s, v
		}
	}
	return best
}

// duel compares a solver with another solver on problems.
func duel(problems []Problem, targets map[string]target, tau float64, unit cost, own, other solver) (d Duel) {
	for _, p := range problems {
		d.add(own.cost(targets, p.Name, tau, unit), other.cost(targets, p.Name, tau, unit))
	}
	return d
}

// stationary counts the problems on which a solver has a certificate with an epsilon up to 1e-3.
func (s solver) stationary(problems []Problem) int {
	count := 0
	for _, p := range problems {
		if slices.ContainsFunc(s.runs(p.Name), func(r *Run) bool { return r.epsilon() <= stationary }) {
			count++
		}
	}
	return count
}

// stationary is the epsilon of a certificate that counts as feasible and stationary.
const stationary = 1e-3
