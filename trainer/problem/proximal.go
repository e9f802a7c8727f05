package problem

import (
	"slices"
)

// Proximal is the problem of a proximal point, centred at a vector c of the same space:
//
//	minimise f(x) + r(x) + (rho/2)||x - c||^2  subject to  g_j(x) + (rho/2)||x - c||^2 <= 0,
//
// strongly convex for rho above the weak-convexity moduli of f and the g_j, or with the constraints
// as they are. It shares the problem's iterate, and knows the vectors that were made through its
// Space.
type Proximal struct {
	Problem
	space     Space
	made      *tracked
	Rho       float64
	Plain     bool // the constraints are g_j(x) <= 0
	Center    Vector
	Objective float64 // f at the last Forward
}

// tracked are another's vectors, and the handles of those that were made here and not freed yet.
type tracked struct {
	Vectors
	handles []Vector
}

// New implements problem.Vectors.
func (t *tracked) New() Vector {
	v := t.Vectors.New()
	t.handles = append(t.handles, v)
	return v
}

// Free implements problem.Vectors.
func (t *tracked) Free(v Vector) {
	t.handles = slices.DeleteFunc(t.handles, func(w Vector) bool { return w == v })
	t.Vectors.Free(v)
}

// NewProximal centres the problem at the iterate.
func NewProximal(p Problem, rho float64) *Proximal {
	made := &tracked{Vectors: p.Space().Vectors}
	q := &Proximal{Problem: p, space: Space{Vectors: made, Regularizer: p.Space().Regularizer}, made: made, Rho: rho}
	q.Center = made.New()
	q.Recenter()
	return q
}

// Space implements problem.Problem.
func (q *Proximal) Space() *Space { return &q.space }

// Recenter makes the iterate the centre.
func (q *Proximal) Recenter() { q.space.Combine(q.Center, 1, Iterate, 0, Iterate) }

// Release frees every vector that was made through q and is not freed yet.
func (q *Proximal) Release() {
	for _, v := range q.made.handles {
		q.made.Vectors.Free(v)
	}
	q.made.handles = nil
}

// Forward implements problem.Problem.
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

// Backward implements problem.Problem.
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

// NonSmooth implements problem.NonSmooth: whether the problem has kinks of its own.
func (q *Proximal) NonSmooth() bool { return FeaturesOf(q.Problem).Kinks }
