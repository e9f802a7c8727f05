package tabular

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ppal/datasets/dataerr"
	"ppal/internal/vec"
)

// Split holds the percentages of a table's rows for training, validation and test. The zero value
// means DefaultSplit.
type Split struct{ Train, Validation, Test int }

// DefaultSplit is the split of a table if the options give no split.
var DefaultSplit = Split{70, 15, 15}

// SplitWithTestFile is the split if the options give no split and the test rows have a separate
// file.
var SplitWithTestFile = Split{80, 20, 0}

// PartNames are the names of the three sets of rows, in order.
var PartNames = [3]string{"training", "validation", "test"}

// ParseSplit parses a text such as "70/15/15", the output of String. It returns ErrSplit unless the
// text has three whole numbers that add up to 100 and the first number is positive.
func ParseSplit(text string) (Split, error) {
	var shares [3]int
	fields := strings.Split(text, "/")
	for i, field := range fields {
		n, err := strconv.ParseUint(field, 10, 7)
		if err != nil || len(fields) != len(shares) {
			return Split{}, fmt.Errorf("datasets: %w %q; want percentages of training, validation and test rows, as in %v",
				dataerr.ErrSplit, text, DefaultSplit)
		}
		shares[i] = int(n)
	}
	s := Split{shares[0], shares[1], shares[2]}
	return s, s.Check()
}

// String returns text such as "70/15/15".
func (s Split) String() string { return fmt.Sprintf("%d/%d/%d", s.Train, s.Validation, s.Test) }

// Shares returns the percentages.
func (s Split) Shares() [3]int { return [3]int{s.Train, s.Validation, s.Test} }

// Check returns ErrSplit unless the percentages add up to 100 and leave training rows.
func (s Split) Check() error {
	if s.Train <= 0 || s.Validation < 0 || s.Test < 0 || s.Train+s.Validation+s.Test != 100 {
		return fmt.Errorf("datasets: %w %v; the three percentages must add up to 100, and there must be training rows", dataerr.ErrSplit, s)
	}
	return nil
}

// splitStream separates the random stream of the split from other streams with the same seed.
const splitStream = 0x73706c6974

// Rows distributes the rows 0 to len(strata)-1 over the three sets. Within each stratum the choice
// is random. Each set gets its share of every stratum up to about one row, and its share of all
// rows up to one row. The rows of each set are in increasing order.
//
// The strata are shuffled and placed one after the other. Along this sequence the number of
// training rows equals its quota, rounded to the nearest integer. Among the other rows the number
// of validation rows follows its quota in the same way.
func (s Split) Rows(strata []int, seed uint64) [3][]int {
	line := stratified(strata, vec.NewStream(seed, splitStream))
	quota := func(i, share, rows int) int { return (2*i*share + rows) / (2 * rows) }
	partOf, sizes := make([]int8, len(line)), [3]int{}
	trained, rest, validated := 0, 0, 0 // numbers of training, other and validation rows so far
	for i, row := range line {
		part := 0
		if quota(i+1, s.Train, 100) > trained {
			trained++
		} else {
			part = 2
			if rest++; quota(rest, s.Validation, s.Validation+s.Test) > validated {
				part = 1
				validated++
			}
		}
		partOf[row] = int8(part)
		sizes[part]++
	}
	var parts [3][]int
	for p, n := range sizes {
		parts[p] = make([]int, 0, n)
	}
	for row, p := range partOf {
		parts[p] = append(parts[p], row)
	}
	return parts
}

// foldStream separates the random stream of the folds from other streams with the same seed.
const foldStream = 0x666f6c6473

// Folded distributes the training rows over the training and validation rows of TableOptions.Folds.
// strata holds the stratum of each row of the table.
func (o *TableOptions) Folded(train, strata []int, seed uint64) (parts [3][]int) {
	own := make([]int, len(train))
	for i, row := range train {
		own[i] = strata[row]
	}
	for at, i := range stratified(own, vec.NewStream(seed, foldStream)) {
		part := 0
		if at%o.Folds == o.Held-1 {
			part = 1
		}
		parts[part] = append(parts[part], train[i])
	}
	slices.Sort(parts[0])
	slices.Sort(parts[1])
	return parts
}

// stratified returns the rows stratum by stratum, each stratum in random order.
func stratified(strata []int, s vec.Stream) []int {
	line := make([]int, len(strata))
	if len(strata) == 0 {
		return line
	}
	least := slices.Min(strata)
	ends := make([]int, slices.Max(strata)-least+1) // of the strata in line
	for _, k := range strata {
		ends[k-least]++
	}
	end := 0
	for k, n := range ends {
		ends[k], end = end, end+n
	}
	for i, k := range strata {
		line[ends[k-least]] = i
		ends[k-least]++
	}
	from := 0
	for _, to := range ends {
		s.Shuffle(line[from:to])
		from = to
	}
	return line
}
