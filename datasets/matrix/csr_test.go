package matrix_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/matrix"
)

func TestCSRWidensItsRows(t *testing.T) {
	c := &matrix.CSR{Rows: 3, Cols: 4, Starts: []int{0, 2, 2, 3}, Columns: []int32{0, 3, 1}, Values: []float64{2, -1, 0.5}}
	double, single := make([]float64, 12), make([]float32, 8)
	c.Float64(double, 0, 3)
	if diff := cmp.Diff([]float64{2, 0, 0, -1, 0, 0, 0, 0, 0, 0.5, 0, 0}, double); diff != "" {
		t.Error(diff)
	}
	single[0] = 7 // what was there is overwritten
	c.Float32(single, 1, 3)
	if diff := cmp.Diff([]float32{0, 0, 0, 0, 0, 0.5, 0, 0}, single); diff != "" {
		t.Error(diff)
	}
	c.Values = nil
	c.Float64(double[:4], 0, 1)
	if diff := cmp.Diff([]float64{1, 0, 0, 1}, double[:4]); diff != "" {
		t.Error(diff)
	}
}

// Selected rows of a matrix without values have none.
func TestSelectWithoutValues(t *testing.T) {
	m := &matrix.CSR{Rows: 2, Cols: 4, Starts: []int{0, 1, 3}, Columns: []int32{2, 0, 3}}
	for _, place := range [][]int32{nil, {0, 1, 2, 3}} {
		want := &matrix.CSR{Rows: 2, Cols: 4, Starts: []int{0, 2, 3}, Columns: []int32{0, 3, 2}}
		if diff := cmp.Diff(want, m.Select([]int{1, 0}, place, 4)); diff != "" {
			t.Errorf("%v: %s", place, diff)
		}
	}
}
