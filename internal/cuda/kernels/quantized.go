package kernels

import (
	"errors"

	"ppal/internal/cuda/driver"
)

// Quantized is the place of a matrix that is quantized for products with 8-bit data, into bfloat16
// terms or into int8 digits. The zero value means that no place is given.
type Quantized struct {
	Terms  BFloat16s
	Digits Digits
}

// isSet reports whether a place is given.
func (p Quantized) isSet() bool { return len(p.Terms.At) > 0 || p.Digits.isSet() }

// Quantize quantizes b, or b's transpose if transposed is set. The rows are the indices of the
// products' sums.
func (s *Set) Quantize(q Queue, to Quantized, b Operand, transposed bool) error {
	if to.Digits.isSet() {
		return s.QuantizeDigits(q, to.Digits, b, transposed)
	}
	return s.SplitBFloat16(q, to.Terms, b)
}

// errFloat64 is the error of quantizing a float64 matrix.
var errFloat64 = errors.New("kernels: int8 digits and bfloat16 terms are for float32")

// check refuses a place for a float64 matrix: float64 kernels write neither digits nor terms.
func (p Quantized) check(t Dtype) error {
	if p.isSet() && t != Float32 {
		return errFloat64
	}
	return nil
}

// terms adds the places of terms of rows x cols; the addresses of missing terms are 0.
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

// digits adds the place of digits.
func (c *call) digits(to Digits) {
	c.writing(to.At, to.Bytes())
	c.writing(to.Units, to.columnBytes())
	c.writing(to.Offsets, to.columnBytes())
	c.shape(to)
}

// shape adds the numbers that describe digits.
func (c *call) shape(d Digits) {
	c.ints(d.Count, d.Width, d.Length)
	c.args = append(c.args, driver.Float64Arg(d.Scale))
}

// flag adds a truth value.
func (c *call) flag(on bool) {
	n := 0
	if on {
		n = 1
	}
	c.ints(n)
}
