package models

import "fmt"

// AddToScores adds an offset to each score of the model, by the biases of the scores
// ([Parameter.ScoreBias]) in the stacked weights x.
func AddToScores(a Architecture, x, offsets []float64) error {
	if _, outputs := a.Dims(); len(offsets) != outputs {
		return fmt.Errorf("models: %w: %d offsets for %d scores", ErrWeights, len(offsets), outputs)
	}
	if !HasScoreBias(a) {
		return fmt.Errorf("models: %w: the kind %s has no parameter marked as ScoreBias, which could shift the scores", ErrSpec, a.Kind())
	}
	start, added := 0, 0
	for _, p := range a.Parameters() {
		n := size(p.Shape)
		if start+n > len(x) {
			return fmt.Errorf("models: %w: the stacked vector ends within %s", ErrWeights, p.Name)
		}
		if p.ScoreBias {
			for j := range n {
				x[start+j] += offsets[added+j]
			}
			added += n
		}
		start += n
	}
	return nil
}

// HasScoreBias reports whether the scores of the model can be shifted, as bounds on decisions need.
func HasScoreBias(a Architecture) bool {
	for _, p := range a.Parameters() {
		if p.ScoreBias {
			return true
		}
	}
	return false
}
