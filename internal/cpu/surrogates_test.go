package cpu

import (
	"math"
	"slices"
	"testing"

	"ppal/constraints"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// Every surrogate has a form for blocks, as accurate as the type allows relative to each value, on every level.
func TestSurrogates(t *testing.T) {
	testSurrogates[float32](t, 1e-6, 80)
	testSurrogates[float64](t, 2e-15, 700)
}

func testSurrogates[T plan.Float](t *testing.T, bound float64, most float64) {
	m := []T{0, 1, -1, T(math.Nextafter(-1, 0)), T(math.Nextafter(-1, -2)), T(math.Inf(1)), T(math.Inf(-1)), T(math.NaN())}
	for x := 1e-6; x < most; x *= 1.31 {
		m = append(m, T(x), T(-x))
	}
	close := func(got T, want float64) bool {
		g := float64(got)
		return g == want || math.IsNaN(g) && math.IsNaN(want) || math.Abs(g-want) <= bound*math.Abs(want)
	}
	for _, phi := range constraints.Phis() {
		s, known := newSurrogate[T](phi.String())
		if !known {
			t.Errorf("%v has no form", phi)
			continue
		}
		for _, level := range kernel.Levels() {
			k, err := kernel.New[T](level)
			if err != nil {
				t.Fatal(err)
			}
			values, slopes := slices.Clone(m), slices.Clone(m)
			s.value(k, values, make([]T, len(m)))
			s.slope(k, slopes)
			for i, x := range m {
				if want := phi.Value(-float64(x)); !close(values[i], want) {
					t.Errorf("%v, %v, %T: phi(%v) = %v, want %v", level, phi, x, -x, values[i], want)
				}
				if want := phi.Deriv(-float64(x)); !close(slopes[i], want) {
					t.Errorf("%v, %v, %T: phi'(%v) = %v, want %v", level, phi, x, -x, slopes[i], want)
				}
			}
		}
	}
	if _, known := newSurrogate[T]("square"); known {
		t.Error("an unknown surrogate has a form")
	}
}
