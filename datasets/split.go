package datasets

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Split is how many of a table's rows, in percent, are for training,
// validation and test. The zero value means DefaultSplit.
type Split struct{ Train, Validation, Test int }

// DefaultSplit is the split of tables that are asked for without one.
var DefaultSplit = Split{70, 15, 15}

// partNames are the parts of a split, in order.
var partNames = [3]string{"training", "validation", "test"}

// ParseSplit reads a split as String writes it, "70/15/15". Anything but three
// whole numbers that add up to 100, the first of them positive, is ErrSplit.
func ParseSplit(text string) (Split, error) {
	var shares [3]int
	fields := strings.Split(text, "/")
	for i, field := range fields {
		n, err := strconv.ParseUint(field, 10, 7)
		if err != nil || len(fields) != len(shares) {
			return Split{}, fmt.Errorf("datasets: %w %q; want percentages of training, validation and test rows, as in %v",
				ErrSplit, text, DefaultSplit)
		}
		shares[i] = int(n)
	}
	s := Split{shares[0], shares[1], shares[2]}
	return s, s.check()
}

// String gives "70/15/15".
func (s Split) String() string { return fmt.Sprintf("%d/%d/%d", s.Train, s.Validation, s.Test) }

// shares lists the percentages.
func (s Split) shares() [3]int { return [3]int{s.Train, s.Validation, s.Test} }

func (s Split) check() error {
	if s.Train <= 0 || s.Validation < 0 || s.Test < 0 || s.Train+s.Validation+s.Test != 100 {
		return fmt.Errorf("datasets: %w %v; the three percentages must add up to 100, and there must be training rows", ErrSplit, s)
	}
	return nil
}

// splitStream tells the split's random stream from others of the same seed.
const splitStream = 0x73706c6974

// rows deals rows 0 to len(strata)-1 out to the parts, by their strata: within
// each stratum at random, and each part gets its share of every stratum up to a
// row or so, and of all rows up to one. The rows of a part increase.
//
// Strata are lined up, each shuffled; along the line the number of training
// rows follows its quota rounded to the nearest integer, and among the others
// the number of validation rows does.
func (s Split) rows(strata []int, seed uint64) [3][]int {
	line := stratified(strata, stream{rand.NewPCG(seed, splitStream)})
	n := len(line)
	quota := func(i, share, of int) int { return (2*i*share + of) / (2 * of) }
	parts := [3][]int{make([]int, 0, quota(n, s.Train, 100))}
	rest := 0
	for i, row := range line {
		part := 0
		if held := s.Validation + s.Test; quota(i+1, s.Train, 100) == quota(i, s.Train, 100) {
			part = 2
			if quota(rest+1, s.Validation, held) > quota(rest, s.Validation, held) {
				part = 1
			}
			rest++
		}
		parts[part] = append(parts[part], row)
	}
	for _, p := range parts {
		slices.Sort(p)
	}
	return parts
}

// stratified lists the rows stratum by stratum, each in random order.
func stratified(strata []int, s stream) []int {
	line := make([]int, len(strata))
	for i := range line {
		line[i] = i
	}
	slices.SortStableFunc(line, func(a, b int) int { return strata[a] - strata[b] })
	for from := 0; from < len(line); {
		to := from + 1
		for to < len(line) && strata[line[to]] == strata[line[from]] {
			to++
		}
		s.shuffle(line[from:to])
		from = to
	}
	return line
}

// shuffle puts the numbers in random order (Fisher and Yates).
func (s stream) shuffle(numbers []int) {
	for i := len(numbers) - 1; i > 0; i-- {
		j := s.below(i + 1)
		numbers[i], numbers[j] = numbers[j], numbers[i]
	}
}
