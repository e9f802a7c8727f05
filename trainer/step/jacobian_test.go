package step

import (
	"math"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// learnt returns the row of A after one pair with one constraint, from A = 0 and w = 0.
func learnt(t *testing.T, s, y []float64, dg, w float64, row []float64) []float64 {
	t.Helper()
	space := newProblem(t, quadratic(2), []float64{0, 0}).Space()
	q := newPairs(space, 1)
	d, trial := space.New(), space.New()
	slot := q.free()
	space.Write(q.s[slot], s)
	space.Write(trial, y) // d = 0
	space.Write(q.jacobian.rows[0], row)
	q.add(slot, problem.Iterate, d, trial)
	q.learn(slot, []float64{2}, []float64{2 + dg}, []float64{w}, 1e-16, problem.Iterate, d, trial)
	if got := q.jacobian.changes[slot][0]; got != w {
		t.Errorf("the change of w is %v, want %v", got, w)
	}
	return numbers(space, q.jacobian.rows[0])
}

// The updates of A by hand. From A = 0: rho = y = (2, 1), rho.s = 2, r = 3. From A = (1, 2) with
// the change 0.5 of w: rho = y - A/2 = (1.5, 0), rho.s = 1.5, r = 3 - 1 = 2. If rho = (0, 1) is
// orthogonal to s, s replaces rho. If s = 0, A stays.
func TestLearnByHand(t *testing.T) {
	for _, c := range []struct {
		s, y, row []float64
		w         float64
		want      []float64
	}{
		{[]float64{1, 0}, []float64{2, 1}, []float64{0, 0}, 0.5, []float64{3, 1.5}},
		{[]float64{1, 0}, []float64{2, 1}, []float64{1, 2}, 0.5, []float64{3, 2}},
		{[]float64{1, 0}, []float64{0, 1}, []float64{0, 0}, 0.5, []float64{3, 0}},
		{[]float64{2, 0}, []float64{0.0099, 1}, []float64{0, 0}, 0, []float64{1.5, 0}},            // the cosine is below 1e-2
		{[]float64{2, 0}, []float64{0.0101, 1}, []float64{0, 0}, 0, []float64{1.5, 1.5 / 0.0101}}, // above
		{[]float64{0, 0}, []float64{2, 1}, []float64{1, 2}, 0.5, []float64{1, 2}},
	} {
		got := learnt(t, c.s, c.y, 3, c.w, c.row)
		for i := range got {
			if !near(got[i], c.want[i]) {
				t.Errorf("%+v: the row is %v", c, got)
				break
			}
		}
	}
}

// A change of g within its rounding errors, 16 u (1 + |g|), does not change A.
func TestLearnSkipsRoundingErrors(t *testing.T) {
	for dg, want := range map[float64]float64{4e-15: 0, 6e-15: 1} { // 16 * 1e-16 * 3
		if got := learnt(t, []float64{1, 0}, []float64{2, 1}, dg, 0, []float64{0, 0}); (got[0] != 0) != (want != 0) {
			t.Errorf("%v: the row is %v", dg, got)
		}
	}
}

// ellipse is f = sum_i (1 + i) x_i^2/2 with two affine constraints.
func ellipse() problem.Functions {
	fn := quadratic(4)
	rows := [][]float64{{1, -1, 0.5, 0}, {0, 2, 1, -1}}
	fn.M = 2
	fn.G = func(g, x []float64) {
		for j, a := range rows {
			g[j] = 2
			for i, v := range a {
				g[j] -= v * x[i]
			}
		}
	}
	fn.JacobianT = func(d, _, w []float64) {
		clear(d)
		for j, a := range rows {
			for i, v := range a {
				d[i] -= w[j] * v
			}
		}
	}
	return fn
}

// A learns the Jacobian of affine constraints, so that new multipliers need no pass: the estimate
// of the gradient is the gradient. The inner products on the host are those of the vectors.
func TestSecantJacobian(t *testing.T) {
	p := newProblem(t, ellipse(), []float64{1, -1, 2, 3})
	at := problem.NewPoint(p)
	require.NoError(t, at.Forward(p))
	q, err := NewQuasiNewton(p)
	if err != nil || !q.Secant() {
		t.Fatal(err)
	}
	phi := Augmented{Multipliers: []float64{0, 0}, Penalty: 3}
	estimates, last := 0, 1.0
	for k := range 40 {
		if k > 2 && k%3 == 0 {
			phi.Coefficients(phi.Multipliers, at.Constraints)
			q.Refresh()
		}
		passes := at.GradientEvaluations
		if _, _, err := q.Predict(p, &at, phi); err != nil {
			t.Fatal(err)
		}
		d, w, got := make([]float64, 4), make([]float64, 2), numbers(p.Space(), q.d)
		phi.Coefficients(w, at.Constraints)
		ellipse().JacobianT(d, nil, w)
		for i, x := range iterate(p) {
			d[i] += float64(1+i)*x - 1
		}
		off := 0.0
		for i, v := range d {
			off = math.Max(off, math.Abs(v-got[i]))
		}
		if q.estimated {
			if estimates, last = estimates+1, off; at.GradientEvaluations != passes {
				t.Errorf("iteration %d: an estimate cost a pass", k)
			}
		} else if off > 1e-12 {
			t.Errorf("iteration %d: the gradient is off by %v", k, off)
		}
		handles, rows := q.basis(q.d, problem.Iterate)
		for i, v := range handles {
			for j, w := range handles[:i+1] {
				if got, want := q.gram.At(rows[i], rows[j]), q.space.Dot(v, w); math.Abs(got-want) > 1e-11*(1+math.Abs(want)) {
					t.Fatalf("iteration %d: the product of rows %d and %d is %v, want %v", k, rows[i], rows[j], got, want)
				}
			}
		}
		require.Value(q.Try(p, &at, phi))(t)
		if q.estimated && q.current { // a rejected step from an estimate needs the gradient
			t.Errorf("iteration %d: the estimate is current after the step", k)
		}
	}
	for k, row := range [][]float64{{-1, 1, -0.5, 0}, {0, -2, -1, 1}} {
		for i, v := range numbers(p.Space(), q.jacobian.rows[k]) {
			if math.Abs(v-row[i]) > 0.03 {
				t.Errorf("row %d of A is %v", k, numbers(p.Space(), q.jacobian.rows[k]))
				break
			}
		}
	}
	if v := problem.MaxViolation(at.Constraints); v > 1e-9 || estimates < 4 || last > 1e-6 {
		t.Errorf("the violation is %v after 40 iterations; %d estimates, the last one off by %v", v, estimates, last)
	}
}

// The rows of A need at most 32 constraints, no ball, and no hidden layers or a whitened first
// layer.
func TestSecantApplies(t *testing.T) {
	many, ball := bowl(), bowl()
	many.M = 33
	ball.Regularizer = problem.Regularizer{Kind: problem.Ball, Radius: 3}
	start := make([]float64, 3)
	for name, c := range map[string]struct {
		p    problem.Problem
		want bool
	}{
		"few":              {newProblem(t, bowl(), start), true},
		"many":             {newProblem(t, many, start), false},
		"none":             {newProblem(t, quadratic(3), start), false},
		"ball":             {newProblem(t, ball, start), false},
		"hidden layers":    {hidden{newProblem(t, bowl(), start)}, false},
		"whitened layer":   {scaledProblem{hidden{newProblem(t, bowl(), start)}, whitened(t, 3, 4, 1, 0.5, 1, 2, -0.1, 0.5, -0.1, 0.2)}, true},
		"scaled variables": {scaledProblem{hidden{newProblem(t, bowl(), start)}, stretched(0.5, 2, 8)}, false},
	} {
		if q, err := NewQuasiNewton(c.p); err != nil || q.Secant() != c.want {
			t.Errorf("%s: %v, want %v; %v", name, q.Secant(), c.want, err)
		}
	}
}

// hidden is a problem with hidden layers.
type hidden struct{ problem.Problem }

func (hidden) Shallow() bool { return false }

// New multipliers begin a search with a radius of at least 1e-3 (1 + ||x||), if there is an A.
func TestRefreshRadius(t *testing.T) {
	for name, c := range map[string]struct {
		fn           problem.Functions
		radius, want float64
	}{"small": {ellipse(), 1e-9, 1e-3 * (1 + 4)}, "large": {ellipse(), 0.1, 0.1}, "without A": {quadratic(4), 1e-9, 1e-9}} {
		q := require.Value(NewQuasiNewton(newProblem(t, c.fn, make([]float64, 4))))(t)
		q.gram.SetSym(iterateRow, iterateRow, 16)
		q.radius = c.radius
		if q.Refresh(); q.radius != c.want {
			t.Errorf("%s: the radius %v, want %v", name, q.radius, c.want)
		}
	}
}

// After a rejected step from an estimate, the next step has the true gradient.
func TestRejectedEstimate(t *testing.T) {
	p, at, q := ready(t, parabola(), []float64{1})
	if _, _, err := q.Predict(p, at, Augmented{}); err != nil {
		t.Fatal(err)
	}
	for _, estimated := range []bool{true, false} {
		q.current, q.known, q.estimated = true, true, estimated
		q.plan.coefficients[0] = -q.plan.coefficients[0] // uphill
		moved, err := q.Try(p, at, Augmented{})
		if err != nil || moved || q.current == estimated || q.known == estimated {
			t.Errorf("estimated %v: moved %v, current %v, known %v, %v", estimated, moved, q.current, q.known, err)
		}
		if _, _, err := q.Predict(p, at, Augmented{}); err != nil || q.estimated {
			t.Errorf("the next gradient is an estimate: %v, %v", q.estimated, err)
		}
	}
}

// The inner products of the step stay those of its vectors, through moves, rejected steps, new
// multipliers and pairs that replace the oldest ones.
func TestPairsKeepTheirInnerProducts(t *testing.T) {
	const n = 40
	fn := quadratic(n)
	base, slope := fn.F, fn.Gradient
	fn.F = func(x []float64) float64 { return base(x) + math.Cosh(x[0]+x[1]) }
	fn.Gradient = func(dst, x []float64) {
		slope(dst, x)
		dst[0] += math.Sinh(x[0] + x[1])
		dst[1] += math.Sinh(x[0] + x[1])
	}
	fn.Regularizer = problem.Regularizer{Kind: problem.Ball, Radius: 0.5}
	start := make([]float64, n)
	for i := range start {
		start[i] = math.Sin(float64(i)) / 20
	}
	p := newProblem(t, fn, start)
	at := problem.NewPoint(p)
	require.NoError(t, at.Forward(p))
	q := require.Value(NewQuasiNewton(p))(t)
	full, oldest := false, 0
	for k := range 150 {
		if k%25 == 24 {
			q.Refresh()
		}
		if _, _, err := q.Predict(p, &at, Augmented{}); err != nil {
			t.Fatal(err)
		}
		full, oldest = full || len(q.order) == pairsMost, max(oldest, q.age)
		handles, rows := q.basis(q.d, problem.Iterate)
		for i, v := range handles {
			for j, w := range handles[:i+1] {
				got, want := q.gram.At(rows[i], rows[j]), q.space.Dot(v, w)
				if size := math.Sqrt(q.space.Dot(v, v) * q.space.Dot(w, w)); math.Abs(got-want) > 1e-11*size {
					t.Fatalf("step %d: the product of rows %d and %d is %v, want %v", k, rows[i], rows[j], got, want)
				}
			}
		}
		require.Value(q.Try(p, &at, Augmented{}))(t)
	}
	if !full || oldest < iterateAge-1 {
		t.Errorf("all pairs: %v, oldest row of x: %d; the test must replace pairs and add up rows", full, oldest)
	}
}
