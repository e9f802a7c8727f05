package decide

import (
	"slices"

	"ppal/trainer"
)

// Warm returns a start state for a run with other bounds, from s, the Result.State of an earlier
// run. The start state has the weights and multipliers of the best round, or of the last iterate if
// s contains no best round. Warm also accepts a state of trainer.Train.
//
// The momentum starts again at zero, and the step size starts from the largest curvature of the
// earlier run. A bound that becomes active raises the curvature. Near a solution the steps of a run
// are long. With the raised curvature, a long step would move the weights to a point with flat
// sigmoids.
func Warm(s *trainer.State) *trainer.State {
	own, _, best := split(s)
	if best != nil {
		own = best
	}
	w := warm(own)
	if peak := w.Numbers["curvature.peak"]; len(peak) == 1 && len(w.Numbers["curvature.l"]) == 1 {
		w.Numbers["curvature.l"] = []float64{max(peak[0], w.Numbers["curvature.l"][0])}
	}
	for _, name := range []string{"primal.k", "curvature.growing"} {
		if w.Numbers[name] != nil {
			w.Numbers[name] = []float64{0}
		}
	}
	for _, name := range []string{"primal.momentum", "proxlinear.momentum"} {
		if v := w.Vectors[name]; v != nil {
			w.Vectors[name] = slices.Repeat([]float64{0}, len(v))
		}
	}
	return w
}
