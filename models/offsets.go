package models

import "fmt"

// AddToScores adds an offset to each score of the model, by the biases of the last layer in the
// stacked weights x. Networks, linear models and separate heads have such biases.
func AddToScores(spec Spec, x, offsets []float64) error {
	if len(offsets) != spec.Outputs {
		return fmt.Errorf("models: %w: %d offsets for %d scores", ErrWeights, len(offsets), spec.Outputs)
	}
	start, added := 0, 0
	for i := range spec.heads() {
		layers := spec.head(i)
		for k, l := range layers {
			start += l.in*l.out + l.out
			if start > len(x) {
				return fmt.Errorf("models: %w: the stacked vector ends within %s", ErrWeights, l.name)
			}
			if k < len(layers)-1 {
				continue
			}
			for j := range l.out {
				x[start-l.out+j] += offsets[added]
				added++
			}
		}
	}
	return nil
}
