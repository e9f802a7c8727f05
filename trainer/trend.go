package trainer

import (
	"math"
	"slices"

	"ppal/trainer/problem"
)

// Trend describes how a run still changed at its end.
type Trend struct {
	// Multipliers is the largest change of a multiplier lambda_j over about the last tenth of the
	// iterations, relative to the largest multiplier; NaN if the method has no multipliers, or if the
	// run is too short.
	Multipliers float64
	// AtRounding says that the iterate moved by less than the rounding level between the last two
	// records: further iterations in the same precision change nothing.
	AtRounding bool
}

const (
	// trendSpan is the share of the iterations over which the multipliers are compared, at least.
	trendSpan = 0.1
	// roundingMove is the largest move at the rounding level, in unit roundoffs of 1 + ||x||.
	roundingMove = 4
)

// trend watches the records for a Trend.
type trend struct {
	old, recent struct {
		iteration   int
		multipliers []float64
	}
	before []float64 // the iterate of the record before; nil before the second record
	moved  float64   // relative length of the move between the last two records
}

// add includes the record r at the iterate x. The watcher keeps x and returns a buffer of the same
// length for the next iterate.
func (w *trend) add(r *Record, x []float64) (buffer []float64) {
	if float64(r.Iteration-w.recent.iteration) >= trendSpan*float64(r.Iteration) {
		w.old = w.recent
		w.recent.iteration, w.recent.multipliers = r.Iteration, slices.Clone(r.Multipliers)
	}
	buffer, w.moved = w.before, math.Inf(1)
	if buffer == nil {
		buffer = make([]float64, len(x))
	} else {
		distance, norm := 0.0, 0.0
		for i, v := range x {
			distance += (v - buffer[i]) * (v - buffer[i])
			norm += v * v
		}
		w.moved = math.Sqrt(distance) / (1 + math.Sqrt(norm))
	}
	w.before = x
	return buffer
}

// end returns the trend at the last record.
func (w *trend) end(last *Record, p problem.Problem) Trend {
	t := Trend{Multipliers: math.NaN(), AtRounding: w.moved <= roundingMove*p.Space().Roundoff()}
	old := w.recent
	if float64(last.Iteration-old.iteration) < trendSpan*float64(last.Iteration) {
		old = w.old
	}
	largest, change := 0.0, 0.0
	for j, l := range last.Multipliers {
		largest = max(largest, math.Abs(l))
		if j < len(old.multipliers) {
			change = max(change, math.Abs(l-old.multipliers[j]))
		}
	}
	if len(old.multipliers) > 0 && old.iteration > 0 && largest > 0 {
		t.Multipliers = change / largest
	}
	return t
}
