package recordio

import (
	"slices"
	"testing"
)

// The fast parser of indicators takes the fields that it knows, and leaves the text from the first
// other field on.
func TestIndicators(t *testing.T) {
	for _, c := range []struct {
		text           string
		cols, previous int
		rest           string
		columns        []int32
	}{
		{"", 0, 3, "", nil},
		{" \t", 0, 0, "", nil},
		{" 1:1  19:1\t905:1 123456789:1", 0, 0, "", []int32{0, 18, 904, 123456788}},
		{"1:1 2:1 1234567890:1 7:1", 0, 0, "1234567890:1 7:1", []int32{0, 1}},
		{"   3:1 5:1 6:1", 5, 2, "6:1", []int32{2, 4}},
		{"3:1", 5, 3, "3:1", nil},
		{"0:1 2:1", 5, 0, "0:1 2:1", nil},
		{"1:1 :1 2:1", 5, 0, ":1 2:1", []int32{0}},
		{"1:1 x:1", 5, 0, "x:1", []int32{0}},
		{"1:1 2", 5, 0, "2", []int32{0}},
		{"1:1 2:", 5, 0, "2:", []int32{0}},
		{"1:1 2:10 3:1", 5, 0, "2:10 3:1", []int32{0}},
		{"1:1 2:2 3:1", 5, 0, "2:2 3:1", []int32{0}},
		{"1:1 2x1 3:1", 5, 0, "2x1 3:1", []int32{0}},
	} {
		s, e := &SparseReader{Cols: c.cols}, &Entries{Largest: 2}
		rest, last := s.indicators(e, []byte(c.text), c.previous)
		want := c.previous
		if len(c.columns) > 0 {
			want = int(c.columns[len(c.columns)-1]) + 1
		}
		if string(rest) != c.rest || last != want || !slices.Equal(e.Columns, c.columns) || e.Largest != max(2, want) {
			t.Errorf("%q: columns %v, last %d, largest %d, rest %q", c.text, e.Columns, last, e.Largest, rest)
		}
	}
}
