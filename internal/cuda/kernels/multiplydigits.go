package kernels

import "fmt"

// The elements of a product that a block of multiply_digits computes.
const (
	digitsRows    = 128
	digitsColumns = 64
)

// MultiplyDigits computes the product of 8-bit data and digits that p describes, without Sums:
//
//	Out = f(Out + X Digits + 1 Bias)
//
// It multiplies on integer tensor cores (compute capability 8.0), by warps or, on compute
// capability 9.0, by warpgroups, and keeps the digits' sums in registers. An element with one block
// of indices has the bits that a product of integers and Dequantize give. With several blocks, the
// products of the blocks are added in order as float64.
//
// The stored bytes of X are the data minus 128, as for other products: tensor cores multiply signed
// and unsigned bytes at the same rate, and the offsets of the columns restore the 128.
func (s *Set) MultiplyDigits(q Queue, p Dequantize) error {
	if p.Out.Rows == 0 || p.Out.Cols == 0 {
		return nil
	}
	d := p.Digits
	if d.Blocks > maxGrid {
		return fmt.Errorf("kernels: digits in %d blocks, want at most %d", d.Blocks, maxGrid)
	}
	c := &call{name: fmt.Sprintf("%s_%d", s.multiplier(), d.Count)}
	c.grid = [3]int{ceil(p.Out.Cols, digitsColumns) * ceil(p.Out.Rows, digitsRows), 1, d.Blocks}
	c.block = [3]int{blockSize, 1, 1}
	c.reading(p.X.At, (p.Out.Rows-1)*p.X.Stride+d.Blocks*d.Length)
	c.ints(p.X.Stride)
	c.reading(d.At, d.Bytes())
	c.reading(d.Units, d.columnBytes())
	c.reading(d.Offsets, d.columnBytes())
	c.shape(d)
	c.ints(d.Blocks, d.Inner)
	c.strided(s, p.B, p.Transposed)
	if d.Blocks == 1 {
		c.result(s, p)
		c.ints(0) // no parts
		return s.launch(q, c)
	}
	size := 8 * d.Blocks * p.Out.Rows * p.Out.Cols
	part, err := q.Scratch(size)
	if err != nil {
		return err
	}
	c.ints(0, 0, p.Out.Rows, p.Out.Cols, 0, -1, 0, 0) // the result is in part
	c.writing(part, size)
	if err := s.launch(q, c); err != nil {
		return err
	}
	sum := &call{name: "add_blocks", grid: [3]int{ceil(p.Out.Rows*p.Out.Cols, blockSize), 1, 1}, block: [3]int{blockSize, 1, 1}}
	sum.reading(part, size)
	sum.ints(d.Blocks)
	sum.result(s, p)
	return s.launch(q, sum)
}

// The kernels that multiply with digits.
const (
	byWarps      = "multiply_digits"
	byWarpgroups = "multiply_warpgroups"
)

// multiplier returns the kernel that multiplies with digits on this device, without the number of
// the digits. The module of warpgroups is for compute capability 9.0 only, and needs a driver for
// CUDA 12.0.
func (s *Set) multiplier() string {
	if s.Warpgroups() {
		return byWarpgroups
	}
	return byWarps
}

// Warpgroups reports whether MultiplyDigits multiplies by warpgroups on this device. The first call
// loads their module, and later calls have the same answer.
func (s *Set) Warpgroups() bool {
	if s.warpgroups == nil {
		loaded := s.hasWarpgroups()
		if loaded {
			_, err := s.kernel(byWarpgroups + "_3")
			loaded = err == nil
		}
		s.warpgroups = &loaded
	}
	return *s.warpgroups
}

// hasWarpgroups reports whether the device has the instructions of warpgroups.
func (s *Set) hasWarpgroups() bool {
	i := s.driver.Info()
	return i.Major == 9 && i.Minor == 0
}

// result adds the result of a product with digits: the matrix, its shape, whether to add to it, the
// activation, and the bias.
func (c *call) result(s *Set, p Dequantize) {
	if p.Add {
		c.inPlace(s, p.Out)
	} else {
		c.out(s, p.Out)
	}
	c.ints(p.Out.Rows, p.Out.Cols)
	c.flag(p.Add)
	if p.Bias.isSet() {
		c.ints(int(p.Activation))
	} else {
		c.ints(-1)
	}
	c.in(s, p.Bias)
}
