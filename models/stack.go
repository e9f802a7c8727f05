package models

import "fmt"

// Stack returns the weights as one vector, the iterate of a trainer, in the order and layout of a
// [Network]'s nodes: each weight is [in, out].
func Stack(spec Spec, weights Weights) ([]float64, error) {
	if err := weights.Check(spec); err != nil {
		return nil, err
	}
	var x []float64
	for _, t := range weights {
		part := make([]float64, len(t.Data))
		rows, cols := graphShape(t.Shape)
		transpose(part, t.Data, cols, rows)
		x = append(x, part...)
	}
	return x, nil
}

// Unstack is the inverse of [Stack].
func Unstack(spec Spec, x []float64) (Weights, error) {
	var weights Weights
	for _, p := range spec.Parameters() {
		n := size(p.Shape)
		if n > len(x) {
			return nil, fmt.Errorf("models: %w: the stacked vector ends within %s", ErrWeights, p.Name)
		}
		t := Tensor{Name: p.Name, Shape: p.Shape, Data: make([]float64, n)}
		rows, cols := graphShape(p.Shape)
		transpose(t.Data, x[:n], rows, cols)
		weights, x = append(weights, t), x[n:]
	}
	if len(x) > 0 {
		return nil, fmt.Errorf("models: %w: the stacked vector is %d numbers too long", ErrWeights, len(x))
	}
	return weights, nil
}
