package picture

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/internal/datatest"
	"ppal/internal/require"
)

// fewImages returns images of one pixel. The pixel holds the row's number.
func fewImages() *Images {
	return &Images{
		Pixels:  &matrix.Bytes{Rows: 7, Cols: 1, Data: []uint8{0, 1, 2, 3, 4, 5, 6}, Scale: PixelScale},
		Labels:  []uint8{2, 0, 1, 2, 0, 2, 0},
		Classes: []string{"a", "b", "c", "d"},
		Shape:   Shape{Height: 1, Width: 1, Channels: 1},
	}
}

func TestSelect(t *testing.T) {
	for _, test := range []struct {
		name    string
		classes []int
		rows    int
		want    Selection
		labels  []int
	}{
		{"all rows, order given", []int{2, 0}, 0, Selection{
			Pixels: &matrix.Bytes{Rows: 6, Cols: 1, Data: []uint8{0, 3, 5, 1, 4, 6}, Scale: PixelScale},
			Names:  []string{"c", "a"}, Offsets: []int{0, 3, 6}, Source: []int{0, 3, 5, 1, 4, 6}}, []int{0, 0, 0, 1, 1, 1}},
		{"first two of each, what there is of b", []int{0, 1, 2}, 2, Selection{
			Pixels: &matrix.Bytes{Rows: 5, Cols: 1, Data: []uint8{1, 4, 2, 0, 3}, Scale: PixelScale},
			Names:  []string{"a", "b", "c"}, Offsets: []int{0, 2, 3, 5}, Source: []int{1, 4, 2, 0, 3}}, []int{0, 0, 1, 2, 2}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := require.Value(Select(fewImages(), test.classes, test.rows))(t)
			test.want.Classes = test.classes
			if diff := cmp.Diff(&test.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.labels, got.Labels()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSelectErrors(t *testing.T) {
	bad := fewImages()
	bad.Labels[3] = 9
	next := fewImages()
	next.Labels[3] = 4
	for _, test := range []struct {
		name    string
		set     *Images
		classes []int
		rows    int
		want    error
		text    string
	}{
		{"absent", fewImages(), []int{0, 3}, 0, dataerr.ErrClass, "class 3 (d) has no rows here; choose from [0 1 2]"},
		{"repeated", fewImages(), []int{0, 1, 0}, 0, dataerr.ErrClass, "class 0 is given twice"},
		{"one class", fewImages(), []int{0}, 0, dataerr.ErrClass, "1 classes given"},
		{"no class", fewImages(), nil, 0, dataerr.ErrClass, "0 classes given"},
		{"undeclared", fewImages(), []int{0, 4}, 0, dataerr.ErrClass, "class 4 is not declared; choose from 0 to 3"},
		{"negative class", fewImages(), []int{-1, 1}, 0, dataerr.ErrClass, "class -1"},
		{"negative rows", fewImages(), []int{0, 1}, -1, dataerr.ErrClass, "-1 rows per class"},
		{"label", bad, []int{0, 1}, 0, dataerr.ErrLabel, "row 3: label out of range: label 9"},
		{"the label after the last", next, []int{0, 1}, 0, dataerr.ErrLabel, "row 3: label out of range: label 4, classes 0 to 3 are declared"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Select(test.set, test.classes, test.rows)
			datatest.CheckError(t, err, test.want, test.text)
		})
	}
}
