package problem_test

import (
	"math"
	"testing"

	"ppal/trainer/problem"
)

// Dots and Sum equal loops in float64, with a vector that appears twice and a sum in place.
func TestDotsAndSum(t *testing.T) {
	t.Run("float64", dotsAndSum[float64])
	t.Run("float32", dotsAndSum[float32])
}

func dotsAndSum[T float32 | float64](t *testing.T) {
	const n = 37
	s, d, v, w := drawn[T](n, problem.Regularizer{})
	list, coefficients := []problem.Vector{d, v, w, d}, []float64{0.1, -3, 1e-9, 0.7}
	for _, dst := range []problem.Vector{w, problem.Iterate} { // in place first
		dots, want := make([]float64, len(list)), make([]float64, n)
		s.Dots(dots, []problem.Vector{v}, list)
		for k, y := range list {
			if dots[k] != s.Dot(v, y) {
				t.Errorf("dot product %d is %v, want %v", k, dots[k], s.Dot(v, y))
			}
			for i, x := range s.Slice(y) {
				want[i] += coefficients[k] * float64(x)
			}
		}
		s.Sum(dst, coefficients, list)
		for i, x := range s.Slice(dst) {
			if x != T(want[i]) {
				t.Errorf("element %d of the sum is %v, want %v", i, x, T(want[i]))
			}
		}
	}
	s.Dots(nil, []problem.Vector{v}, nil)
	s.Sum(v, nil, nil)
	if size := s.Dot(v, v); size != 0 {
		t.Errorf("a sum of no vectors has the squared norm %v", size)
	}
}

// A number that is not finite reaches the results, with a coefficient of 0 too.
func TestSumKeepsWhatIsNotANumber(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		s, d, v, w := drawn[float32](9, problem.Regularizer{})
		s.Slice(d)[4] = float32(bad)
		dots := make([]float64, 2)
		s.Dots(dots, []problem.Vector{v}, []problem.Vector{w, d})
		if finite := dots[1]-dots[1] == 0; finite || dots[0]-dots[0] != 0 {
			t.Errorf("%v: dot products %v", bad, dots)
		}
		s.Sum(w, []float64{1, 0}, []problem.Vector{v, d})
		for i, x := range s.Slice(w) {
			if finite := x-x == 0; finite == (i == 4) {
				t.Errorf("%v: element %d of the sum is %v", bad, i, x)
			}
		}
	}
}

// Lists of other lengths than the numbers panic.
func TestListsOfOtherLengths(t *testing.T) {
	s, d, _, _ := drawn[float32](9, problem.Regularizer{})
	for name, call := range map[string]func(){
		"dots": func() { s.Dots(make([]float64, 2), []problem.Vector{d}, []problem.Vector{d}) },
		"sum":  func() { s.Sum(d, nil, []problem.Vector{d}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}
