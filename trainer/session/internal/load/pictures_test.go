package load

import (
	"slices"
	"testing"

	"ppal/datasets"
	"ppal/datasets/tabular"
	"ppal/internal/require"
)

// A process that shares the rows keeps its own rows of each split, with the pixels and the moments
// of a process that has all rows.
func TestSharedPictures(t *testing.T) {
	read := func(own func(n int) (from, to int)) *Pictures {
		train, test, err := datasets.OpenImages("", "synthetic", 1)
		require.NoError(t, err)
		p := require.Value(readPictures(train, test, Choice{Dataset: "synthetic", Classes: []int{2, 0}, RowsPerClass: 50, Split: tabular.Split{Train: 80, Validation: 20}, Seed: 3},
			Place{Own: own}))(t)
		return p
	}
	all, third := read(nil), read(func(n int) (from, to int) { return n / 3, 2 * n / 3 })
	if all.Train.Rows() != 80 || all.Validation.Rows() != 20 || !slices.Equal(all.Center, third.Center) || all.Deviation != third.Deviation {
		t.Errorf("%d training and %d validation rows, deviations %v and %v", all.Train.Rows(), all.Validation.Rows(), all.Deviation, third.Deviation)
	}
	for k, part := range third.parts() {
		whole, local := all.parts()[k], part.Pixels.(localPixels)
		n, cols := whole.Pixels.Dims()
		want, got := make([]uint8, cols), make([]uint8, cols)
		for i := range n {
			if own := i >= n/3 && i < 2*n/3; local.Has(i) != own {
				t.Fatalf("part %d has row %d: %v, want %v", k, i, !own, own)
			} else if own && !slices.Equal(whole.Pixels.ByteRow(i, want), local.ByteRow(i, got)) {
				t.Fatalf("part %d, row %d: other pixels", k, i)
			}
		}
	}
}
