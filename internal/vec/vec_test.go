package vec

import (
	"math"
	"slices"
	"testing"
)

func TestNorms(t *testing.T) {
	for _, c := range []struct {
		x           []float64
		norm, norm1 float64
	}{
		{nil, 0, 0}, {[]float64{-3}, 3, 3}, {[]float64{3, -4}, 5, 7}, {[]float64{1, 2, 2, -4}, 5, 9},
		{[]float64{1, math.Inf(-1)}, math.Inf(1), math.Inf(1)},
	} {
		if got := Norm(c.x); got != c.norm {
			t.Errorf("Norm(%v) = %v, want %v", c.x, got, c.norm)
		}
		if got := Norm1(c.x); got != c.norm1 {
			t.Errorf("Norm1(%v) = %v, want %v", c.x, got, c.norm1)
		}
	}
	// The squares of the float32 elements overflow float32, and so does their sum.
	if got := Norm([]float32{3e30, 4e30}); math.Abs(got/5e30-1) > 1e-7 {
		t.Errorf("the norm of float32 elements is %v, want 5e30", got)
	}
	many := []float32{1e4}
	for range 1000 {
		many = append(many, 1)
	}
	if got := Norm(many); math.Abs(got*got-(1e8+1000)) > 1e-6 {
		t.Errorf("the squared norm is %v, want %v: the sum is not in float64", got*got, 1e8+1000)
	}
}

func TestDot(t *testing.T) {
	if got := Dot([]float64{1, 2, 3}, []float64{4, -5, 6, 100}); got != 12 {
		t.Errorf("%v, want 12", got)
	}
	// The sum runs in order: 1e16 + 1 rounds to 1e16 in float64, therefore the order determines the
	// result.
	if got := Dot([]float64{1e16, 1, -1e16}, []float64{1, 1, 1}); got != 0 {
		t.Errorf("%v, want 0: the sum is not in the order of the elements", got)
	}
	if got := Dot(nil, nil); got != 0 {
		t.Errorf("%v, want 0", got)
	}
}

func TestScale(t *testing.T) {
	x := []float64{1, -2, 0}
	if Scale(x, 0.5); !slices.Equal(x, []float64{0.5, -1, 0}) {
		t.Errorf("%v", x)
	}
	// The factor is rounded to float32 before the product.
	single := []float32{3}
	if Scale(single, 0.1); single[0] != float32(3)*float32(0.1) {
		t.Errorf("%v", single)
	}
}

func TestFinite(t *testing.T) {
	nan, infinity := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		x    []float64
		want int
	}{
		{nil, -1}, {[]float64{0, math.MaxFloat64, -1}, -1}, {[]float64{nan}, 0}, {[]float64{0, infinity, nan}, 1}, {[]float64{0, 1, -infinity}, 2},
	} {
		if got := FirstNonFinite(c.x); got != c.want {
			t.Errorf("FirstNonFinite(%v) = %d, want %d", c.x, got, c.want)
		}
		for i, v := range c.x {
			if finite := !math.IsNaN(v) && !math.IsInf(v, 0); Finite(v) != finite {
				t.Errorf("element %d: Finite(%v) = %v", i, v, !finite)
			}
		}
	}
}
