package suite

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testproblems"
	"ppal/trainer/problem"
)

func TestProblems(t *testing.T) {
	list := problems()
	if len(list) < 28 {
		t.Errorf("%d problems, want at least 28", len(list))
	}
	families := map[Family]int{}
	quickCount := 0
	for i, p := range list {
		families[p.Family]++
		if i > 0 && list[i-1].Name >= p.Name {
			t.Errorf("%s is not after %s", p.Name, list[i-1].Name)
		}
		if p.HeldOut != (i%4 == 3) {
			t.Errorf("%s, number %d: held out %v", p.Name, i+1, p.HeldOut)
		}
		if p.Seed == 0 {
			t.Errorf("%s has no seed", p.Name)
		}
		if (p.Functions == "") == (p.Task == nil) {
			t.Errorf("%s has neither functions nor a task, or both", p.Name)
		}
		if p.Functions != "" {
			if _, ok := testproblems.ByName(p.Functions); !ok {
				t.Errorf("%s: no test problem %s", p.Name, p.Functions)
			}
		} else if p.Data == nil {
			t.Errorf("%s has no data", p.Name)
		}
		if p.Quick {
			quickCount++
		}
		if !strings.Contains(List(), p.Name+" ") {
			t.Errorf("%s is not in the list", p.Name)
		}
	}
	for _, f := range []Family{pictures, fairness, decisions, functions} {
		if families[f] < 5 {
			t.Errorf("%d problems of %s", families[f], f)
		}
	}
	if quickCount != len(quick()) {
		t.Errorf("%d quick problems, want %d", quickCount, len(quick()))
	}
	if !slices.ContainsFunc(list, func(p Problem) bool { return p.Name == tableProblem }) {
		t.Errorf("no problem %s", tableProblem)
	}
}

// All test problems of the suite build, without maxima, boxes and more than 20 constraints.
func TestBuildFunctions(t *testing.T) {
	for _, p := range functionProblems() {
		b := require.Value(Build(t.Context(), p, "", 0, 1))(t)
		_, m := b.Dims()
		r := b.Space().Regularizer.Kind
		if m < 1 || m > 20 || r != problem.NoRegularizer && r != problem.Ball {
			t.Errorf("%s: %d constraints, %v", p.Name, m, r)
		}
		if p.Name == "hs086" && m != 15 { // with 5 bounds on coordinates
			t.Errorf("%s: %d constraints, want 15", p.Name, m)
		}
	}
}

// With data, the smooth problems of tables build. The objective of the decisions problem contains
// the ridge, and the gradients are differences of the values.
func TestBuildTables(t *testing.T) {
	dir := os.Getenv("PPAL_DATA")
	if dir == "" {
		t.Skip("needs the published tables (PPAL_DATA)")
	}
	list := require.Value(Select("compas-dp-0.01-linear", "compas-decisions-dp-0.01-linear"))(t)
	for _, p := range list {
		p.Float64 = true
		b := require.Value(Build(t.Context(), p, dir, 0, 1))(t)
		defer b.Close()
		n, m := b.Dims()
		if m != 2 { // a gap is two constraints
			t.Errorf("%s: %d constraints, want 2", p.Name, m)
		}
		x, g, gradient, w := make([]float64, n), make([]float64, m), make([]float64, n), []float64{1, 0.5, 2}
		space := b.Space()
		space.Read(x, problem.Iterate)
		for i := range x {
			x[i] += 10 // so that the ridge counts
		}
		lagrangian := func() float64 {
			space.Write(problem.Iterate, x)
			f := require.Value(b.Forward(g))(t)
			return w[0]*f + w[1]*g[0] + w[2]*g[1]
		}
		lagrangian()
		d := space.New()
		require.NoError(t, b.Backward(w, d))
		space.Read(gradient, d)
		for _, i := range []int{0, n / 2, n - 1} {
			const h = 1e-4
			at := x[i]
			x[i] = at + h
			above := lagrangian()
			x[i] = at - h
			want := (above - lagrangian()) / (2 * h)
			x[i] = at
			if math.Abs(gradient[i]-want) > 1e-7 {
				t.Errorf("%s: gradient %d is %v, want %v", p.Name, i, gradient[i], want)
			}
		}
	}
}
