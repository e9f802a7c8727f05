package problem_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"ppal/trainer/problem"
)

// apply returns what the map makes of v.
func apply(replace func([]float64), v ...float64) []float64 {
	replace(v)
	return v
}

func near(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(a, b float64) bool { return math.Abs(a-b) <= 1e-12 })
}

// G = [4 2; 2 5] has L = [2 0; 1 2], so T = L^-T = [1/2 -1/4; 0 1/2].
func TestWhiten(t *testing.T) {
	g := mat.NewSymDense(2, []float64{4, 2, 2, 5})
	s := problem.NewScales(2)
	if !s.Whiten(g, 1) || !s.Whitened() || s.Identity() || s.Len() != 2 {
		t.Fatal("not whitened")
	}
	for name, c := range map[string]struct{ got, want []float64 }{
		"T (4, 8)":    {apply(s.Multiply, 4, 8), []float64{0, 4}},
		"T^T (4, 8)":  {apply(s.MultiplyTransposed, 4, 8), []float64{2, 3}},
		"T^-1 (0, 4)": {apply(s.Divide, 0, 4), []float64{4, 8}},
	} {
		if !near(c.got, c.want) {
			t.Errorf("%s = %v, want %v", name, c.got, c.want)
		}
	}
	for extra, rest := range [][]float64{nil, {7}, {7, -9}} { // columns (4, 8) and (1, 0), and variables after them
		two := problem.NewScales(4 + extra)
		if !two.Whiten(g, 2) {
			t.Fatal("not whitened")
		}
		with := func(v ...float64) []float64 { return slices.Concat(v, rest) }
		if got := apply(two.Multiply, with(4, 1, 8, 0)...); !near(got, with(0, 0.5, 4, 0)) {
			t.Errorf("T of two columns = %v", got)
		}
		if got := apply(two.Divide, with(0, 0.5, 4, 0)...); !near(got, with(4, 1, 8, 0)) {
			t.Errorf("T^-1 of two columns = %v", got)
		}
		if got := apply(two.MultiplyTransposed, with(4, 1, 8, 0)...); !near(got, with(2, 0.5, 3, -0.25)) {
			t.Errorf("T^T of two columns = %v", got)
		}
	}
}

// ||u||^2 is the mean square of the scores of the rows.
func TestWhitenedLength(t *testing.T) {
	rows, x := [][]float64{{1, 2, 1}, {-1, 0.5, 1}, {0, 3, 1}, {2, -1, 1}}, []float64{0.3, -0.7, 0.2}
	g, square := mat.NewSymDense(3, nil), 0.0
	for _, row := range rows {
		g.SymRankOne(g, 1/float64(len(rows)), mat.NewVecDense(3, row))
		score := mat.Dot(mat.NewVecDense(3, row), mat.NewVecDense(3, x))
		square += score * score / float64(len(rows))
	}
	s := problem.NewScales(3)
	if !s.Whiten(g, 1) {
		t.Fatal("not whitened")
	}
	u := mat.NewVecDense(3, apply(s.Divide, x...))
	if got := mat.Dot(u, u); math.Abs(got-square) > 1e-12 {
		t.Errorf("||u||^2 = %v, want %v", got, square)
	}
}

// Scales are T = I at first, and stay as they are if the moments are not positive definite.
func TestScalesUnchanged(t *testing.T) {
	s := problem.NewScales(2)
	if got := apply(s.Multiply, 3, 4); !slices.Equal(got, []float64{3, 4}) {
		t.Errorf("new scales make (3, 4) %v", got)
	}
	s.Stretch([]float64{2, 0.5})
	for _, g := range []*mat.SymDense{mat.NewSymDense(2, nil), mat.NewSymDense(2, []float64{1, math.NaN(), 0, 1}), mat.NewSymDense(2, []float64{math.Inf(1), 0, 0, 1})} {
		if s.Whiten(g, 1) || s.Whitened() {
			t.Errorf("whitened by %v", mat.Formatted(g))
		}
	}
	if good := mat.NewSymDense(2, []float64{4, 2, 2, 5}); s.Whiten(good, 2) || s.Whiten(good, 0) || s.Identity() || !problem.NewScales(2).Identity() {
		t.Error("whitened with more weights than variables, or T = I is wrong")
	}
	for _, replace := range []func([]float64){s.Multiply, s.MultiplyTransposed} {
		if got := apply(replace, 3, 4); !slices.Equal(got, []float64{6, 2}) {
			t.Errorf("(3, 4) becomes %v, want (6, 2)", got)
		}
	}
	if got := apply(s.Divide, 6, 2); !slices.Equal(got, []float64{3, 4}) {
		t.Errorf("(6, 2) becomes %v, want (3, 4)", got)
	}
}
