package suite

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"ppal/internal/rundir"
)

// use is a part of the problems with its name.
type use struct {
	name     string
	problems []Problem
}

// uses returns the tuning problems and the held-out problems.
func (o *Outcome) uses() []use {
	return []use{{"tuning", o.problems(false)}, {"held out", o.problems(true)}}
}

// rivals returns the solvers that ppal is compared with, each with its best single setting, or with
// its best setting for each problem. The first solver of the result is ppal.
func (o *Outcome) rivals(targets map[string]target, perProblem bool) []solver {
	own, others := o.contenders()
	var list []solver
	for _, name := range own {
		list = append(list, o.with(name, ""))
	}
	for _, name := range others {
		if perProblem {
			list = append(list, o.perProblem(name))
		} else {
			list = append(list, o.single(name, targets))
		}
	}
	return list
}

// merged returns a solver with the runs of all solvers: the best of them on each problem.
func merged(name string, list []solver) solver {
	return solver{name, "", func(problem string) []*Run {
		var all []*Run
		for _, s := range list {
			all = append(all, s.runs(problem)...)
		}
		return all
	}}
}

// Markdown returns the tables.
func (o *Outcome) Markdown() string {
	targets := o.targets()
	single, each := o.rivals(targets, false), o.rivals(targets, true)
	var out strings.Builder
	fmt.Fprintf(&out, "# ppal and other optimisers on a suite of problems\n\n`ppal reproduce suite`: %d problems to tune on and %d held out, up to %d evaluations, one thread, %d run(s) at a time.\n",
		len(o.problems(false)), len(o.problems(true)), o.Options.Evaluations, max(1, o.Options.Workers))
	for _, name := range o.Missing {
		fmt.Fprintf(&out, "%s was not measured: the library is not installed (make peers).\n", name)
	}
	if len(single) == 0 {
		return out.String()
	}
	out.WriteString("\nA solver solves a problem at the first feasible point (violation at most 1e-3) with f <= f* + tau max(|f_0 - f*|, 1e-3 (1 + |f*|)).\n")
	out.WriteString("An evaluation is a forward pass or a backward pass, whichever there are more of.\n\n")
	o.duels(&out, targets, single, each)
	o.certificates(&out, single)
	o.worse(&out, targets, single)
	o.table(&out, single)
	o.perProblemTable(&out, targets, single)
	o.chosen(&out, single)
	return out.String()
}

// duels writes how often ppal is ahead of each other solver.
func (o *Outcome) duels(out *strings.Builder, targets map[string]target, single, each []solver) {
	if len(single) < 2 {
		return
	}
	fmt.Fprintf(out, "## %s against each other solver\n\nProblems on which %s needs less, the same and more. Neither solves: the same.\n\n", single[0].name, single[0].name)
	out.WriteString("| solver | setting | tau |")
	for _, measure := range []string{"evaluations", "seconds"} {
		for _, u := range o.uses() {
			fmt.Fprintf(out, " %s, %s |", measure, u.name)
		}
	}
	out.WriteString("\n|---|---|---|---|---|---|---|\n")
	row := func(other solver, kind string) {
		for _, tau := range tolerances() {
			fmt.Fprintf(out, "| %s | %s | %g |", other.name, kind, tau)
			for _, unit := range []cost{inEvaluations, inSeconds} {
				for _, u := range o.uses() {
					d := duel(u.problems, targets, tau, unit, single[0], other)
					fmt.Fprintf(out, " %s |", d)
				}
			}
			out.WriteString("\n")
		}
	}
	own, _ := o.contenders()
	for i, s := range single[1:] {
		if i+1 < len(own) {
			row(s, "")
			continue
		}
		row(s, "best single")
		row(each[i+1], "best per problem")
	}
	if len(single) > len(own)+1 {
		row(merged("the best of the others", single[len(own):]), "best single")
		row(merged("the best of the others", each[len(own):]), "best per problem")
	}
}

// String returns "18, 1, 3 (82%)": the problems ahead, level and behind, and the share ahead.
func (d Duel) String() string {
	if d.Count() == 0 {
		return "-"
	}
	return fmt.Sprintf("%d, %d, %d (%.0f%%)", d.Ahead, d.Level, d.Behind, 100*float64(d.Ahead)/float64(d.Count()))
}

// certificates writes how many problems end feasible and stationary.
func (o *Outcome) certificates(out *strings.Builder, list []solver) {
	fmt.Fprintf(out, "\n## Feasible and stationary: epsilon <= %g within %d evaluations\n\n| solver | tuning | held out |\n|---|---|---|\n", stationary, o.Options.Evaluations)
	for _, s := range list {
		fmt.Fprintf(out, "| %s |", s.name)
		for _, u := range o.uses() {
			fmt.Fprintf(out, " %s |", share(s.stationary(u.problems), len(u.problems)))
		}
		out.WriteString("\n")
	}
}

// ending is the end of a solver's run on a problem: the distance of the best feasible f from f*, as
// a share of the target's scale, and the least epsilon.
type ending struct{ best, gap, epsilon float64 }

// end returns the end of the solver's best run on a problem. Without a feasible point the gap is
// infinite.
func (s solver) end(t target, problem string) ending {
	e := ending{math.NaN(), math.Inf(1), math.Inf(1)}
	for _, r := range s.runs(problem) {
		if gap := (r.best() - t.best) / t.scale; gap < e.gap {
			e.best, e.gap = r.best(), gap
		}
		e.epsilon = min(e.epsilon, r.epsilon())
	}
	return e
}

// worseThan reports whether the best feasible f is larger by more than a thousandth of the target's
// scale, or whether only the other run is stationary.
func (e ending) worseThan(other ending) bool {
	return e.gap > other.gap+worseGap || e.epsilon > stationary && other.epsilon <= stationary
}

// worseGap is the difference of two gaps that counts.
const worseGap = 1e-3

// worse lists the problems on which ppal's default ends worse than ppal's other contenders.
func (o *Outcome) worse(out *strings.Builder, targets map[string]target, list []solver) {
	own, _ := o.contenders()
	for i := 1; i < len(own); i++ {
		fmt.Fprintf(out, "\n## Where %s ends worse than %s\n\nThe best feasible f is larger by more than %g of the scale of the convergence test, or only %s has an epsilon <= %g.\n\n",
			own[0], own[i], worseGap, own[i], stationary)
		var lines []string
		for _, p := range o.Options.Problems {
			t, ok := targets[p.Name]
			if !ok {
				continue
			}
			a, b := list[0].end(t, p.Name), list[i].end(t, p.Name)
			if a.worseThan(b) {
				lines = append(lines, fmt.Sprintf("- %s: f %s and %s, epsilon %s and %s\n", p.Name, value(a.best), value(b.best), value(a.epsilon), value(b.epsilon)))
			}
		}
		if lines == nil {
			lines = []string{"Nowhere.\n"}
		}
		out.WriteString(strings.Join(lines, ""))
	}
}

// share returns "18 of 22 (82%)".
func share(count, total int) string {
	if total == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d (%.0f%%)", count, total, 100*float64(count)/float64(total))
}

// tableProblem is the problem of docs/evidence/suite.md.
const tableProblem = "fashion-0123-k0.2-t40-w64-n1000"

// table writes the best feasible f along the runs of the problem of docs/evidence/suite.md.
func (o *Outcome) table(out *strings.Builder, list []solver) {
	if len(o.runs(tableProblem)) == 0 {
		return
	}
	marks := []int{50, 100, 200, 300, 500, 1000}
	fmt.Fprintf(out, "\n## Best feasible f on %s\n\n| solver |", tableProblem)
	for _, k := range marks {
		fmt.Fprintf(out, " %d |", k)
	}
	out.WriteString("\n|---|" + strings.Repeat("---|", len(marks)) + "\n")
	for _, s := range list {
		fmt.Fprintf(out, "| %s |", s.name)
		for _, k := range marks {
			text := ""
			for _, r := range s.runs(tableProblem) {
				if k <= r.Limit {
					text = value(r.bestAfter(k))
				}
			}
			fmt.Fprintf(out, " %s |", text)
		}
		out.WriteString("\n")
	}
}

// value returns a number with two digits, or "-".
func value(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "-"
	}
	return fmt.Sprintf("%.2g", x)
}

// perProblemTau is the tolerance of the table of problems.
const perProblemTau = 1e-3

// perProblemTable writes a line for each problem: the evaluations to the tolerance, and the least
// epsilon.
func (o *Outcome) perProblemTable(out *strings.Builder, targets map[string]target, list []solver) {
	fmt.Fprintf(out, "\n## Each problem: evaluations until tau = %g, and the least epsilon\n\nHeld-out problems are marked with *. Each solver has its best single setting.\n\n| problem | f* |", perProblemTau)
	for _, s := range list {
		fmt.Fprintf(out, " %s |", s.name)
	}
	out.WriteString("\n|---|---|" + strings.Repeat("---|", len(list)) + "\n")
	for _, p := range o.Options.Problems {
		name, best := p.Name, "-"
		if p.HeldOut {
			name += " *"
		}
		if t, ok := targets[p.Name]; ok {
			best = fmt.Sprintf("%.4g", t.best)
		}
		fmt.Fprintf(out, "| %s | %s |", name, best)
		for _, s := range list {
			evaluations, epsilon := "-", math.Inf(1)
			if c := s.cost(targets, p.Name, perProblemTau, inEvaluations); !math.IsInf(c, 1) {
				evaluations = fmt.Sprintf("%.0f", c)
			}
			for _, r := range s.runs(p.Name) {
				epsilon = min(epsilon, r.epsilon())
			}
			fmt.Fprintf(out, " %s, %s |", evaluations, value(epsilon))
		}
		out.WriteString("\n")
	}
}

// chosen lists the best single settings, and the failures.
func (o *Outcome) chosen(out *strings.Builder, list []solver) {
	var lines, failures []string
	for _, s := range list {
		if s.setting != "" {
			lines = append(lines, fmt.Sprintf("- %s (%d settings): `%s`", s.name, len(o.settings(s.name)), s.setting))
		}
	}
	for _, r := range o.Runs {
		if r.Failure != "" {
			failures = append(failures, strings.TrimSpace(fmt.Sprintf("- %s on %s %s: %s", r.Contender, r.Problem, r.Setting, r.Failure)))
		}
	}
	if lines != nil {
		fmt.Fprintf(out, "\n## Best single settings\n\nThe tuning problems chose them: the least mean logarithm of the evaluations over the problems and tolerances.\n"+
			"A problem that is not solved counts as %d times the limit.\n\n%s\n", unsolvedFactor, strings.Join(lines, "\n"))
	}
	if failures != nil {
		fmt.Fprintf(out, "\n## Runs that failed\n\n%s\n", strings.Join(failures, "\n"))
	}
}

// Write writes the tables and the profiles to a directory.
func (o *Outcome) Write(dir string) error {
	if err := rundir.WriteFile(filepath.Join(dir, "summary.md"), []byte(o.Markdown())); err != nil {
		return err
	}
	targets := o.targets()
	for _, choice := range []struct {
		name string
		each bool
	}{{"single", false}, {"each", true}} {
		list := o.rivals(targets, choice.each)
		for _, u := range append(o.uses(), use{"all", o.Options.Problems}) {
			for _, measure := range []struct {
				name string
				unit cost
			}{{"evaluations", inEvaluations}, {"seconds", inSeconds}} {
				for _, tau := range tolerances() {
					name := fmt.Sprintf("profile-%s-%s-%s-%g.svg", choice.name, strings.ReplaceAll(u.name, " ", "-"), measure.name, tau)
					p := profileOf(targets, u, measure.name, measure.unit, tau, list)
					if err := p.Write(filepath.Join(dir, "plots", name)); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}
