package decide

import (
	"maps"
	"slices"

	"ppal/trainer"
)

// Warm returns the state from which a run with other bounds starts, from the Result.State of a run:
// the weights and multipliers of the best round, or of the last iterate if there are no rounds. It
// works for states of trainer.Train, too.
//
// Momentum starts again, and the step size starts from the largest curvature of the run. A bound
// that was not active and becomes active raises the curvature. The last steps of a run, which are
// long where nothing changes any more, would then throw the weights to a point where the sigmoids
// are flat.
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
	w.Vectors = maps.Clone(w.Vectors)
	for _, name := range []string{"primal.momentum", "proxlinear.momentum"} {
		if v := w.Vectors[name]; v != nil {
			w.Vectors[name] = slices.Repeat([]float64{0}, len(v))
		}
	}
	return w
}
