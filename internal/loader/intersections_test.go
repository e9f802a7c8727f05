package loader

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/internal/datatest"
	"ppal/internal/require"
)

func TestQuantile(t *testing.T) {
	sorted := []float64{1, 2, 4, 8, 16}
	for q, want := range map[int]float64{0: 1, 5: 1.2, 25: 2, 50: 4, 60: 5.6, 95: 14.4, 100: 16} {
		if got := Quantile(sorted, q); math.Abs(got-want) > 1e-14 {
			t.Errorf("percentile %d is %v, want %v", q, got, want)
		}
	}
	if got := Quantile([]float64{3}, 95); got != 3 {
		t.Errorf("of one number: %v", got)
	}
}

// Of 200 training rows with x = y = 0 ... 199, the quantile q is at 199 q/100,
// and the intersection of two is the set above the larger. Above q05 there are
// 190 rows, above q15 170, ... above q95 10: of the 10 x 10 combinations all
// have more than two rows, and ten of them differ.
func TestIntersections(t *testing.T) {
	by := &Intersections{Names: []string{"x", "y"}, Values: make([][]float64, 2)}
	var train []int
	for i := range 300 { // the last hundred rows are held out, with values above all training rows
		v := float64(i)
		if i >= 200 {
			v = 1e6
		} else {
			train = append(train, i)
		}
		by.Values[0], by.Values[1] = append(by.Values[0], v), append(by.Values[1], v)
	}
	groups, note, err := by.Groups(train)
	require.NoError(t, err)
	if note != "100 of 100 intersectional groups have more than 1 % of the training rows; 10 of them differ." {
		t.Error(note)
	}
	for k, g := range groups {
		a, b := k/10, k%10
		if want := fmt.Sprintf("x>q%02d & y>q%02d", 5+10*a, 5+10*b); g.Name != want {
			t.Errorf("group %d is %s, want %s", k, g.Name, want)
		}
		if want := []string{fmt.Sprintf("x>%g", 1.99*float64(5+10*a)), fmt.Sprintf("y>%g", 1.99*float64(5+10*b))}; !slices.Equal(g.Conditions, want) {
			t.Errorf("%s: conditions %q, want %q", g.Name, g.Conditions, want)
		}
		above := 190 - 20*max(a, b)
		if len(g.Rows) != above+100 || g.Rows[0] != 200-above || !slices.IsSorted(g.Rows) {
			t.Errorf("%s: %d rows from %d on, want %d", g.Name, len(g.Rows), g.Rows[0], above+100)
		}
	}
}

// TestIntersectionsAreStrict checks that rows at a quantile are not above the quantile, and that a
// group of exactly a hundredth of the training rows is not kept.
func TestIntersectionsAreStrict(t *testing.T) {
	by := &Intersections{Names: []string{"x"}, Values: [][]float64{slices.Repeat([]float64{0}, 200)}}
	var train []int
	for i := range 200 {
		train = append(train, i)
	}
	by.Values[0][7], by.Values[0][8] = 1, 1 // 1 % of the rows
	_, _, err := by.Groups(train)
	datatest.CheckError(t, err, dataerr.ErrGroup, "no intersection of x has more than 1 % of the training rows")
	by.Values[0][9] = 1
	groups, note, err := by.Groups(train)
	if err != nil || note != "10 of 10 intersectional groups have more than 1 % of the training rows; 1 of them differ." {
		t.Error(note, err)
	}
	if diff := cmp.Diff([]int{7, 8, 9}, groups[9].Rows); diff != "" {
		t.Error(diff)
	}
}
