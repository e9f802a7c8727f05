package reproduce

import (
	"bytes"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ppal/datasets"
)

// conventions are ways to choose the ten thresholds of a column and to compare with them. The paper
// gives neither.
var conventions = []struct {
	text        string
	first, step float64 // the shares of the rows at the quantiles: first, first + step ...
	atLeast     bool    // a row is in a group if its value is at least the threshold, not above it
}{
	{"above the quantiles 5%, 15% ... 95%, as here", 0.05, 0.1, false},
	{"at or above the quantiles 0, 1/9 ... 1", 0, 1.0 / 9, true},
	{"at or above the quantiles 10%, 20% ... 100%", 0.1, 0.1, true},
}

// groupCounts says how many groups each convention keeps, and how many of them differ.
func groupCounts(f *Figure, dataDir string) error {
	set, err := datasets.Lookup(f.base["dataset"])
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(dataDir, filepath.FromSlash(set.Files[0].Path)))
	if err != nil {
		return nil //nolint:nilerr // the runs say that the file is missing
	}
	var columns [3][]float64
	for line := range bytes.Lines(text) {
		cells := strings.Split(strings.TrimSpace(string(line)), ",")
		for c, at := range []int{7, 10, 9} { // racepctblack, racePctHisp, racePctAsian
			if len(cells) <= at {
				return fmt.Errorf("reproduce: %s: a line of %d columns", set.Files[0].Path, len(cells))
			}
			v, err := strconv.ParseFloat(cells[at], 64)
			if err != nil {
				return fmt.Errorf("reproduce: %s: %w", set.Files[0].Path, err)
			}
			columns[c] = append(columns[c], v)
		}
	}
	var counts []string
	for _, c := range conventions {
		kept, differ := intersections(columns, c.first, c.step, c.atLeast)
		counts = append(counts, fmt.Sprintf("%s %d, of which %d differ", c.text, kept, differ))
	}
	f.Data = append(f.Data, fmt.Sprintf("The paper selects 535 of 1,000 groups. With all %d rows, more than 1%% of the rows have %s.", len(columns[0]), strings.Join(counts, "; ")))
	return nil
}

// intersections counts the combinations of one threshold for each column with more than 1% of the
// rows, and the different sets of rows among them.
func intersections(columns [3][]float64, first, step float64, atLeast bool) (kept, differ int) {
	var members [3][]*big.Int
	for c, values := range columns {
		sorted := slices.Sorted(slices.Values(values))
		for k := range 10 {
			at := min(1, first+float64(k)*step) * float64(len(sorted)-1)
			low, rows := int(at), new(big.Int)
			threshold := sorted[low] + (at-float64(low))*(sorted[min(low+1, len(sorted)-1)]-sorted[low])
			for i, v := range values {
				if v > threshold || atLeast && v == threshold {
					rows.SetBit(rows, i, 1)
				}
			}
			members[c] = append(members[c], rows)
		}
	}
	sets := map[string]bool{}
	for _, a := range members[0] {
		for _, b := range members[1] {
			for _, c := range members[2] {
				both := new(big.Int).And(a, b)
				both.And(both, c)
				n := 0
				for _, word := range both.Bits() {
					for ; word != 0; word &= word - 1 {
						n++
					}
				}
				if 100*n > len(columns[0]) {
					kept++
					sets[string(both.Bytes())] = true
				}
			}
		}
	}
	return kept, len(sets)
}
