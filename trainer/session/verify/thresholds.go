package verify

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"ppal/models"
	"ppal/trainer/session/results"
)

// given returns the model of given scores; ok is false if the run trained its model.
func (c *check) given() (m models.Scores, ok bool) {
	m, ok = c.in.Model.(models.Scores)
	return m, ok
}

// thresholds checks a run with given scores: its weights are the thresholds in summary.json, and
// the objective and the constraints are those of the decisions. It tries other thresholds, and
// reports those that are better.
func (c *check) thresholds(m models.Scores) error {
	s, r := &c.summary, c.report
	if s.Certificate != nil || s.Outcome == nil || s.Outcome.Thresholds == nil || len(s.Constraints) != len(c.in.Constraints) {
		return fmt.Errorf("summary.json: a run with given scores has thresholds and no certificate, and the task has %d constraints", len(c.in.Constraints))
	}
	t := s.Outcome.Thresholds
	if byGroup := m.Thresholds == models.ByGroup; byGroup != (t.Column != "") || !byGroup && len(t.Groups) != 1 {
		return fmt.Errorf("summary.json has thresholds by the column %q for %d groups, and config.yaml states %s", t.Column, len(t.Groups), m.Thresholds)
	}
	if err := c.givenWeights(m, t); err != nil {
		return err
	}
	for j, b := range s.Bounds {
		r.exact(sectionBounds, fmt.Sprintf("bounds[%d]", j), b, c.in.Constraints[j].Bound)
	}
	e := c.parts[0]
	scores := c.output.as(true, nil).scores(c.in.Parts[0].Features)
	objective, excess := e.strict(scores)
	r.compare(sectionSolution, "objective", s.Objective, number{objective, rounding, true})
	for j, g := range excess {
		r.compare(sectionConstraints, fmt.Sprintf("constraints[%d] (%s)", j, c.in.Constraints[j].Name), s.Constraints[j], number{g, rounding, true})
	}
	r.compare(sectionSolution, "max_violation", s.MaxViolation, number{worst(excess), rounding, true})
	if !t.All {
		r.skip("thresholds: whether others are better; the run does not say so. least_objective: the bound of the search")
		return nil
	}
	c.others(t, scores, objective, worst(excess))
	return nil
}

// givenWeights compares the weights of the file with the thresholds.
func (c *check) givenWeights(m models.Scores, t *results.Thresholds) error {
	features := c.in.Preparation.Features
	weight, bias := c.output.raw[0].Data, c.output.raw[1].Data
	groups := 0
	for k := range bias {
		for j, name := range features {
			w, want := weight[k*len(features)+j], 0.0
			score := slices.Index(m.Columns, name)
			g := slices.IndexFunc(t.Groups, func(g results.GroupThreshold) bool {
				return name == t.Column+"="+g.Group || g.Group == "missing" && name == t.Column+" missing"
			})
			switch {
			case score >= 0 && score == k:
				want = 1
			case score < 0 && (g < 0 || len(t.Groups[g].Thresholds) != len(bias)):
				return fmt.Errorf("summary.json has no thresholds for the feature %s", name)
			case score < 0:
				want = -t.Groups[g].Thresholds[k] - bias[k]
				groups++
			}
			c.report.compare(sectionSolution, fmt.Sprintf("weight %d of %s", k, name), w, number{want, rounding * (1 + math.Abs(bias[k])), true})
		}
		if t.Column == "" {
			c.report.compare(sectionSolution, "the threshold", t.Groups[0].Thresholds[k], number{-bias[k], rounding, true})
		}
	}
	if t.Column != "" && groups != len(bias)*len(t.Groups) {
		return fmt.Errorf("summary.json has thresholds for %d groups, and the model has indicators of %d", len(t.Groups), groups/len(bias))
	}
	return nil
}

// strict counts the decisions of scores, and returns the objective and the excesses of the
// inequalities.
func (r *evaluator) strict(scores []float64) (objective float64, excess []float64) {
	r.shifts = nil
	r.count(scores, 0)
	h := make([]float64, len(r.cells))
	for k := range r.cells {
		if len(r.cells[k].rows) > 0 {
			h[k] = r.hitWeights[k] / r.cells[k].weight
		}
	}
	return r.objective.value, r.inequalities(h)
}

// tried is the number of thresholds of each group that others tries.
const tried = 12

// others moves the thresholds of each group to the quantiles of its scores, in all combinations for
// two groups. It reports thresholds that meet the bounds with a smaller objective.
func (c *check) others(t *results.Thresholds, scores []float64, objective, violation float64) {
	n := len(c.in.Parts[0].Classes)
	group := make([]int, n) // of each row
	if t.Column != "" {
		row := make([]float64, len(c.in.Preparation.Features))
		for i := range n {
			c.in.Parts[0].Features.Float64(row, i, i+1)
			for g := range t.Groups {
				if at := slices.Index(c.in.Preparation.Features, t.Column+"="+t.Groups[g].Group); at >= 0 && row[at] == 1 {
					group[i] = g
				}
			}
		}
	}
	cuts := make([][]float64, len(t.Groups))
	for g := range cuts {
		var own []float64
		for i, k := range group {
			if k == g {
				own = append(own, scores[i])
			}
		}
		if sort.Float64s(own); len(own) == 0 {
			return
		}
		cuts[g] = []float64{0}
		for q := range tried {
			cuts[g] = append(cuts[g], own[(len(own)-1)*q/(tried-1)])
		}
	}
	moved := make([]float64, n)
	at := make([]int, len(cuts))
	for {
		for i, k := range group {
			moved[i] = scores[i] - cuts[k][at[k]]
		}
		if f, excess := c.parts[0].strict(moved); worst(excess) <= rounding && (f < objective-rounding || violation > rounding) {
			c.report.problem("thresholds: all_compared is true, but thresholds that meet the bounds have the objective %v, and those of the run %v with a violation of %v",
				f, objective, violation)
			break
		}
		g := 0
		for ; g < len(at); g++ {
			if at[g]++; at[g] < len(cuts[g]) {
				break
			}
			at[g] = 0
		}
		if g == len(at) {
			break
		}
	}
	c.report.skip("thresholds: whether others than the %d that were tried for each group are better", tried)
}
