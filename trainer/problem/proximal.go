package problem

import (
	"slices"
)

// Proximal is the problem whose solution is the proximal point of a centre c:
//
//	minimise f(x) + r(x) + (rho/2)||x - c||^2  subject to  g_j(x) + (rho/2)||x - c||^2 <= 0,
//
// With Plain, the constraints are g_j(x) <= 0. The problem is strongly convex if rho is larger than
// the weak-convexity moduli of f and the g_j. It shares the iterate of the wrapped problem. Release
// frees the vectors that the problem's Space has made.
type Proximal struct {
	Problem
	space     Space
	vectors   *trackedVectors // the vectors of space
	Rho       float64         // rho
	Plain     bool            // the constraints are g_j(x) <= 0
	Center    Vector          // c
	Objective float64         // f at the last Forward
}

// trackedVectors wraps Vectors and lists the vectors that New returned and Free has not freed.
type trackedVectors struct {
	Vectors
	handles []Vector
}

// New implements Vectors.
func (t *trackedVectors) New() Vector {
	v := t.Vectors.New()
	t.handles = append(t.handles, v)
	return v
}

// Free implements Vectors.
func (t *trackedVectors) Free(v Vector) {
	t.handles = slices.DeleteFunc(t.handles, func(w Vector) bool { return w == v })
	t.Vectors.Free(v)
}

// NewProximal returns the proximal problem of p, centred at the iterate.
func NewProximal(p Problem, rho float64) *Proximal {
	made := &trackedVectors{Vectors: p.Space().Vectors}
	q := &Proximal{Problem: p, space: Space{Vectors: made, Regularizer: p.Space().Regularizer}, vectors: made, Rho: rho}
	q.Center = made.New()
	q.Recenter()
	return q
}

// Space implements Problem.
func (q *Proximal) Space() *Space { return &q.space }

// Recenter makes the iterate the centre.
func (q *Proximal) Recenter() { q.space.Combine(q.Center, 1, Iterate, 0, Iterate) }

// Release frees every vector that q's Space has made and Free has not freed.
func (q *Proximal) Release() {
	for _, v := range q.vectors.handles {
		q.vectors.Vectors.Free(v)
	}
	q.vectors.handles = nil
}

// Forward implements Problem.
func (q *Proximal) Forward(g []float64) (float64, error) {
	f, err := q.Problem.Forward(g)
	distance := q.Space().Distance(Iterate, q.Center)
	term := q.Rho / 2 * distance * distance
	if !q.Plain {
		for j := range g {
			g[j] += term
		}
	}
	q.Objective = f
	return f + term, err
}

// Backward implements Problem.
func (q *Proximal) Backward(coefficients []float64, d Vector) error {
	if err := q.Problem.Backward(coefficients, d); err != nil {
		return err
	}
	pull := coefficients[0] * q.Rho
	if !q.Plain {
		for _, w := range coefficients[1:] {
			pull += w * q.Rho
		}
	}
	q.Space().Combine(d, 1, d, pull, Iterate)
	q.Space().Combine(d, 1, d, -pull, q.Center)
	return nil
}

// NonSmooth implements NonSmooth. It reports whether the wrapped problem has kinks, because the
// proximal terms are smooth.
func (q *Proximal) NonSmooth() bool { return FeaturesOf(q.Problem).Kinks }

// Shallow implements Shallow.
func (q *Proximal) Shallow() bool { return FeaturesOf(q.Problem).Shallow }
