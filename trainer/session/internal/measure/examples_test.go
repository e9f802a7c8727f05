package measure

import (
	"slices"
	"testing"
)

func TestWorst(t *testing.T) {
	var w worst
	for row, m := range []float64{1, 3, 2, 3, 0.5} {
		w.add(row, m, 3)
	}
	if want := []wrongRow{{1, 3}, {3, 3}, {2, 2}}; w.wrong != 5 || !slices.Equal(w.list, want) {
		t.Errorf("%+v, want %v", w, want)
	}
}
