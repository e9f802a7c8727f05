package datasets

import (
	"math"
	"slices"
)

// countMissing returns the number of rows without a value.
func (c *column) countMissing() int {
	n := 0
	for i := range max(len(c.codes), len(c.numbers)) {
		if c.missing(i) {
			n++
		}
	}
	return n
}

// theMissing is the value of rows without a value, if they are flagged.
const theMissing = "missing"

// flagged returns the column with the category "missing" in place of missing values. If no value is
// missing, flagged returns c.
func (c *column) flagged() *column {
	if c.firstMissing() < 0 {
		return c
	}
	out := &column{name: c.name, codes: slices.Clone(c.codes), values: slices.Clone(c.values)}
	if c.codes == nil {
		distinct := slices.DeleteFunc(slices.Clone(c.numbers), math.IsNaN)
		slices.Sort(distinct)
		distinct = slices.Compact(distinct)
		for _, x := range distinct {
			out.values = append(out.values, c.spelling(x))
		}
		for _, x := range c.numbers {
			code, found := slices.BinarySearch(distinct, x)
			if !found {
				code = -1
			}
			out.codes = append(out.codes, int32(code))
		}
	}
	code := slices.Index(out.values, theMissing)
	if code < 0 {
		code = len(out.values)
		out.values = append(out.values, theMissing)
	}
	for i, own := range out.codes {
		if own == -1 {
			out.codes[i] = int32(code)
		}
	}
	return out
}

// missing reports whether the row has no value.
func (c *column) missing(row int) bool {
	if c.codes != nil {
		return c.codes[row] < 0 // missing, or not among the known categories
	}
	return math.IsNaN(c.numbers[row])
}
