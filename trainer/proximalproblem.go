package trainer

import (
	"slices"

	"ppal/trainer/problem"
)

// proximal is the problem of a proximal point, centred at a vector c of the same space:
//
//	minimise f(x) + r(x) + (rho/2)||x - c||^2  subject to  g_j(x) + (rho/2)||x - c||^2 <= 0,
//
// strongly convex for rho above the weak-convexity moduli of f and the g_j, or with the constraints as
// they are. It shares the problem's iterate, and knows the vectors that were made through its Space.
type proximal struct {
	problem.Problem
	space     problem.Space
	made      *tracked
	rho       float64
	plain     bool // the constraints are g_j(x) <= 0
	center    problem.Vector
	objective float64 // f at the last Forward
}

// tracked are another's vectors, and the handles of those that were made here and not freed yet.
type tracked struct {
	problem.Vectors
	handles []problem.Vector
}

// New implements problem.Vectors.
func (t *tracked) New() problem.Vector {
	v := t.Vectors.New()
	t.handles = append(t.handles, v)
	return v
}

// Free implements problem.Vectors.
func (t *tracked) Free(v problem.Vector) {
	t.handles = slices.DeleteFunc(t.handles, func(w problem.Vector) bool { return w == v })
	t.Vectors.Free(v)
}

// newProximal centres the problem at the iterate.
func newProximal(p problem.Problem, rho float64) *proximal {
	made := &tracked{Vectors: p.Space().Vectors}
	q := &proximal{Problem: p, space: problem.Space{Vectors: made, Regularizer: p.Space().Regularizer}, made: made, rho: rho}
	q.center = made.New()
	q.recenter()
	return q
}

// Space implements problem.Problem.
func (q *proximal) Space() *problem.Space { return &q.space }

// recenter makes the iterate the centre.
func (q *proximal) recenter() { q.space.Combine(q.center, 1, problem.Iterate, 0, problem.Iterate) }

// release frees every vector that was made through q and is not freed yet.
func (q *proximal) release() {
	for _, v := range q.made.handles {
		q.made.Vectors.Free(v)
	}
	q.made.handles = nil
}

// Forward implements problem.Problem.
func (q *proximal) Forward(g []float64) (float64, error) {
	f, err := q.Problem.Forward(g)
	distance := q.Space().Distance(problem.Iterate, q.center)
	term := q.rho / 2 * distance * distance
	if !q.plain {
		for j := range g {
			g[j] += term
		}
	}
	q.objective = f
	return f + term, err
}

// Backward implements problem.Problem.
func (q *proximal) Backward(weights []float64, d problem.Vector) error {
	if err := q.Problem.Backward(weights, d); err != nil {
		return err
	}
	pull := weights[0] * q.rho
	if !q.plain {
		for _, w := range weights[1:] {
			pull += w * q.rho
		}
	}
	q.Space().Combine(d, 1, d, pull, problem.Iterate)
	q.Space().Combine(d, 1, d, -pull, q.center)
	return nil
}

// NonSmooth implements problem.NonSmooth: whether the problem has kinks of its own.
func (q *proximal) NonSmooth() bool { return problem.IsNonSmooth(q.Problem) }
