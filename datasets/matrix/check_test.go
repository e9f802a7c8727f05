package matrix

import (
	"math"
	"strings"
	"testing"
)

// Lists that do not fit the numbers of rows and columns are refused, and right ones pass.
func TestCheck(t *testing.T) {
	var none *Dense
	for _, c := range []struct {
		m    Matrix
		want string
	}{
		{&Dense{2, 3, make([]float64, 6)}, ""},
		{&Bytes{2, 3, make([]uint8, 6), 1}, ""},
		{&CSR{Rows: 2, Cols: 3}, ""},
		{none, "is nil"},
		{&Dense{2, 3, make([]float64, 5)}, "Data has 5 numbers, want 6 for 2 rows of 3 columns"},
		{&Dense{-1, -6, make([]float64, 6)}, "Data has 6 numbers"},
		{&Bytes{2, 3, make([]uint8, 7), 1}, "Data has 7 numbers"},
		{&Integers{}, "has no Values"},
		{&Integers{Values: &Bytes{1, 1, []uint8{1}, 1}}, "0 numbers for 1 columns"},
	} {
		if err := Check(c.m); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: %v, want %q", c.m, err, c.want)
		}
	}
}

// The first element that is not finite is found in each form.
func TestFirstNonFinite(t *testing.T) {
	big := &Dense{400, 100, make([]float64, 40000)}
	if _, _, _, ok := FirstNonFinite(big); ok {
		t.Error("a matrix of zeros")
	}
	big.Data[30107], big.Data[39999] = math.Inf(-1), math.NaN()
	sparse := &CSR{Rows: 3, Cols: 9, Starts: []int{0, 1, 1, 3}, Columns: []int32{2, 4, 7}, Values: []float64{1, 2, math.NaN()}}
	for _, c := range []struct {
		m        Matrix
		row, col int
	}{{big, 301, 7}, {sparse, 2, 7}} {
		if row, col, v, ok := FirstNonFinite(c.m); !ok || row != c.row || col != c.col || v-v == 0 {
			t.Errorf("%T: %d, %d, %v, %t", c.m, row, col, v, ok)
		}
	}
}
