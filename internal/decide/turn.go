package decide

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"ppal/internal/vec"
	"ppal/trainer/problem"
)

const (
	// turnRandom is the number of random directions for each dimension that Turn compares before it
	// refines any. If none of the first turnFew is near the first start, there are no more, and Turn
	// ends when a direction that it refines is no better than the best.
	turnRandom = 64
	turnFew    = 16
	// turnRefined is the number of directions that Turn refines in turn, beside the first start.
	turnRefined = 11
	// turnTangents is the number of tangents for each dimension that Turn tries at an angle.
	turnTangents = 2
	// turnLeast is the least angle of Turn's steps: the first is 1 (57 degrees).
	turnLeast = 1. / 4096
	// turnErrors is by how many standard errors of the objective a direction may be behind the first
	// start so that Turn refines it. Where signals are strong, other directions are farther behind.
	turnErrors = 2
	// turnGain is the decrease of the objective for which Turn changes weights.
	turnGain = 0.001
	// turnNoise is the number of standard errors of the objective's change that Turn adds to it: with
	// smaller ones, more runs violate the bounds on new rows.
	turnNoise = 0.75
	// turnWork is the largest number of rows that Turn counts, over all directions: about 0.06 s.
	turnWork = 1_000_000
	// turnMost is the largest number of directions that Turn counts.
	turnMost = 1500
	// turnResolution is the least relative distance of scores that differ: several rounding units of
	// float32, to which Turn rounds scores, because they sort in half the time.
	turnResolution = 1e-6
	// turnCounts is the number of directions below which Turn does nothing, because the rows are many.
	turnCounts = 32
)

// Turn is the exact step along the weights of a linear score with few columns: it searches weights
// whose decisions, with the best threshold (Offsets), meet the bounds with the least objective. The
// score of row i is sum_k w_k columns[k][i]. starts are weights to begin with, the first those of
// the model.
//
// Smooth rates have local minima, the more the less the columns say about the classes. Turn
// compares the starts, their opposites and random directions, and refines the best by steps along
// random tangents, of about an angle that falls when no step is better. The weights keep the norm
// of the first start; round rounds them to the numbers of the model. Turn adds to the objective 3/4
// of the standard error of its change, (sum of v_i^2)^(1/2) over the rows i whose decisions change,
// with the weight v_i of row i in the objective: c changes of equal weight must gain 3/4 c^(1/2)
// rows. Turn returns nil if no weights are then better by a tenth of a point, or violate the bounds
// less. The error is that of Offsets.
func Turn(rates *Rates, target *Target, columns, starts [][]float64, round func(w []float64), resolution float64) ([]float64, error) {
	if rates.Outputs() != 1 || len(columns) == 0 || len(starts) == 0 || len(starts[0]) != len(columns) {
		return nil, fmt.Errorf("decide: %w: %d starts for %d columns of a model with %d scores", problem.ErrSettings, len(starts), len(columns), rates.Outputs())
	}
	t := &turn{line: newLine(rates, target), columns: columns, round: round, resolution: max(resolution, turnResolution), scores: make([]float64, rates.Rows()),
		norm: vec.Norm(starts[0]), random: rand.New(rand.NewPCG(0, 0)), left: min(turnMost, turnWork/rates.Rows())}
	if t.left < turnCounts {
		return nil, nil
	}
	if t.norm == 0 {
		t.norm = 1
	}
	first, err := t.at(starts[0])
	if err != nil {
		return nil, err
	}
	t.line = newLine(rates, target.strict())
	row := slices.Max(rates.swings(target.Objective.Coefficients)) // the most that a row of the least weight changes
	if rates.weights != nil {
		row *= slices.Min(rates.weights)
	}
	behind := turnErrors * math.Sqrt(math.Abs(first.worth)*row)
	list := []turned{first}
	if list[0], err = t.at(starts[0]); err != nil {
		return nil, err
	}
	add := func(w []float64) error {
		own, err := t.at(w)
		list = append(list, own)
		return err
	}
	for k, w := range starts {
		opposite := slices.Clone(w)
		vec.Scale(opposite, -1)
		if k > 0 {
			err = add(w)
		}
		if err = cmp.Or(err, add(opposite)); err != nil {
			return nil, err
		}
	}
	near := func(own turned) bool {
		return own.worth <= first.worth+behind || own.violation < first.violation-rounding
	}
	weak := true
	for k := range turnRandom * (len(columns) - 1) {
		if k == turnFew {
			if weak = slices.ContainsFunc(list[len(list)-turnFew:], near); !weak {
				break
			}
		}
		if err := add(t.direction()); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(list[1:], compare)
	best := list[0]
	list = slices.DeleteFunc(list[:min(len(list), 1+turnRefined)], func(own turned) bool { return !near(own) })
	for k := 0; t.left > 0 && len(list) > 0; k++ {
		own := &list[k%len(list)]
		if *own, err = t.refine(*own); err != nil {
			return nil, err
		}
		if own.betterThan(&best, 0) {
			best = *own
		} else if !weak {
			break
		}
	}
	if !best.betterThan(&first, turnGain) {
		return nil, nil
	}
	return best.w, nil
}

// compare orders a before b if a is better.
func compare(a, b turned) int {
	switch {
	case a.betterThan(&b, 0):
		return -1
	case b.betterThan(&a, 0):
		return 1
	}
	return 0
}

// turn is the search of Turn.
type turn struct {
	line       *line
	before     []int32 // the decisions of the first start
	columns    [][]float64
	round      func(w []float64)
	resolution float64
	scores     []float64
	norm       float64
	random     *rand.Rand
	left       int // directions that may still be counted
}

// turned describes the decisions of weights with their best threshold. worth is the objective with
// the noise of its change.
type turned struct {
	w                []float64
	violation, worth float64
}

// betterThan reports whether a is better than b by more than a gain.
func (a *turned) betterThan(b *turned, gain float64) bool {
	return better(a.violation, a.worth+gain, b.violation, b.worth)
}

// direction returns a random direction.
func (t *turn) direction() []float64 {
	w := make([]float64, len(t.columns))
	for k := range w {
		w[k] = t.random.NormFloat64()
	}
	return w
}

// at scales the weights to the norm and takes the exact step of their scores. The result is the
// worst if the work is spent.
func (t *turn) at(w []float64) (turned, error) {
	own := turned{slices.Clone(w), math.Inf(1), math.Inf(1)}
	norm := vec.Norm(w)
	if t.left--; norm == 0 || t.left < 0 {
		return own, nil
	}
	vec.Scale(own.w, t.norm/norm)
	t.round(own.w)
	clear(t.scores)
	for k, v := range own.w {
		for i, x := range t.columns[k] {
			t.scores[i] += v * x
		}
	}
	for i, v := range t.scores {
		t.scores[i] = float64(float32(v))
	}
	e, err := t.line.offsets(t.scores, t.resolution)
	if err != nil {
		return own, err
	}
	decisions := t.line.scratch
	Decide(decisions, t.scores, e.Offsets)
	if t.before == nil {
		t.before = slices.Clone(decisions)
	}
	noise := t.line.rates.noise(t.line.target.Objective.Coefficients, t.before, decisions)
	own.violation, own.worth = e.Violation, e.worth()+turnNoise*noise
	return own, nil
}

// refine takes steps from the weights along tangents.
func (t *turn) refine(from turned) (turned, error) {
	for angle := 1.0; angle >= turnLeast && t.left > 0; {
		improved := false
		for range turnTangents * (len(t.columns) - 1) {
			tangent := t.direction()
			along := vec.Dot(tangent, from.w) / vec.Dot(from.w, from.w)
			for k, v := range from.w {
				tangent[k] -= along * v
			}
			vec.Scale(tangent, vec.Norm(from.w)/vec.Norm(tangent))
			angle := angle * (0.5 + t.random.Float64())
			for _, sign := range []float64{1, -1} {
				w := make([]float64, len(tangent))
				for k, v := range from.w {
					w[k] = math.Cos(angle)*v + sign*math.Sin(angle)*tangent[k]
				}
				own, err := t.at(w)
				if err != nil {
					return from, err
				}
				if own.betterThan(&from, 0) {
					from, improved = own, true
					break
				}
			}
		}
		if !improved {
			angle /= 3
		}
	}
	return from, nil
}
