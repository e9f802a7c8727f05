package kernels

import (
	"errors"

	"ppal/cuda/driver"
)

// Slices are where a matrix lies, cut for products with 8-bit data: as terms of bfloat16 or as digits. The zero value is nowhere.
type Slices struct {
	Terms  BFloat16s
	Digits Digits
}

// given says whether there is a place.
func (p Slices) given() bool { return len(p.Terms.At) > 0 || p.Digits.given() }

// Cut cuts b (its transpose, with transposed) whose rows are the indices of the products' sums.
func (s *Set) Cut(q Queue, to Slices, b Operand, transposed bool) error {
	if to.Digits.given() {
		return s.CutDigits(q, to.Digits, b, transposed)
	}
	return s.SplitBFloat16(q, to.Terms, b)
}

// errFloat64 is the error of quantizing a matrix of a float64 plan.
var errFloat64 = errors.New("kernels: digits and terms of bfloat16 are for float32")

// check refuses places for matrices of float64, whose kernels write neither digits nor terms.
func (p Slices) check(t Dtype) error {
	if p.given() && t != Float32 {
		return errFloat64
	}
	return nil
}

// terms adds where terms of rows x cols go, addresses of 0 where there are fewer than three.
func (c *call) terms(to BFloat16s, rows, cols int) {
	for k := range 3 {
		at := driver.Pointer(0)
		if k < len(to.At) {
			at = to.At[k]
		}
		c.writing(at, to.bytes(rows, cols))
	}
	c.ints(to.Stride)
}

// digits adds where digits go.
func (c *call) digits(to Digits) {
	c.writing(to.At, to.Bytes())
	c.writing(to.Units, to.columnBytes())
	c.writing(to.Offsets, to.columnBytes())
	c.shape(to)
}

// shape adds the digits' numbers.
func (c *call) shape(d Digits) {
	c.ints(d.Slices, d.Width, d.Length)
	c.args = append(c.args, driver.Float64Arg(d.Scale))
}

// flag adds a yes or no.
func (c *call) flag(on bool) {
	n := 0
	if on {
		n = 1
	}
	c.ints(n)
}
