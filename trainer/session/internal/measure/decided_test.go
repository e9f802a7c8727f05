package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/trainer/session/results"
)

// A decision needs one score for two classes, or a score for each class.
func TestDecide(t *testing.T) {
	for _, c := range []struct {
		rows, classes int
		scores        []float64
		want          []int
	}{
		{3, 2, []float64{-1, 0, 1}, []int{0, 0, 1}},
		{3, 2, []float64{1, 0, 0, 1, 2, 2}, []int{0, 1, 0}},
		{2, 3, []float64{0, 1, 0, 3, 1, 2}, []int{1, 0}},
		{2, 3, []float64{1, 2}, nil},
		{2, 3, []float64{1, 2, 3}, nil},
	} {
		var got []int
		if d := Decide(results.Test, make([]string, c.classes), make([]int, c.rows), c.scores); d != nil {
			got = d.Decisions
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%v: %s", c.scores, diff)
		}
	}
}
