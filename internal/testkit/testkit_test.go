package testkit

import (
	"math"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testproblems"
	"ppal/trainer"
	"ppal/trainer/problem"
)

// The derivatives of the problems in the test library match central differences.
func TestDerivatives(t *testing.T) {
	all := map[string]problem.Functions{"hand": HandFunctions(), "line": Line()}
	for _, tp := range testproblems.All() {
		all[tp.Name] = FunctionsOf(tp)
	}
	for name, fn := range all {
		x := make([]float64, fn.N)
		for i := range x {
			x[i] = 0.3 + 0.17*float64(i%5)
		}
		w := make([]float64, fn.M)
		for j := range w {
			w[j] = 0.7 - 0.4*float64(j%3)
		}
		value := func(x []float64) float64 {
			sum := fn.F(x)
			g := make([]float64, fn.M)
			if fn.M > 0 {
				fn.G(g, x)
			}
			for j, v := range g {
				sum += w[j] * v
			}
			return sum
		}
		d, part := make([]float64, fn.N), make([]float64, fn.N)
		fn.Gradient(d, x)
		if fn.M > 0 {
			fn.JacobianT(part, x, w)
		}
		for i := range x {
			const h = 1e-5
			plus, minus := slices.Clone(x), slices.Clone(x)
			plus[i] += h
			minus[i] -= h
			want, got := (value(plus)-value(minus))/(2*h), d[i]+part[i]
			if math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
				t.Errorf("%s: derivative %d is %v, want %v", name, i, got, want)
			}
		}
	}
}

// The rows of the hand-made problem are the derivatives of h.
func TestHandRows(t *testing.T) {
	x := [2]float64{0.4, -0.7}
	rows := HandRows(x)
	for i := range x {
		const h = 1e-6
		plus, minus := x, x
		plus[i] += h
		minus[i] -= h
		a, b := HandH(plus), HandH(minus)
		for j := range a {
			if want := (a[j] - b[j]) / (2 * h); math.Abs(rows[j][i]-want) > 1e-8 {
				t.Errorf("dh_%d/dx_%d is %v, want %v", j+1, i+1, rows[j][i], want)
			}
		}
	}
}

// NewNarrow has the values of New, rounded to float32, and keeps its iterate in float32.
func TestNarrow(t *testing.T) {
	fn := HandFunctions()
	start := []float64{0.1, 0.2}
	p, wide := NewNarrow(t, fn, start), New(t, fn, start)
	if got := Iterate(p); got[0] != float64(float32(0.1)) || got[1] != float64(float32(0.2)) {
		t.Errorf("the iterate is %v, want float32 numbers", got)
	}
	g, gWide := make([]float64, 2), make([]float64, 2)
	f, err := p.Forward(g)
	fWide, errWide := wide.Forward(gWide)
	if err != nil || errWide != nil {
		t.Fatal(err, errWide)
	}
	if math.Abs(f-fWide) > 1e-7 || Distance(g, gWide) > 1e-7 || f == fWide {
		t.Errorf("f %v, g %v, want %v, %v up to the rounding of the iterate", f, g, fWide, gWide)
	}
	d, dWide := p.Space().New(), wide.Space().New()
	for problem, vector := range map[problem.Problem]problem.Vector{p: d, wide: dWide} {
		require.NoError(t, problem.Backward([]float64{2, -1, 0.5}, vector))
	}
	got, want := make([]float64, 2), make([]float64, 2)
	p.Space().Read(got, d)
	wide.Space().Read(want, dWide)
	if Distance(got, want) > 1e-6 {
		t.Errorf("the gradient is %v, want %v", got, want)
	}
	fn.Pieces = problem.Abs(0.1, 0.1)
	pw := NewNarrow(t, fn, start)
	if _, m := pw.Dims(); m != 2 || problem.FeaturesOf(pw).Pieces == nil {
		t.Errorf("%d constraints with pieces, want 2 of them", m)
	}
}

// A box with different bounds becomes constraints, a ball and a uniform box a regularizer.
func TestFunctionsOf(t *testing.T) {
	var uniform, mixed, ball bool
	for _, tp := range testproblems.All() {
		fn := FunctionsOf(tp)
		if len(fn.Pieces) != len(tp.Pieces) {
			t.Errorf("%s: %d pieces, want %d", tp.Name, len(fn.Pieces), len(tp.Pieces))
		}
		switch {
		case tp.Lower != nil:
			lo, hi, same := Uniform(tp)
			uniform, mixed = uniform || same, mixed || !same
			if same && (fn.Regularizer.Kind != problem.Box || fn.Regularizer.Lower != lo || fn.Regularizer.Upper != hi || fn.M != tp.M) {
				t.Errorf("%s: %+v for the box %v, %v", tp.Name, fn.Regularizer, lo, hi)
			}
			if !same && (fn.Regularizer.Kind == problem.Box || fn.M <= tp.M) {
				t.Errorf("%s: %d constraints and %v, want the bounds as constraints", tp.Name, fn.M, fn.Regularizer.Kind)
			}
		case tp.Ball > 0:
			if ball = true; fn.Regularizer.Kind != problem.Ball || fn.Regularizer.Radius != tp.Ball {
				t.Errorf("%s: %+v for the ball %v", tp.Name, fn.Regularizer, tp.Ball)
			}
		}
	}
	if !mixed || !ball {
		t.Errorf("the library has no problem of a kind: uniform box %v, other box %v, ball %v", uniform, mixed, ball)
	}
}

func TestDistance(t *testing.T) {
	if got := Distance([]float64{1, 12}, []float64{1.5, 9}); math.Abs(got-0.3) > 1e-15 {
		t.Errorf("%v, want 0.3", got)
	}
	if !SameBits(math.NaN(), math.NaN()) || SameBits(0, math.Copysign(0, -1)) {
		t.Error("SameBits compares values, not bits")
	}
}

// The journal keeps a copy of every record and returns the error of After.
func TestJournal(t *testing.T) {
	l := &Journal{}
	r := trainer.Record{Iteration: 3, Objective: 1}
	require.NoError(t, l.Record(&r))
	r.Objective = 2
	l.Tick(&problem.Point{Iteration: 4})
	if l.Records[0].Objective != 1 || !slices.Equal(l.Iterations, []int{3}) || !slices.Equal(l.Ticks, []int{4}) {
		t.Errorf("%+v", l)
	}
	if !Mentions([]string{"a", "of the box"}, "the b") || Mentions([]string{"a"}, "b") {
		t.Error("Mentions is wrong")
	}
}
