package testproblems

import "math/rand/v2"

// program describes a convex quadratic program
//
//	minimise 1/2 x^T P x + q^T x  subject to  A x <= b
//
// by its solution: q = -(P x* + A^T nu) and b = A x* + slack make (x*, nu) a
// KKT point whenever nu, slack >= 0 and nu_j slack_j = 0.
type program struct {
	name      string
	p         []float64 // n x n, row-major, positive semidefinite
	a         []float64 // m x n, row-major
	x         []float64 // x*
	nu, slack []float64
	start     []float64
}

// problem builds the program with all qualifications set; callers clear the
// qualifications that fail.
func (d program) problem() Problem {
	n, m := len(d.x), len(d.nu)
	f := quadratic{p: d.p, q: make([]float64, n)}
	g := affine{a: d.a, b: make([]float64, m)}

	px, jtnu := make([]float64, n), make([]float64, n)
	f.gradient(px, d.x)
	g.transposed(jtnu, d.x, d.nu)
	for i := range f.q {
		f.q[i] = -(px[i] + jtnu[i])
	}
	ax := make([]float64, m)
	g.values(ax, d.x)
	for j := range g.b {
		g.b[j] = ax[j] + d.slack[j]
	}
	return Problem{
		Name: d.name, Source: "built from its KKT point",
		N: n, M: m, Start: d.start,
		F: f.value, Grad: f.gradient, G: g.values, JTW: g.transposed,
		Optimum: d.x, Value: f.value(d.x), Multipliers: d.nu,
		Convex: true, StrictComplementarity: true, LICQ: true, MFCQ: true,
	}
}

func quadraticPrograms() []Problem {
	return append(regularPrograms(), append(degeneratePrograms(), randomProgram())...)
}

// regularPrograms are the programs with LICQ and strict complementarity.
func regularPrograms() []Problem {
	scaled := program{
		name: "qp-badly-scaled",
		p:    []float64{1, 0, 0, 0, 10, 0, 0, 0, 100},
		a:    []float64{5, 5, 0, 0, 0.2, 0.4},
		x:    []float64{1, 1, -1}, nu: []float64{0.2, 5}, slack: []float64{0, 0},
		start: []float64{0, 0, 0},
	}.problem()
	scaled.BadlyScaled = true

	return []Problem{
		program{
			name:  "qp-unconstrained",
			p:     []float64{2, 1, 0, 1, 3, 1, 0, 1, 4},
			x:     []float64{1, -1, 2},
			start: []float64{0, 0, 0},
		}.problem(),
		program{
			name: "qp-inactive",
			p:    []float64{1, 0, 0, 1},
			a:    []float64{1, 1},
			x:    []float64{1, 1}, nu: []float64{0}, slack: []float64{2},
			start: []float64{4, 3},
		}.problem(),
		program{
			name: "qp-one-active",
			p:    []float64{2, 0.5, 0.5, 1},
			a:    []float64{1, 1},
			x:    []float64{0.5, 0.5}, nu: []float64{1.5}, slack: []float64{0},
			start: []float64{0, 0},
		}.problem(),
		program{
			name: "qp-several-active",
			p:    []float64{1, 0, 0, 0, 2, 0, 0, 0, 3},
			a:    []float64{1, 1, 0, 0, 1, 1, 1, 0, -1},
			x:    []float64{1, 0, 1}, nu: []float64{1, 2, 0}, slack: []float64{0, 0, 1},
			start: []float64{3, 3, 3},
		}.problem(),
		program{ // the optimum is a vertex: the objective's curvature does not matter
			name: "qp-vertex",
			p:    []float64{1, 0, 0, 1},
			a:    []float64{1, 2, 2, 1},
			x:    []float64{1, 1}, nu: []float64{2, 1}, slack: []float64{0, 0},
			start: []float64{0, 0},
		}.problem(),
		program{ // P is singular; the constraint pins the flat direction
			name: "qp-semidefinite",
			p:    []float64{1, 0, 0, 0},
			a:    []float64{1, 1},
			x:    []float64{0.5, 0.5}, nu: []float64{1}, slack: []float64{0},
			start: []float64{0, 0},
		}.problem(),
		program{ // the second constraint is implied by the first
			name: "qp-redundant-inactive",
			p:    []float64{1, 0, 0, 2},
			a:    []float64{1, 1, 1, 1},
			x:    []float64{1, 0}, nu: []float64{1, 0}, slack: []float64{0, 1},
			start: []float64{0, 0},
		}.problem(),
		scaled,
	}
}

// degeneratePrograms are the programs in which a qualification or strict
// complementarity fails.
func degeneratePrograms() []Problem {
	identity := func() []float64 { return []float64{1, 0, 0, 1} }

	duplicate := program{ // valid multipliers: all with nu_1 + nu_2 = 1.5
		name: "qp-duplicate", p: identity(),
		a: []float64{1, 1, 1, 1},
		x: []float64{1, 0}, nu: []float64{0.75, 0.75}, slack: []float64{0, 0},
		start: []float64{0, 0},
	}.problem()
	duplicate.LICQ = false

	redundant := program{ // the third constraint is the sum of the others
		name: "qp-redundant-active", p: identity(),
		a: []float64{1, 0, 0, 1, 1, 1},
		x: []float64{1, 1}, nu: []float64{0.5, 1, 0.5}, slack: []float64{0, 0, 0},
		start: []float64{0, 0},
	}.problem()
	redundant.LICQ = false

	weak := program{
		name: "qp-weakly-active", p: identity(),
		a: []float64{1, 1},
		x: []float64{1, 1}, nu: []float64{0}, slack: []float64{0},
		start: []float64{-1, 0},
	}.problem()
	weak.StrictComplementarity = false

	weakVertex := program{
		name: "qp-weakly-active-vertex", p: identity(),
		a: []float64{1, 0, 1, 1},
		x: []float64{1, 1}, nu: []float64{1, 0}, slack: []float64{0, 0},
		start: []float64{0, 0},
	}.problem()
	weakVertex.StrictComplementarity = false

	equality := program{ // an equation as two inequalities: no interior
		name: "qp-no-interior", p: identity(),
		a: []float64{1, 1, -1, -1},
		x: []float64{1, 0}, nu: []float64{1, 0}, slack: []float64{0, 0},
		start: []float64{0, 0},
	}.problem()
	equality.StrictComplementarity, equality.LICQ, equality.MFCQ = false, false, false

	return []Problem{duplicate, redundant, weak, weakVertex, equality}
}

// randomProgram is generated from a fixed seed; its first constraints are active.
func randomProgram() Problem {
	const n, m, active = 50, 20, 8
	rng := rand.New(rand.NewPCG(1, 2))
	normal := func(k int) []float64 {
		s := make([]float64, k)
		for i := range s {
			s[i] = rng.NormFloat64()
		}
		return s
	}
	b := normal(n * n)
	p := make([]float64, n*n)
	for i := range n { // P = I + B^T B / n
		for j := range n {
			for k := range n {
				p[i*n+j] += b[k*n+i] * b[k*n+j] / float64(n)
			}
		}
		p[i*n+i]++
	}
	d := program{
		name: "qp-random-50x20",
		p:    p, a: normal(m * n), x: normal(n),
		nu: make([]float64, m), slack: make([]float64, m), start: make([]float64, n),
	}
	for j := range m {
		if j < active {
			d.nu[j] = 0.1 + rng.Float64()
		} else {
			d.slack[j] = 0.1 + rng.Float64()
		}
	}
	return d.problem()
}
