package compare

import (
	"cmp"
	"context"
	"slices"

	"ppal/internal/config"
	"ppal/trainer"
)

// Trying is one point of the search for a contender's settings. A point is judged by the best record that its run has after the start,
// not by the last: where methods that switch between objective and constraints stop is chance.
type Trying struct {
	Contender string        `json:"method"`
	Seed      uint64        `json:"seed"`
	Settings  config.Values `json:"settings"`
	// Objective and MaxViolation are those of the feasible record with the smallest objective, or, where no record is feasible, of
	// the one with the smallest violation.
	Objective    float64 `json:"objective"`
	MaxViolation float64 `json:"max_violation"`
	Feasible     bool    `json:"feasible"`
	Failure      string  `json:"failure,omitempty"`
	Chosen       bool    `json:"chosen"`
}

// try judges the run of a point.
func try(r *Run, settings config.Values) Trying {
	best := r.Last()
	for i := range r.Records {
		if at := &r.Records[i]; at.Iteration > 0 && better(at, best, r.Config.FeasibilityTolerance) {
			best = at
		}
	}
	return Trying{
		Contender: r.Contender, Seed: r.Seed, Settings: settings, Failure: r.Failure, Objective: best.Objective,
		MaxViolation: best.MaxViolation, Feasible: r.Failure == "" && best.MaxViolation <= r.Config.FeasibilityTolerance,
	}
}

// better says whether a is feasible and b is not, or, both feasible, has the smaller objective, or, neither, the smaller violation.
func better(a, b *trainer.Record, tolerance float64) bool {
	met, other := a.MaxViolation <= tolerance, b.MaxViolation <= tolerance
	switch {
	case met != other:
		return met
	case met:
		return a.Objective < b.Objective
	}
	return a.MaxViolation < b.MaxViolation
}

// search tries every contender's grid on the first seed and returns the contenders with the settings chosen.
func (r *runner) search(ctx context.Context, outcome *Outcome) ([]Contender, error) {
	var jobs []job
	for _, c := range r.study.Contenders {
		for point := range c.Grid {
			jobs = append(jobs, r.study.job(c, r.study.Seeds[0], point))
		}
	}
	runs, err := r.all(ctx, jobs)
	if err != nil {
		return nil, err
	}
	var chosen []Contender
	at := 0
	for _, c := range r.study.Contenders {
		tried := make([]Trying, len(c.Grid))
		for point, settings := range c.Grid {
			tried[point] = try(&runs[at], settings)
			at++
		}
		if len(tried) > 0 {
			best := choose(tried)
			tried[best].Chosen = true
			c.Values = merged(c.Values, c.Grid[best])
		}
		outcome.Search = append(outcome.Search, tried...)
		chosen = append(chosen, c)
	}
	return chosen, nil
}

// choose is the index of the best point: what did not fail, then what is feasible, by the objective; what is not, by the violation. The
// first among equals.
func choose(tried []Trying) int {
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
	return slices.MinFunc(order, func(a, b int) int {
		x, y := tried[a], tried[b]
		if c := cmp.Compare(rank(x), rank(y)); c != 0 {
			return c
		}
		if rank(x) == 0 {
			return cmp.Compare(x.Objective, y.Objective)
		}
		return cmp.Compare(x.MaxViolation, y.MaxViolation)
	})
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
