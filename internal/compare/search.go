package compare

import (
	"cmp"
	"context"
	"slices"

	"ppal/internal/config"
)

// Trying is one tried point of the search for a contender's settings. With bounds on decisions,
// objective and violation are those of the counted training decisions. Otherwise they are means
// over the last records of the run, because a single record of a method that switches between
// objective and constraints is left to chance.
type Trying struct {
	Contender    string        `json:"method"`
	Seed         uint64        `json:"seed"`
	Settings     config.Values `json:"settings"`
	Objective    float64       `json:"objective"`
	MaxViolation float64       `json:"max_violation"`
	Feasible     bool          `json:"feasible"`
	Failure      string        `json:"failure,omitempty"`
	Chosen       bool          `json:"chosen"`
}

// judged is the share of a run's last records that determine the result of a point.
const judged = 0.1

// try computes the result of a point from its run.
func try(r *Run, settings config.Values) Trying {
	t := Trying{Contender: r.Contender, Seed: r.Seed, Settings: settings, Failure: r.Failure}
	if r.onDecisions() {
		t.Objective, t.MaxViolation, t.Feasible = *r.Summary.Outcome.Objective.Train, r.excess(), r.Met()
		return t
	}
	end := r.tail()
	t.Objective, t.MaxViolation = end.objective, end.violation
	t.Feasible = r.Failure == "" && t.MaxViolation <= r.Config.Session.Settings.FeasibilityTolerance
	return t
}

// finalists is the largest number of grid points that are also tried on the second seed. These are
// the best points on the first seed: a point at the edge of stability may be the best with one seed
// and diverge with another.
const finalists = 4

// search tries every contender's grid on the first seed and the best points on the second seed. It
// returns the contenders with the chosen settings.
func (r *runner) search(ctx context.Context, outcome *Outcome) ([]Contender, error) {
	contenders := slices.Clone(r.study.Contenders)
	points := make([][]int, len(contenders)) // indices into each contender's grid
	for i, c := range contenders {
		for point := range c.Grid {
			points[i] = append(points[i], point)
		}
	}
	seeds := r.study.Seeds
	first, err := r.tryAll(ctx, points, seeds[0])
	if err != nil {
		return nil, err
	}
	for i := range contenders {
		points[i] = ranked(first[i])
		points[i] = points[i][:r.study.finalists(len(points[i]))]
	}
	second := make([][]Trying, len(contenders))
	if len(seeds) > 1 {
		if second, err = r.tryAll(ctx, points, seeds[1]); err != nil {
			return nil, err
		}
	}
	for i := range contenders {
		c := &contenders[i]
		if len(c.Grid) > 0 {
			c.Values = merged(c.Values, c.Grid[choose(points[i], first[i], second[i])])
		}
		outcome.Search = slices.Concat(outcome.Search, first[i], second[i])
	}
	return contenders, nil
}

// finalists returns how many points of a grid are tried on the second seed: at most half of them.
func (s *Study) finalists(points int) int {
	if len(s.Seeds) == 1 {
		return min(points, 1)
	}
	return min((points+1)/2, finalists)
}

// tryAll runs points of the contenders' grids on one seed.
func (r *runner) tryAll(ctx context.Context, points [][]int, seed uint64) ([][]Trying, error) {
	var jobs []job
	for i, c := range r.study.Contenders {
		for _, point := range points[i] {
			jobs = append(jobs, r.study.job(c, seed, point))
		}
	}
	runs, err := r.all(ctx, jobs)
	if err != nil {
		return nil, err
	}
	tried := make([][]Trying, len(points))
	at := 0
	for i, c := range r.study.Contenders {
		for _, point := range points[i] {
			tried[i] = append(tried[i], try(&runs[at], c.Grid[point]))
			at++
		}
	}
	return tried, nil
}

// choose chooses one of the finalists by the runs of both seeds and marks it. first holds the runs
// of all points, second the runs of the finalists, or nothing if there is only one seed.
func choose(finalists []int, first, second []Trying) (point int) {
	joint := make([]Trying, len(finalists))
	for k, point := range finalists {
		joint[k] = first[point]
		if second != nil {
			joint[k] = both(first[point], second[k])
		}
	}
	k := ranked(joint)[0]
	first[finalists[k]].Chosen = true
	if second != nil {
		second[k].Chosen = true
	}
	return finalists[k]
}

// both combines the results of a point on two seeds: the mean of the objectives, and the worse
// result in all other respects.
func both(a, b Trying) Trying {
	return Trying{Objective: (a.Objective + b.Objective) / 2, MaxViolation: max(a.MaxViolation, b.MaxViolation),
		Feasible: a.Feasible && b.Feasible, Failure: cmp.Or(a.Failure, b.Failure)}
}

// ranked returns the points from the best to the worst: feasible points by objective, then
// infeasible points by violation, then failed points. Equal points keep their order.
func ranked(tried []Trying) []int {
	order := make([]int, len(tried))
	for i := range order {
		order[i] = i
	}
	rank := func(t Trying) int {
		switch {
		case t.Failure != "":
			return 2
		case !t.Feasible:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := tried[a], tried[b]
		if c := cmp.Compare(rank(x), rank(y)); c != 0 {
			return c
		}
		if rank(x) == 0 {
			return cmp.Compare(x.Objective, y.Objective)
		}
		return cmp.Compare(x.MaxViolation, y.MaxViolation)
	})
	return order
}

func merged(a, b config.Values) config.Values {
	all := config.Values{}
	for _, values := range []config.Values{a, b} {
		for k, v := range values {
			all[k] = v
		}
	}
	return all
}
