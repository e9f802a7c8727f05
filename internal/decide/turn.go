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
	// refines any. If none of the first turnFew is near the first start (turnErrors), the signals
	// are strong: Turn then draws no more, and ends at the first refined direction that is no
	// better than the best.
	turnRandom = 64
	turnFew    = 16
	// turnRefined is the largest number of directions that Turn refines in addition to the first
	// start.
	turnRefined = 11
	// turnTangents is the number of tangents for each dimension that Turn tries at an angle.
	turnTangents = 2
	// turnLeast is the smallest angle of a step in radians. The first angle is 1 (57 degrees).
	turnLeast = 1. / 4096
	// turnErrors is the distance up to which a direction is near the first start, in standard
	// errors of the objective. Turn refines near directions only.
	turnErrors = 2
	// turnGain is the smallest decrease of the objective for which Turn changes weights.
	turnGain = 0.001
	// turnNoise is the number of standard errors of the objective's change that Turn adds to the
	// objective. With a larger number, runs on weak signals stay more than 1% of the rows behind the
	// best of random directions; with a smaller one, they violate the bounds more on new rows.
	turnNoise = 0.25
	// turnWork is the largest number of rows that Turn counts, summed over the directions.
	turnWork = 1_000_000
	// turnMost is the largest number of directions that Turn counts.
	turnMost = 1500
	// turnResolution is the smallest relative distance at which scores differ, several rounding
	// units of float32. Turn rounds scores to float32, because float32 numbers sort in half the
	// time.
	turnResolution = 1e-6
	// turnCounts is the smallest number of directions for which Turn searches: with more rows,
	// turnWork allows fewer directions.
	turnCounts = 32
)

// Turn searches weights w of a linear score with few columns whose decisions, with the best
// threshold (Offsets), meet the bounds with the least objective. The score of row i is
//
//	s_i = sum_k w_k columns[k][i].
//
// starts are weights from which the search begins; starts[0] are the weights of the model. round
// rounds weights in place to the precision of the model. resolution is as in Offsets. The result
// has about the norm of starts[0].
//
// Turn exists because smooth rates have local minima, especially if the columns say little about
// the classes. It compares the starts, their opposites and random directions. It refines the best
// ones by steps along random tangents; the angle of the steps falls when no step improves.
//
// Turn adds the noise 1/4 (sum of v_i^2)^(1/2) to the objective, over the rows i whose decisions
// differ from those of starts[0]. v_i is the share of row i in the objective, and the root is the
// standard error of the change. If c decisions of rows with equal shares change, the change must
// therefore gain more than 1/4 c^(1/2) rows.
//
// Turn returns nil if it finds no weights that violate the bounds less, or that lower the objective
// with its noise by 0.001; also if there are too many rows to search. The error wraps
// problem.ErrSettings for wrong lengths, or is that of Offsets.
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
	first, err := t.at(starts[0]) // with the slacks of the bounds, as the exact step without Turn
	if err != nil {
		return nil, err
	}
	t.line = newLine(rates, target.strict())
	row := slices.Max(rates.swings(target.Objective.Coefficients)) // largest change by a row of the smallest weight
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
	slices.SortStableFunc(list[1:], turned.compare)
	best := list[0]
	list = slices.DeleteFunc(list[:min(len(list), 1+turnRefined)], func(own turned) bool { return !near(own) })
	// One column has no tangents, so one pass compares its two signs.
	for k := 0; t.left > 0 && len(list) > 0 && (len(columns) > 1 || k < len(list)); k++ {
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

// compare returns -1 if a is better than b, and 1 if b is better than a.
func (a turned) compare(b turned) int {
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
	before     []int32 // decisions of the first start
	columns    [][]float64
	round      func(w []float64)
	resolution float64
	scores     []float64
	norm       float64 // of all weights
	random     *rand.Rand
	left       int // number of directions that Turn may still count
}

// turned describes the decisions of the weights w with their best threshold: the violation of the
// bounds, and the objective with its noise (worth).
type turned struct {
	w                []float64
	violation, worth float64
}

// betterThan reports whether a is better than b: a lower violation, or an equal violation and an
// objective that is lower by more than gain.
func (a *turned) betterThan(b *turned, gain float64) bool {
	return better(a.violation, a.worth+gain, b.violation, b.worth)
}

// direction returns a vector of independent normal numbers.
func (t *turn) direction() []float64 {
	w := make([]float64, len(t.columns))
	for k := range w {
		w[k] = t.random.NormFloat64()
	}
	return w
}

// at scales w to the norm and finds the best threshold of its scores. If no directions are left or
// w is 0, the result is worse than any other.
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

// refine takes steps from the weights along random tangents while they improve.
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
