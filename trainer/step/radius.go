package step

import "math"

// The rules for the region's radius Delta and its largest share c: see QuasiNewton.
const (
	networkLimit  = 0.05 // the first c
	shallowLimit  = 0.1  // the first c without hidden layers, or with a whitened first layer
	whitenedLimit = 0.5  // the first c without hidden layers, with whitened scales
	limitGrowth   = 2
	slowShare     = 0.05 // a decrease of phi below this share doubles c
	fastShare     = 0.1  // a decrease of phi above this share halves c
	parabolaShare = 1e-3 // of the decrease beyond second order and of second order
	goodRatio     = 0.75 // of the measured and the predicted decrease
	poorRatio     = 0.25
)

// actual returns the decrease of phi + r by the step in the slot, for the decrease of phi, or with
// scales for that of phi + r.
func (q *QuasiNewton) actual(decrease, noise float64, slot int) float64 {
	if q.plan.decrease <= noise || math.Abs(decrease) <= noise {
		decrease = -(q.gram.At(gradientRow, slot) + q.gram.At(trialRow, slot)) / 2
	}
	if w := q.ridge(); w > 0 { // (||x||^2 - ||x+||^2)/2 = -<x + x+, s>/2, without cancellation
		decrease -= w / 2 * (2*q.gram.At(iterateRow, slot) + q.gram.At(slot, slot))
	}
	return decrease
}

// parabola reports whether phi, or with scales phi + r, is a convex parabola along the step in the
// slot, with its decrease, and along the step before.
func (q *QuasiNewton) parabola(decrease float64, slot int) bool {
	slope, next := q.gram.At(gradientRow, slot), q.gram.At(trialRow, slot)
	before := q.cubic
	if q.cubic = math.Abs(decrease+(slope+next)/2) / ((next - slope) / 2); !(next > slope) {
		q.cubic = math.Inf(1)
	}
	q.bent = next < slope && q.plan.longest
	return math.Max(before, q.cubic) <= parabolaShare
}

// resize changes Delta and c after a step with the actual decrease from the value of phi. parabola
// is the result of the method parabola.
func (q *QuasiNewton) resize(actual, value float64, parabola bool) {
	ratio := actual / q.plan.decrease
	switch {
	case !(ratio >= poorRatio):
		q.radius = q.length / 2
	case ratio > goodRatio && q.length > 0.8*q.radius:
		q.radius *= 2
	}
	if !q.plan.longest || !(ratio > goodRatio) {
		return
	}
	switch share := actual / math.Abs(value); {
	case parabola || share < slowShare:
		q.limit *= limitGrowth
	case share > fastShare:
		q.limit = math.Max(q.least, q.limit/limitGrowth)
	}
}
