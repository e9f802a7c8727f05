package kernels

import (
	"fmt"

	"ppal/cuda/driver"
)

// BFloat16s are row-major matrices of bfloat16 on the device, of one shape and stride: the terms of a sum, the largest first.
type BFloat16s struct {
	At     []driver.Pointer
	Stride int
}

// WidenBFloat16 sets to (one matrix, rows x cols) = from, bytes without gaps: every byte is a bfloat16.
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

// SplitBFloat16 cuts b into two or three terms: b = b1 + b2 (+ b3), each the nearest bfloat16 of what the ones before it leave, so that
// two leave out at most 2^-16 of b, and three of 8 bits have all 24 of a float32's. With them, products of bytes with b run on tensor cores
// (Henry, Tang and Heinecke, 2019).
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

// bytes is the memory of a matrix.
func (m BFloat16s) bytes(rows, cols int) int { return 2 * ((rows-1)*m.Stride + cols) }
