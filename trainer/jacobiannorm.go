package trainer

import "math"

// estimateJacobian is the norm of the Jacobian of the constraints' smooth terms at the iterate, by power iterations on J^T J from a
// fixed random direction, J v by central differences: 12 gradients, counted. It leaves the iterate and its forward pass as they were.
func estimateJacobian(p Problem, at *Point) (float64, error) {
	n, m := p.Dims()
	terms := newSmoothTerms(p)
	x, v := p.NewVector(), p.NewVector()
	defer p.Free(x)
	defer p.Free(v)
	p.Combine(x, 1, Iterate, 0, Iterate)
	h := differenceStep(p, x)
	direction, g := make([]float64, n), make([]float64, m)
	randomDirection(direction)
	p.Write(v, direction)
	image := make([]float64, len(terms.weights)) // 0, J v
	shift := func(t float64) error {             // x itself at t = 0
		p.Combine(Iterate, 1, x, t, v)
		_, err := p.Forward(g)
		return err
	}
	largest := 0.0
	for range powerIterations {
		if size := math.Sqrt(p.Dot(v, v)); size > 0 {
			p.Combine(v, 1/size, v, 0, v)
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
		largest = math.Max(largest, norm(image))
		if err := shift(0); err != nil {
			return 0, err
		}
		if err := terms.backward(at, image, v); err != nil {
			return 0, err
		}
	}
	return largest, nil
}
