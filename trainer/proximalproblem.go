package trainer

import "slices"

// proximal is the problem of a proximal point, centred at a vector c of the same space:
//
//	minimise f(x) + r(x) + (rho/2)||x - c||^2  subject to  g_j(x) + (rho/2)||x - c||^2 <= 0,
//
// strongly convex for rho above the weak-convexity moduli of f and the g_j, or with the constraints as they are. It shares the
// problem's iterate, and knows the vectors that were made through it.
type proximal struct {
	Problem
	rho       float64
	plain     bool // the constraints are g_j(x) <= 0
	center    Vector
	objective float64 // f at the last Forward
	vectors   []Vector
}

// newProximal centres the problem at the iterate.
func newProximal(p Problem, rho float64) *proximal {
	q := &proximal{Problem: p, rho: rho}
	q.center = q.NewVector()
	q.recenter()
	return q
}

// recenter makes the iterate the centre.
func (q *proximal) recenter() { q.Combine(q.center, 1, Iterate, 0, Iterate) }

// NewVector implements Space.
func (q *proximal) NewVector() Vector {
	v := q.Problem.NewVector()
	q.vectors = append(q.vectors, v)
	return v
}

// Free implements Space.
func (q *proximal) Free(v Vector) {
	q.vectors = slices.DeleteFunc(q.vectors, func(w Vector) bool { return w == v })
	q.Problem.Free(v)
}

// release frees every vector that was made through q and is not freed yet.
func (q *proximal) release() {
	for _, v := range q.vectors {
		q.Problem.Free(v)
	}
	q.vectors = nil
}

// Forward implements Problem.
func (q *proximal) Forward(g []float64) (float64, error) {
	f, err := q.Problem.Forward(g)
	distance := q.Distance(Iterate, q.center)
	term := q.rho / 2 * distance * distance
	if !q.plain {
		for j := range g {
			g[j] += term
		}
	}
	q.objective = f
	return f + term, err
}

// Backward implements Problem.
func (q *proximal) Backward(weights []float64, d Vector) error {
	if err := q.Problem.Backward(weights, d); err != nil {
		return err
	}
	pull := weights[0] * q.rho
	if !q.plain {
		for _, w := range weights[1:] {
			pull += w * q.rho
		}
	}
	q.Combine(d, 1, d, pull, Iterate)
	q.Combine(d, 1, d, -pull, q.center)
	return nil
}

// NonSmooth implements NonSmooth: whether the problem has kinks of its own.
func (q *proximal) NonSmooth() bool { return nonSmooth(q.Problem) }
