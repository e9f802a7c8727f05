package matrix

import (
	"math"
	"testing"
)

// Moments of entries are those of all elements, zeros included.
func TestCSRMoments(t *testing.T) {
	for _, x := range []*CSR{
		{Rows: 3, Cols: 4, Starts: []int{0, 2, 2, 3}, Columns: []int32{0, 3, 1}, Values: []float64{2, -1, 0.5}},
		{Rows: 4, Cols: 2, Starts: []int{0, 1, 2, 4, 4}, Columns: []int32{0, 0, 0, 1}},
		{Rows: 2, Cols: 1, Starts: []int{0, 1, 2}, Columns: []int32{0, 0}, Values: []float64{3, 3}},
		{Rows: 2, Cols: 2, Starts: []int{0, 0, 0}},
		{Cols: 2, Starts: []int{0}},
	} {
		center, deviation := Moments(x)
		want, wantDeviation := blockMoments(x)
		if !(math.Abs(deviation-wantDeviation) <= 1e-15) {
			t.Errorf("deviation %v, want %v", deviation, wantDeviation)
		}
		for j := range want {
			if !(math.Abs(center[j]-want[j]) <= 1e-15) {
				t.Errorf("centre %v, want %v", center, want)
			}
		}
	}
	center, deviation := Moments(&CSR{Rows: 4, Cols: 1, Starts: []int{0, 1, 1, 1, 1}, Columns: []int32{0}, Values: []float64{8}})
	if center[0] != 2 || deviation != math.Sqrt(12) { // 8, 0, 0, 0: squares about 2 are 36, 4, 4, 4
		t.Errorf("centre %v, deviation %v", center, deviation)
	}
}
