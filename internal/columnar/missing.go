package columnar

import (
	"math"
	"slices"
)

// CountMissing returns the number of rows without a value.
func (c *Column) CountMissing() int {
	n := 0
	for _, code := range c.Codes {
		if code < 0 {
			n++
		}
	}
	for _, x := range c.Numbers {
		if math.IsNaN(x) {
			n++
		}
	}
	return n
}

// TheMissing is the value of rows without a value, if they are flagged.
const TheMissing = "missing"

// Flagged returns the column with the category "missing" in place of missing values. If no value is
// missing, Flagged returns c.
func (c *Column) Flagged() *Column {
	if c.FirstMissing() < 0 {
		return c
	}
	out := &Column{Name: c.Name, Codes: slices.Clone(c.Codes), Values: slices.Clone(c.Values)}
	if c.Codes == nil {
		distinct := slices.DeleteFunc(slices.Clone(c.Numbers), math.IsNaN)
		slices.Sort(distinct)
		distinct = slices.Compact(distinct)
		for _, x := range distinct {
			out.Values = append(out.Values, c.spelling(x))
		}
		for _, x := range c.Numbers {
			code, found := slices.BinarySearch(distinct, x)
			if !found {
				code = -1
			}
			out.Codes = append(out.Codes, int32(code))
		}
	}
	code := slices.Index(out.Values, TheMissing)
	if code < 0 {
		code = len(out.Values)
		out.Values = append(out.Values, TheMissing)
	}
	for i, own := range out.Codes {
		if own == -1 {
			out.Codes[i] = int32(code)
		}
	}
	return out
}

// Missing reports whether the row has no value.
func (c *Column) Missing(row int) bool {
	if c.Codes != nil {
		return c.Codes[row] < 0 // missing, or not among the known categories
	}
	return math.IsNaN(c.Numbers[row])
}
