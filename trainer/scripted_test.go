package trainer

import (
	"math"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// scripted is a method that adds a given number to x in each iteration.
type scripted struct {
	moves     []float64 // the last move repeats
	nu        []float64
	gradients int       // gradient evaluations of an iteration
	k         int       // iterations
	seen      []float64 // f before each iteration
	needs     Needs
}

func (m *scripted) Name() string                               { return "scripted" }
func (m *scripted) Needs() Needs                               { return m.needs }
func (m *scripted) Init(problem.Problem, *problem.Point) error { return nil }
func (m *scripted) VisitState(v problem.StateVisitor)          { v.Count("k", &m.k) }
func (m *scripted) Report() Report                             { r := NewReport(math.NaN(), nil); r.Nu = m.nu; return r }
func (m *scripted) Iterate(p problem.Problem, at *problem.Point) error {
	m.seen = append(m.seen, at.Objective)
	x := make([]float64, 1)
	p.Space().Read(x, problem.Iterate)
	x[0] += m.moves[min(m.k, len(m.moves)-1)]
	m.k++
	at.GradientEvaluations += m.gradients
	p.Space().Write(problem.Iterate, x)
	return at.Forward(p)
}

// journal keeps the records.
type journal struct {
	records []Record
	after   func(r *Record)
}

func (l *journal) Record(r *Record) error {
	own := *r
	own.Constraints = slices.Clone(r.Constraints)
	l.records = append(l.records, own)
	if l.after != nil {
		l.after(r)
	}
	return nil
}

func (l *journal) iterations() (k []int) {
	for _, r := range l.records {
		k = append(k, r.Iteration)
	}
	return k
}

// counted is a problem that counts its vectors in use and its forward passes.
type counted struct {
	problem.Problem
	space       problem.Space
	vectors     *countedVectors
	evaluations int
}

type countedVectors struct {
	problem.Vectors
	made, used int
}

func (c *counted) Space() *problem.Space { return &c.space }
func (c *counted) Forward(g []float64) (float64, error) {
	c.evaluations++
	return c.Problem.Forward(g)
}
func (c *countedVectors) New() problem.Vector   { c.made++; c.used++; return c.Vectors.New() }
func (c *countedVectors) Free(v problem.Vector) { c.used--; c.Vectors.Free(v) }

func count(p problem.Problem) *counted {
	own := &countedVectors{Vectors: p.Space().Vectors}
	return &counted{Problem: p, space: problem.Space{Vectors: own, Regularizer: p.Space().Regularizer}, vectors: own}
}

// square is min x^2/2 + r s.t. x - 1 <= 0.
func square(r problem.Regularizer) problem.Functions {
	return problem.Functions{N: 1, M: 1, Regularizer: r,
		F:         func(x []float64) float64 { return x[0] * x[0] / 2 },
		Gradient:  func(dst, x []float64) { dst[0] = x[0] },
		G:         func(dst, x []float64) { dst[0] = x[0] - 1 },
		JacobianT: func(dst, _, w []float64) { dst[0] = w[0] }}
}

func begin(t *testing.T, fn problem.Functions, x float64) problem.Problem {
	t.Helper()
	return require.Value(fn.New([]float64{x}))(t)
}

func iterate(p problem.Problem) float64 {
	x := make([]float64, 1)
	p.Space().Read(x, problem.Iterate)
	return x[0]
}

func trained(t *testing.T, p problem.Problem, m Method, s Settings) *Result {
	t.Helper()
	return require.Value(Train(t.Context(), p, m, s))(t)
}
