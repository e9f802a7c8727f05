package datasets

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

// Rows of several chunks are in the order of the file, with its categories and row numbers, also if
// rows are dropped.
func TestReadSheetChunks(t *testing.T) {
	const rows = 60000
	category := func(i int) string { return fmt.Sprintf("k%03d", (i/1000*37+i%5)%200) } // other categories in each chunk
	var text strings.Builder
	text.WriteString("x,c,free,gap\n")
	for i := range rows {
		gap := "1"
		if i%7 == 3 {
			gap = "?"
		}
		fmt.Fprintf(&text, "%d.5,%s,%d,%s\n", i, category(i), rows-i, gap)
	}
	for _, drop := range []bool{false, true} {
		s, err := readSheet(strings.NewReader(text.String()), "file", &schema{absent: []string{"?"}, drop: drop, columns: []columnSpec{
			{name: "x", numeric: true}, {name: "c"}, {name: "free", free: true}, {name: "gap", numeric: true, missing: !drop},
		}})
		if err != nil {
			t.Fatal(err)
		}
		row := 0
		for i := range rows {
			missing := i%7 == 3
			if drop && missing {
				continue
			}
			x, c, free, gap := s.columns[0], s.columns[1], s.columns[2], s.columns[3]
			if x.numbers[row] != float64(i)+0.5 || c.text(row) != category(i) || free.numbers[row] != float64(rows-i) ||
				math.IsNaN(gap.numbers[row]) != missing || s.number(row) != i {
				t.Fatalf("drop %v: row %d: %v, %s, %v, %v, number %d", drop, i, x.numbers[row], c.text(row), free.numbers[row], gap.numbers[row], s.number(row))
			}
			row++
		}
		if s.rows != row {
			t.Errorf("drop %v: %d rows, want %d", drop, s.rows, row)
		}
	}
}

// The first value that makes too many categories is reported, of all columns and chunks, unless
// another error precedes it.
func TestReadSheetFirstOfTooManyCategories(t *testing.T) {
	const rows = 30000
	text := func(first, second, wrong int) string {
		var text strings.Builder
		text.WriteString("a,b,x\n")
		category := func(i, most int) string { // the row most has one category too many
			if i < most {
				return fmt.Sprint("k", i%maxCategories)
			}
			return fmt.Sprint("n", i-most)
		}
		for i := range rows {
			x := "0"
			if i == wrong {
				x = "zero"
			}
			fmt.Fprintf(&text, "%s,%s,%s\n", category(i, first), category(i, second), x)
		}
		return text.String()
	}
	for _, tc := range []struct {
		first, second, wrong int
		want                 error
		line, column         int
	}{
		{20000, 20100, rows, ErrColumn, 20002, 1},
		{20100, 20000, rows, ErrColumn, 20002, 2},
		{20000, 20000, rows, ErrColumn, 20002, 1},
		{20000, 20000, 20000, ErrColumn, 20002, 1},
		{20000, 20000, 19999, ErrNumber, 20001, 3},
		{20000, 20000, 20001, ErrColumn, 20002, 1},
	} {
		_, err := readSheet(strings.NewReader(text(tc.first, tc.second, tc.wrong)), "file",
			&schema{columns: []columnSpec{{name: "a"}, {name: "b"}, {name: "x", numeric: true}}})
		var at *FileError
		if !errors.As(err, &at) || !errors.Is(err, tc.want) || at.Line != tc.line || at.Column != tc.column {
			t.Errorf("%+v: %v", tc, err)
		}
	}
}

// The row of a number that is too large is found in any block of rows.
func TestFirstInfiniteFeature(t *testing.T) {
	const rows, wrong = 50000, 30000
	s := &sheet{name: "file", rows: rows, columns: []*column{{name: "x", numbers: make([]float64, rows)}, {name: "z", numbers: make([]float64, rows)}}}
	s.columns[1].numbers[wrong], s.columns[0].numbers[wrong+9] = 1e300, 1e300
	p := &Preparation{Encodings: []Encoding{{Column: "x", Scale: 1e-10}, {Column: "z", Scale: 1e-10}}}
	all := make([]int, rows)
	for i := range all {
		all[i] = i
	}
	_, err := p.features(s, all)
	checkFileError(t, err, ErrNumber, fmt.Sprintf(`row %d of "z" is out of range once standardised`, wrong+1))
}
