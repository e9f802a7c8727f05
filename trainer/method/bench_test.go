package method_test

import (
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
)

// starter begins a run by hand on a problem with very cheap functions. The benchmarks measure the
// method itself.
func starter(t testing.TB, m trainer.Method, kinks bool) (problem.Problem, *problem.Point) {
	t.Helper()
	tp := testkit.Named(t, "abs-branch-and-kink")
	if !kinks {
		tp = tp.Split()
	}
	p := testkit.ProblemOf(t, tp)
	_, count := p.Dims()
	at := &problem.Point{Constraints: make([]float64, count)}
	var err error
	if at.Objective, err = p.Forward(at.Constraints); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, m.Init(p, at))
	for range 3 { // after the probe
		require.NoError(t, m.Iterate(p, at))
	}
	return p, at
}

// BenchmarkIteration measures the time of an iteration on three variables and two constraints,
// including the functions.
func BenchmarkIteration(b *testing.B) {
	for _, e := range table() {
		b.Run(e.name, func(b *testing.B) {
			m := e.make()
			p, at := starter(b, m, e.kinks)
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, m.Iterate(p, at))
			}
		})
	}
}

// BenchmarkFunctions is the forward and the backward pass of BenchmarkIteration alone.
func BenchmarkFunctions(b *testing.B) {
	p, at := starter(b, &method.PPALA{}, false)
	d, w := p.Space().New(), make([]float64, 1+len(at.Constraints))
	for j := range w {
		w[j] = 1
	}
	b.ReportAllocs()
	for b.Loop() {
		require.Value(p.Forward(at.Constraints))(b)
		require.NoError(b, p.Backward(w, d))
	}
}

// An iteration allocates nothing. The exceptions are proxlinear, which computes the eigenvalues of
// an m x m matrix in addition to 1 + m backward passes, and the quasi-Newton steps, which decompose
// small matrices on the host.
func TestIterationsDoNotAllocate(t *testing.T) {
	for _, e := range table() {
		m := e.make()
		most := 0.0
		if p, ok := m.(*method.PLADA); ok && p.XStep == method.XStepAuto {
			most = 5
		}
		if strings.HasSuffix(e.name, "lbfgs") {
			most = 400
		}
		p, at := starter(t, m, e.kinks)
		if n := testing.AllocsPerRun(100, func() {
			require.NoError(t, m.Iterate(p, at))
		}); n > most {
			t.Errorf("%s: %v allocations in an iteration", e.name, n)
		}
	}
}
