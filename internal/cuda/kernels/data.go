package kernels

import (
	"ppal/internal/cuda/driver"
)

// Widen sets to (rows x cols) = scale from, where from holds bytes without gaps.
func (s *Set) Widen(q Queue, to Operand, from driver.Pointer, scale float64) error {
	if to.Rows == 0 || to.Cols == 0 {
		return nil
	}
	c := &call{name: "widen"}
	c.grid, c.block = tiles(to.Rows, to.Cols, 8)
	c.out(s, to)
	c.reading(from, to.Rows*to.Cols)
	c.args = append(c.args, driver.Float64Arg(scale))
	c.ints(to.Rows, to.Cols)
	return s.launch(q, c)
}

// Round sets to (rows x cols) to the float64 numbers at from, which have no gaps, rounded to the
// elements' type.
func (s *Set) Round(q Queue, to Operand, from driver.Pointer) error {
	if to.Rows == 0 || to.Cols == 0 {
		return nil
	}
	c := &call{name: "round_to"}
	c.grid, c.block = tiles(to.Rows, to.Cols, 4)
	c.out(s, to)
	c.reading(from, 8*to.Rows*to.Cols)
	c.ints(to.Rows, to.Cols)
	return s.launch(q, c)
}

// Addresses returns the table of the addresses of the matrices' elements, row by row, for Pack and
// Unpack.
func (s *Set) Addresses(operands ...Operand) []byte {
	t := newTable(0)
	for _, o := range operands {
		list := make([]int, 0, o.Cols)
		for i := range o.Rows {
			list = list[:0]
			for j := range o.Cols {
				list = append(list, int(o.At.Offset((i*o.Stride+j)*s.dtype.Size())))
			}
			t.int64s(list)
		}
	}
	return t.bytes
}

// Pack writes the elements of the matrices to to, as float64: f and g, for one download. table is
// the address of the Addresses of the same matrices.
func (s *Set) Pack(q Queue, to, table driver.Pointer, operands ...Operand) error {
	return s.gather(q, "pack", to, table, operands)
}

// Unpack sets the elements of the matrices to the float64 numbers at from, in the order of Pack:
// the coefficients of a backward pass.
func (s *Set) Unpack(q Queue, from, table driver.Pointer, operands ...Operand) error {
	return s.gather(q, "unpack", from, table, operands)
}

func (s *Set) gather(q Queue, name string, numbers, table driver.Pointer, operands []Operand) error {
	n := 0
	c := &call{name: name}
	for _, o := range operands {
		n += o.Rows * o.Cols
		if name == "pack" {
			c.reads = append(c.reads, s.span(o))
		} else {
			c.writes = append(c.writes, s.span(o))
		}
	}
	if n == 0 {
		return nil
	}
	c.grid, c.block = line(n)
	if name == "pack" {
		c.writing(numbers, 8*n)
	} else {
		c.reading(numbers, 8*n)
	}
	c.reading(table, 8*n)
	c.ints(n)
	return s.launch(q, c)
}
