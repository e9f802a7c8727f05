package estimate

import (
	"math"

	"ppal/trainer/internal/vec"
	"ppal/trainer/problem"
)

// estimateJacobian is the norm of the Jacobian of the constraints' smooth terms at the iterate, by power iterations on J^T J from a
// fixed random direction, J v by central differences: 12 gradients, counted. It leaves the iterate and its forward pass as they were.
func Jacobian(p problem.Problem, at *problem.Point) (float64, error) {
	n, m := p.Dims()
	terms := NewTerms(p)
	x, v := p.Space().New(), p.Space().New()
	defer p.Space().Free(x)
	defer p.Space().Free(v)
	p.Space().Combine(x, 1, problem.Iterate, 0, problem.Iterate)
	h := DifferenceLength(p, x)
	direction, g := make([]float64, n), make([]float64, m)
	randomDirection(direction)
	p.Space().Write(v, direction)
	image := make([]float64, len(terms.weights)) // 0, J v
	shift := func(t float64) error {             // x itself at t = 0
		p.Space().Combine(problem.Iterate, 1, x, t, v)
		_, err := p.Forward(g)
		return err
	}
	largest := 0.0
	for range powerIterations {
		if size := math.Sqrt(p.Space().Dot(v, v)); size > 0 {
			p.Space().Combine(v, 1/size, v, 0, v)
		}
		if err := shift(-h); err != nil {
			return 0, err
		}
		copy(image[1:], terms.values(g))
		if err := shift(h); err != nil {
			return 0, err
		}
		for i, plus := range terms.values(g) {
			image[1+i] = (plus - image[1+i]) / (2 * h)
		}
		largest = math.Max(largest, vec.Norm(image))
		if err := shift(0); err != nil {
			return 0, err
		}
		if err := terms.backward(at, image, v); err != nil {
			return 0, err
		}
	}
	return largest, nil
}
