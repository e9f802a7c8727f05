package tabular

import (
	"slices"
	"testing"
)

// The folds divide the training rows, with about the same share of each stratum, and no other row
// is in them.
func TestFolded(t *testing.T) {
	var train, strata []int
	for row := range 100 {
		strata = append(strata, row%5/4) // a fifth of the rows is in stratum 1
		if row%10 < 7 {
			train = append(train, row)
		}
	}
	var held []int
	for k := 1; k <= 4; k++ {
		o := TableOptions{Folds: 4, Held: k}
		parts := o.Folded(train, strata, 3)
		if all := slices.Sorted(slices.Values(slices.Concat(parts[0], parts[1]))); !slices.Equal(all, train) || parts[2] != nil {
			t.Fatalf("fold %d has the rows %v", k, parts)
		}
		small := 0
		for _, row := range parts[1] {
			small += strata[row]
		}
		if n := len(parts[1]); n < 17 || n > 18 || small < 2 || small > 3 || !slices.IsSorted(parts[0]) || !slices.IsSorted(parts[1]) {
			t.Errorf("fold %d has %d rows, %d of the small stratum", k, n, small)
		}
		held = append(held, parts[1]...)
	}
	if slices.Sort(held); !slices.Equal(held, train) {
		t.Errorf("the folds hold %v", held)
	}
}
