package measure

import (
	"math"
	"slices"

	"ppal/internal/decide"
	"ppal/trainer/session/results"
)

// ScoreThresholds are the thresholds on given scores.
type ScoreThresholds struct {
	Column  string   // of the groups; "": all rows are one group
	Names   []string // of the groups; nil: all rows are one group
	Outputs int      // scores of a row
	// Offsets are minus the thresholds, those of each group one after the other. A group without
	// training rows has the mean of the others, by the weights of their rows.
	Offsets []float64
	Mean    []float64 // this mean
	found   *decide.Thresholds
	rows    []int     // of each group
	mass    []float64 // weights of the rows of each group
}

// Scores are the scores of rows with their groups.
type Scores struct {
	Scores []float64
	Groups []int32 // nil: all rows are one group
}

// Thresholds finds the thresholds of the training rows' scores. With a confidence, they are those
// of walk. If the bounds are on shares that are monotone in a single threshold, the validation rows
// may then move this threshold.
func (f *Solution) Thresholds(train Scores, resolution float64, c *Confidence, held func() (Scores, error)) (err error) {
	g := f.OnScores
	g.count(train, f.Sample.Weights())
	found, err := f.strictly(f.Target, train, resolution)
	if err != nil {
		return err
	}
	if g.take(found); c == nil {
		f.Exact = &found.Exact
		f.Exact.Moved = false
		return f.end(g.shifted(train), false)
	}
	other, err := held()
	if err != nil {
		return err
	}
	if c.ByThreshold() && len(g.rows) == 1 {
		err = c.exactStep(f, train.Scores, func() ([]float64, error) { return other.Scores, nil }, resolution)
		if err != nil {
			return err
		}
		g.take(&decide.Thresholds{Exact: *f.Exact})
	} else {
		find := func(target *decide.Target) (*decide.Thresholds, []float64, error) {
			found, err := f.strictly(target, train, resolution)
			if err != nil {
				return nil, nil, err
			}
			g.take(found)
			return found, g.shifted(train), nil
		}
		hits := func(_ *decide.Thresholds, by float64) ([]int, error) { return c.hits(moved(g.shifted(other), by), nil) }
		chosen, by, err := walk(c, f, g.shifted(train), find, hits)
		if err != nil {
			return err
		}
		chosen.Offsets = moved(chosen.Offsets, by)
		g.take(chosen)
		chosen.After = f.Target.Value(f.ratesOf(g.shifted(train), nil))
	}
	f.Exact = &g.found.Exact
	f.Exact.Moved, g.found.Proven, g.found.Bound = false, false, math.Inf(-1)
	f.Exact.Before = f.Exact.After
	return f.end(g.shifted(train), true)
}

// strictPrice is the largest increase of the objective that strictly accepts so that the decisions
// exceed no bound at all: half a point, as in the exact step.
const strictPrice = 0.005

// strictly finds thresholds that meet the bounds without slack, if there are any that cost at most
// strictPrice, and else with the slack.
func (f *Solution) strictly(target *decide.Target, s Scores, resolution float64) (*decide.Thresholds, error) {
	strict := *target
	strict.Bounds = slices.Clone(target.Bounds)
	slack := false
	for j := range strict.Bounds {
		slack = slack || strict.Bounds[j].Slack > 0
		strict.Bounds[j].Slack, strict.Bounds[j].Coarse = 0, nil
	}
	search := func(t *decide.Target) (*decide.Thresholds, error) {
		return decide.ByGroup(f.Rates, t, s.Scores, s.Groups, max(1, len(f.OnScores.Names)), resolution)
	}
	own, err := search(&strict)
	if err != nil || !slack {
		return own, err
	}
	loose, err := search(target)
	if err != nil || own.Violation > 0 || own.After > loose.After+strictPrice {
		return loose, err
	}
	return own, nil
}

// count counts the training rows of each group, and adds up their weights; nil: 1 each.
func (g *ScoreThresholds) count(train Scores, weights []float64) {
	g.rows, g.mass = make([]int, max(1, len(g.Names))), make([]float64, max(1, len(g.Names)))
	for i := range len(train.Scores) / g.Outputs {
		k := 0
		if train.Groups != nil {
			k = int(train.Groups[i])
		}
		g.rows[k]++
		if weights != nil {
			g.mass[k] += weights[i]
		} else {
			g.mass[k]++
		}
	}
}

// take takes the thresholds that were found.
func (g *ScoreThresholds) take(found *decide.Thresholds) {
	g.found = found
	g.Offsets, g.Mean = slices.Clone(g.found.Offsets), make([]float64, g.Outputs)
	all := 0.0
	for _, n := range g.mass {
		all += n
	}
	for i, v := range g.Offsets {
		g.Mean[i%g.Outputs] += v * g.mass[i/g.Outputs] / all
	}
	if len(g.rows) == 1 {
		copy(g.Mean, g.Offsets)
	}
	for i := range g.Offsets {
		if g.rows[i/g.Outputs] == 0 {
			g.Offsets[i] = g.Mean[i%g.Outputs]
		}
	}
}

// shifted returns scores minus the thresholds.
func (g *ScoreThresholds) shifted(s Scores) []float64 {
	return decide.Shifted(s.Scores, g.Offsets, s.Groups, g.Outputs)
}

// Counted returns the objective and the excesses of the inequalities on the decisions of the
// training rows' scores.
func (f *Solution) Counted(scores []float64) (objective float64, excess []float64) {
	d := f.ratesOf(scores, nil)
	excess = make([]float64, len(f.Target.Bounds))
	f.Target.Excess(excess, d)
	return f.Target.Value(d), excess
}

// describe returns the thresholds for summary.json.
func (g *ScoreThresholds) describe() *results.Thresholds {
	t := &results.Thresholds{Column: g.Column, All: g.found.Proven}
	if !math.IsInf(g.found.Bound, 0) {
		t.Least = &g.found.Bound
	}
	for k, n := range g.rows {
		own := results.GroupThreshold{Rows: n}
		if g.Names != nil {
			own.Group = g.Names[k]
		}
		for _, v := range g.Offsets[k*g.Outputs:][:g.Outputs] {
			own.Thresholds = append(own.Thresholds, 0-v)
		}
		t.Groups = append(t.Groups, own)
	}
	return t
}
