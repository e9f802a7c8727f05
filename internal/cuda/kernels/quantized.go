package kernels

import (
	"errors"
	"fmt"

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

// BFloat16s is a sum of row-major bfloat16 matrices on the device, which have one shape and one
// stride; the largest term is first.
type BFloat16s struct {
	At     []driver.Pointer
	Stride int
}

// WidenBFloat16 sets to (one matrix, rows x cols) = from. The bytes at from have no gaps; bfloat16
// holds every byte exactly.
func (s *Set) WidenBFloat16(q Queue, to BFloat16s, from driver.Pointer, rows, cols int) error {
	if rows == 0 || cols == 0 {
		return nil
	}
	c := &call{name: "widen_bf16"}
	c.grid, c.block = tiles(rows, cols, 8)
	c.writing(to.At[0], to.bytes(rows, cols))
	c.ints(to.Stride)
	c.reading(from, rows*cols)
	c.ints(rows, cols)
	return s.launch(q, c)
}

// SplitBFloat16 splits b into two or three terms, b = b1 + b2 (+ b3). Each term is the bfloat16
// nearest to the remainder of the terms before it. Two terms leave a relative error of at most
// 2^-16; three terms of 8 bits hold all 24 bits of a float32. Products of bytes with the terms run
// on tensor cores (Henry, Tang and Heinecke, 2019).
func (s *Set) SplitBFloat16(q Queue, to BFloat16s, b Operand) error {
	if len(to.At) < 1 || len(to.At) > 3 {
		return fmt.Errorf("kernels: %d terms of bfloat16, want 1 to 3", len(to.At))
	}
	if b.Rows == 0 || b.Cols == 0 {
		return nil
	}
	c := &call{name: "split_bf16"}
	c.grid, c.block = tiles(b.Rows, b.Cols, 4)
	c.in(s, b)
	c.terms(to, b.Rows, b.Cols)
	c.ints(b.Rows, b.Cols)
	return s.launch(q, c)
}

// AddParts sets out = sum_k part_k, or out = out + sum_k part_k with add. The count matrices of
// float32 and of out's shape lie one after the other at part, without gaps. They are added in order
// in float64, and the sum is rounded once.
func (s *Set) AddParts(q Queue, part driver.Pointer, count int, out Operand, add bool) error {
	size := out.Rows * out.Cols
	if size == 0 {
		return nil
	}
	c := &call{name: "add_parts"}
	c.grid, c.block = line(size)
	c.reading(part, 4*count*size)
	c.ints(count)
	if add {
		c.inPlace(s, out)
	} else {
		c.out(s, out)
	}
	c.ints(out.Rows, out.Cols)
	c.flag(add)
	return s.launch(q, c)
}

// bytes returns the size of one term.
func (m BFloat16s) bytes(rows, cols int) int { return 2 * ((rows-1)*m.Stride + cols) }
