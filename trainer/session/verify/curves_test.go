package verify

import (
	"math"
	"testing"

	"ppal/constraints"
)

// The area of scores by all pairs: equal scores, and scores nearer than e, may be either way.
func TestAreas(t *testing.T) {
	for _, c := range []struct {
		scores      []float64
		classes     []int
		e           float64
		least, most float64
	}{
		{[]float64{1, 2, 3, 4}, []int{0, 0, 1, 1}, 0, 1, 1},
		{[]float64{3, 4, 1, 2}, []int{0, 0, 1, 1}, 0, 0, 0},
		{[]float64{1, 3, 2, 4}, []int{0, 0, 1, 1}, 0, 0.75, 0.75},
		{[]float64{5, 5, 5, 5}, []int{0, 1, 0, 1}, 0, 0, 1},
		{[]float64{1, 2, 2.5, 4}, []int{0, 1, 0, 1}, 0.6, 0.75, 1},
	} {
		if least, most := areas(c.scores, &constraints.Population{Labels: c.classes}, c.e); math.Abs(least-c.least)+math.Abs(most-c.most) > 1e-15 {
			t.Errorf("%v of %v, e = %v: %v to %v, want %v to %v", c.scores, c.classes, c.e, least, most, c.least, c.most)
		}
	}
}
