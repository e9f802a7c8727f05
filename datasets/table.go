package datasets

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"

	"ppal/datasets/matrix"
)

// Table is rows of features with a label each, and groups of rows that
// constraints speak of.
type Table struct {
	Features matrix.Matrix // *CSR of Adult and LIBSVM files, else *Dense; numbers are standardised (see Preparation)
	Columns  []string      // names of the features
	Labels   []int         // one a row: +1 or -1
	Classes  [2]string     // what -1 and +1 stand for
	Groups   []Group       // two that share the rows out, or any number that may overlap
	Source   []int         // where each row came from: its number in the file, or in the files one after the other, from 0
}

// Group is a named set of rows, which increase.
type Group struct {
	Name string
	Rows []int
	// Levels describe an intersectional group: the quantile, in (0, 1), that each of its columns is above. Nil for other groups.
	Levels []float64
}

// Rows is the number of rows.
func (t *Table) Rows() int { return len(t.Labels) }

// ClassCounts returns how many rows have the label -1, and how many +1.
func (t *Table) ClassCounts() [2]int {
	var counts [2]int
	for _, y := range t.Labels {
		counts[class(y)]++
	}
	return counts
}

// class is a label's place in Classes.
func class(label int) int {
	if label > 0 {
		return 1
	}
	return 0
}

// Partition returns the two groups that every row is in one of: the one whose
// condition was given, or the first, and the rest. Other groups than two, or
// two that overlap or leave rows out, are ErrGroup.
func (t *Table) Partition() (protected, rest Group, err error) {
	if len(t.Groups) != 2 {
		return Group{}, Group{}, fmt.Errorf("datasets: %w: the table has %d groups, want one and the rest; name one, as in column=value",
			ErrGroup, len(t.Groups))
	}
	if _, ok := exclusive(t.Groups, t.Rows()); !ok {
		return Group{}, Group{}, fmt.Errorf("datasets: %w: %s and %s do not share the rows out; name one of them alone",
			ErrGroup, t.Groups[0].Name, t.Groups[1].Name)
	}
	return t.Groups[0], t.Groups[1], nil
}

// exclusive returns the one group of each row; not ok where some row is in
// none or in several.
func exclusive(groups []Group, rows int) (of []int, ok bool) {
	total := 0
	of = make([]int, rows)
	for k, g := range groups {
		total += len(g.Rows)
		for _, r := range g.Rows {
			if of[r] != 0 {
				return nil, false
			}
			of[r] = k + 1
		}
	}
	return of, total == rows
}

// SHA256 is the checksum of the features, labels and groups as they stand
// here, in hexadecimal. Where features were standardised, machines that round
// differently may disagree about it.
func (t *Table) SHA256() string {
	h := sha256.New()
	word := func(v uint64) {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], v)
		h.Write(b[:])
	}
	rows, cols := t.Features.Dims()
	word(uint64(rows))
	word(uint64(cols))
	row := make([]float64, cols)
	for i := range rows {
		t.Features.Float64(row, i, i+1)
		for j, x := range row {
			if x != 0 {
				word(uint64(j))
				word(math.Float64bits(x))
			}
		}
		word(uint64(int64(t.Labels[i])))
	}
	for _, g := range t.Groups {
		word(uint64(len(g.Rows)))
		for _, r := range g.Rows {
			word(uint64(r))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
