package decide

import "ppal/trainer"

// Warm returns the state from which a run with other bounds starts, from the Result.State of a run:
// the weights and multipliers of the best round, or of the last iterate if there are no rounds. It
// works for states of trainer.Train, too.
func Warm(s *trainer.State) *trainer.State {
	own, _, best := split(s)
	if best != nil {
		own = best
	}
	return warm(own)
}
