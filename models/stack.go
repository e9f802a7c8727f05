package models

import "fmt"

// Stack returns the weights as one vector, the iterate of a trainer, in the order and layout of a
// [Network]'s nodes: each weight is [in, out].
func Stack(a Architecture, weights Weights) ([]float64, error) {
	if err := weights.Check(a); err != nil {
		return nil, err
	}
	var x []float64
	for _, t := range weights {
		part := make([]float64, len(t.Data))
		toGraph(part, t.Data, t.Shape)
		x = append(x, part...)
	}
	return x, nil
}

// Unstack is the inverse of [Stack].
func Unstack(a Architecture, x []float64) (Weights, error) {
	var weights Weights
	for _, p := range a.Parameters() {
		n := size(p.Shape)
		if n > len(x) {
			return nil, fmt.Errorf("models: %w: the stacked vector ends within %s", ErrWeights, p.Name)
		}
		t := Tensor{Name: p.Name, Shape: p.Shape, Data: make([]float64, n)}
		fromGraph(t.Data, x[:n], p.Shape)
		weights, x = append(weights, t), x[n:]
	}
	if len(x) > 0 {
		return nil, fmt.Errorf("models: %w: the stacked vector is %d numbers too long", ErrWeights, len(x))
	}
	return weights, nil
}
