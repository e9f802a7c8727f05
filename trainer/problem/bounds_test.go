package problem

import (
	"errors"
	"math"
	"slices"
	"testing"
)

// TestResidualAtBounds has points exactly on a bound, for the tolerance 0 and for 0.1.
func TestResidualAtBounds(t *testing.T) {
	inf := math.Inf(1)
	box := Regularizer{Kind: Box, Lower: -3, Upper: 3}
	for _, c := range []struct {
		r         Regularizer
		x, v      []float64
		tolerance float64
		want      []float64
	}{
		{Regularizer{Kind: Ball, Radius: 5}, []float64{3, 4}, []float64{-3, -4}, 0, []float64{0, 0}},
		{Regularizer{Kind: Ball, Radius: 5}, []float64{3, 4}, []float64{3, 4}, 0, []float64{3, 4}},
		{Regularizer{Kind: Ball, Radius: 1}, []float64{0, 0}, []float64{3, 4}, 1, []float64{3, 4}},
		{Regularizer{Kind: GroupL1, Weight: 5, Groups: []int{2}}, []float64{0, 0}, []float64{3, 4}, 0, []float64{0, 0}},
		{Regularizer{Kind: GroupL1, Weight: 2, Groups: []int{2}}, []float64{0, 0}, []float64{0, 4}, 0, []float64{0, 2}},
		{box, []float64{-3, 3, 2.9, -2.9}, []float64{1, -1, -1, 1}, 0, []float64{0, 0, -1, 1}},
		{box, []float64{-2.7, 2.7, 2.5, -2.5}, []float64{1, -1, -1, 1}, 0.1, []float64{0, 0, -1, 1}},
		{Regularizer{Kind: Box, Lower: -inf, Upper: inf}, []float64{1e300, -1e300}, []float64{-1, 1}, 0.1, []float64{-1, 1}},
	} {
		p := make([]float64, len(c.x))
		if c.r.Residual(p, c.x, c.v, c.tolerance); !slices.Equal(p, c.want) {
			t.Errorf("%+v at %v, v = %v: %v, want %v", c.r, c.x, c.v, p, c.want)
		}
	}
	if lower, upper := (Regularizer{Kind: Box, Lower: -inf, Upper: inf}).near(0.1); lower != -inf || upper != inf {
		t.Errorf("infinite bounds became %v and %v", lower, upper)
	}
}

func TestResidualDerivativeAtZero(t *testing.T) {
	u := []float64{5, 7}
	Regularizer{Kind: L1, Weight: 1}.ResidualDerivative(u, []float64{0, 0}, []float64{2, 0}, []float64{-1, 0.5}, 0)
	if !slices.Equal(u, []float64{5, 0}) {
		t.Errorf("l1: %v, want 5 where x is not 0, and 0 where x is 0", u)
	}
	u = []float64{5, 7}
	Regularizer{Kind: GroupL1, Weight: 1, Groups: []int{2}}.ResidualDerivative(u, []float64{0, 0}, []float64{0, 0}, []float64{0, 0}, 0)
	if !slices.Equal(u, []float64{0, 0}) {
		t.Errorf("group-l1: %v, want 0", u)
	}
}

func TestValidateAtBounds(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		r  Regularizer
		ok bool
	}{
		{Regularizer{Kind: Box, Lower: 2, Upper: 2}, true},
		{Regularizer{Kind: Box, Lower: -inf, Upper: inf}, true},
		{Regularizer{Kind: Box, Lower: inf, Upper: inf}, false},
		{Regularizer{Kind: Box, Lower: -inf, Upper: -inf}, false},
		{Regularizer{Kind: Box, Lower: 2, Upper: 1}, false},
		{Regularizer{Kind: Box, Lower: math.NaN(), Upper: 1}, false},
		{Regularizer{Kind: Ball, Radius: 1}, true},
		{Regularizer{Kind: Ball}, false},
		{Regularizer{Kind: Ball, Radius: inf}, false},
		{Regularizer{Kind: L1, Weight: 1}, true},
		{Regularizer{Kind: L1, Weight: -1}, false},
		{Regularizer{Kind: L1, Weight: inf}, false},
		{Regularizer{Kind: GroupL1, Weight: 1}, false},
		{Regularizer{Kind: GroupL1, Weight: 1, Groups: []int{1, 3}}, true},
		{Regularizer{Kind: GroupL1, Weight: 0, Groups: []int{1, 3}}, false},
		{Regularizer{Kind: GroupL1, Weight: 1, Groups: []int{1, 1, 3}}, false},
		{Regularizer{Kind: GroupL1, Weight: 1, Groups: []int{2, 1, 3}}, false},
		{Regularizer{Kind: GroupL1, Weight: 1, Groups: []int{1, 2}}, false},
		{Regularizer{Kind: -1}, false},
		{Regularizer{Kind: RegularizerKind(len(regularizerNames))}, false},
	} {
		if err := c.r.Validate(3); (err == nil) != c.ok || err != nil && !errors.Is(err, ErrSettings) {
			t.Errorf("%+v: %v", c.r, err)
		}
	}
	for k, want := range map[RegularizerKind]string{-1: "RegularizerKind(-1)", Box: "box", GroupL1 + 1: "RegularizerKind(6)"} {
		if k.String() != want {
			t.Errorf("the name %q, want %q", k, want)
		}
	}
}

// TestMovedNorms compares the norms of a step with the vectors.
func TestMovedNorms(t *testing.T) {
	for _, r := range []Regularizer{{}, {Kind: Box, Lower: math.Inf(-1), Upper: 1}, {Kind: GroupL1, Weight: 0.5, Groups: []int{2, 3}}} {
		s := NewHostSpace([]float64{3, 4, 12}, r)
		d, before := s.New(), s.New()
		s.moved, s.squared = 1e3, 1e3 // of another step
		s.Write(d, []float64{1, -2, 2})
		s.Combine(before, 1, Iterate, 0, Iterate)
		s.Space().Descend(Descent{Direction: d, Step: 1, Length: 1})
		moved, norm := s.Moved()
		want, size := s.Distance(Iterate, before), math.Sqrt(s.Dot(Iterate, Iterate))
		if !(math.Abs(moved-want) <= 1e-14*want && math.Abs(norm-size) <= 1e-14*size) {
			t.Errorf("%v: moved %v to the norm %v, want %v and %v", r.Kind, moved, norm, want, size)
		}
		if r.Kind == Box && !slices.Equal(s.Slice(Iterate), []float64{1, 1, 1}) {
			t.Errorf("a box with one bound: %v, want ones", s.Slice(Iterate))
		}
	}
}

// With d = 1e-10 and no sum so far, the step is e d / (|d| + 1e-10) = e/2.
func TestAdagradEpsilon(t *testing.T) {
	s := NewHostSpace([]float64{1}, Regularizer{})
	d, squares := s.New(), s.New()
	s.Write(d, []float64{1e-10})
	s.Space().Adagrad(d, squares, 1)
	if x := s.Slice(Iterate)[0]; !(math.Abs(x-0.5) <= 1e-15) {
		t.Errorf("x = %v, want 0.5", x)
	}
}

// counting are plain loops that count the calls of Dot.
type counting struct {
	loops[float64]
	dots *int
}

func (c counting) Dot(x, y []float64) float64 { *c.dots++; return c.loops.Dot(x, y) }

func TestHostVectorsUseThePasses(t *testing.T) {
	dots := 0
	h := NewHostVectors[float64]([]float64{3}, counting{dots: &dots})
	if h.Dot(Iterate, Iterate) != 9 || dots != 1 {
		t.Errorf("%d calls of the passes, want 1", dots)
	}
	// Combine does not read y if b = 0.
	y, v := h.New(), h.New()
	h.Write(y, []float64{math.NaN()})
	if h.Combine(v, 2, Iterate, 0, y); h.Slice(v)[0] != 6 {
		t.Errorf("%v, want 6", h.Slice(v)[0])
	}
	defer func() {
		if recover() == nil {
			t.Error("Sum took more coefficients than vectors")
		}
	}()
	h.Sum(v, []float64{1, 2}, []Vector{Iterate})
}

func TestResidualDerivativeAtBounds(t *testing.T) {
	u := []float64{5, 6, 7}
	Regularizer{Kind: Box, Lower: -3, Upper: 3}.ResidualDerivative(u, []float64{0, 0, 0}, []float64{-3, 3, 0}, []float64{1, -1, 0}, 0)
	if !slices.Equal(u, []float64{0, 0, 7}) {
		t.Errorf("box: %v, want 0 at the bounds and 7 inside", u)
	}
	u = []float64{5, 7}
	Regularizer{Kind: GroupL1, Weight: 5, Groups: []int{2}}.ResidualDerivative(u, []float64{0, 0}, []float64{0, 0}, []float64{3, 4}, 0)
	if !slices.Equal(u, []float64{0, 0}) {
		t.Errorf("group-l1 at the threshold: %v, want 0", u)
	}
	if f := (&Map{Kind: GroupMap}).GroupFactor(0); f != 0 {
		t.Errorf("the factor of a group of zeros without a threshold is %v, want 0", f)
	}
	s := NewHostSpace([]float64{1, 2}, Regularizer{})
	a, b := s.New(), s.New()
	s.Write(a, []float64{3, 0})
	s.Write(b, []float64{0, 5})
	dots := make([]float64, 4)
	if s.Dots(dots, []Vector{a, b}, []Vector{Iterate, b}); !slices.Equal(dots, []float64{3, 0, 10, 25}) {
		t.Errorf("Dots: %v", dots)
	}
}
