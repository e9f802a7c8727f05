package matrix

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A part has its rows of the whole matrix, and no others.
func TestPart(t *testing.T) {
	own := &Bytes{Rows: 3, Cols: 2, Data: []uint8{1, 2, 3, 4, 5, 6}, Scale: 0.5}
	bytes := NewEightBitPart(9, 4, own)
	for _, p := range []*Part{{Rows: 9, From: 4, Own: own}, &bytes.Part} {
		if rows, cols := p.Dims(); rows != 9 || cols != 2 {
			t.Errorf("%d x %d", rows, cols)
		}
		for i := range 9 {
			if p.Has(i) != (i >= 4 && i < 7) {
				t.Errorf("row %d: %t", i, p.Has(i))
			}
		}
		wide, narrow := make([]float64, 6), make([]float32, 4)
		p.Float64(wide, 4, 7)
		p.Float32(narrow, 5, 7)
		if diff := cmp.Diff([]float64{0.5, 1, 1.5, 2, 2.5, 3}, wide) + cmp.Diff([]float32{1.5, 2, 2.5, 3}, narrow); diff != "" {
			t.Error(diff)
		}
		p.Float64(nil, 0, 0) // no rows
		p.Float32(nil, 9, 9)
		for _, c := range []struct {
			length, from, to int
			want             string
		}{
			{4, 3, 5, "rows [3, 5) of a part that has the rows [4, 7)"}, {4, 6, 8, "rows [6, 8) of a part that has the rows [4, 7)"},
			{2, 0, 0, "destination holds 2 values"}, {2, 8, 10, "rows [8, 10) of a matrix of 9 rows"},
		} {
			if said := panics(func() { p.Float64(make([]float64, c.length), c.from, c.to) }); !strings.Contains(said, c.want) {
				t.Errorf("%+v: %s", c, said)
			}
		}
	}
	if row := bytes.ByteRow(5, nil); bytes.ByteScale() != 0.5 || !cmp.Equal(row, []uint8{3, 4}) {
		t.Errorf("scale %v, row %v", bytes.ByteScale(), row)
	}
}
