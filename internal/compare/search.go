package compare

import (
	"cmp"
	"context"
	"slices"

	"ppal/internal/config"
)

// Trying is one point of the search for a contender's settings. Objective and violation are means over the last records of its run: where
// methods that switch between objective and constraints stop is chance.
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

// judged is the share of a run's records that a point is judged by, the last ones.
const judged = 0.1

// try judges the run of a point.
func try(r *Run, settings config.Values) Trying {
	t := Trying{Contender: r.Contender, Seed: r.Seed, Settings: settings, Failure: r.Failure}
	last := r.Records[len(r.Records)-max(1, int(judged*float64(len(r.Records)))):]
	for i := range last {
		t.Objective += last[i].Objective / float64(len(last))
		t.MaxViolation += last[i].MaxViolation / float64(len(last))
	}
	t.Feasible = r.Failure == "" && t.MaxViolation <= r.Config.FeasibilityTolerance
	return t
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
