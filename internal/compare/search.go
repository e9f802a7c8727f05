package compare

import (
	"cmp"
	"context"
	"slices"

	"ppal/internal/config"
)

// Trying is one point of the search for a contender's settings.
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
			last := runs[at].Last()
			tried[point] = Trying{
				Contender: c.Name, Seed: r.study.Seeds[0], Settings: settings, Failure: runs[at].Failure,
				Objective: last.Objective, MaxViolation: last.MaxViolation,
				Feasible: runs[at].Failure == "" && last.MaxViolation <= runs[at].Config.FeasibilityTolerance,
			}
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
