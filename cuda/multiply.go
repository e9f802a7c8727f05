package cuda

import (
	"errors"

	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
)

// shape is a product without the addresses of its operands.
type shape struct {
	precision                driver.Precision
	rows, cols, inner, batch int
	transA, transB           bool
}

func shapeOf(g *driver.Gemm) shape {
	return shape{g.Precision, g.Rows, g.Cols, g.Inner, g.Batch, g.TransA, g.TransB}
}

// multiply runs a product by the driver's library. If the library refuses the product, or its
// products of integers are wrong, a kernel of this program computes the product. A refusal comes
// before a graph is captured, because the first run of a plan's half is not captured.
func (d *Device) multiply(g *driver.Gemm) error {
	dims := shapeOf(g)
	if !d.refused[dims] {
		if g.Precision == driver.Int8 && d.driver.Integers() != nil {
			d.refused[dims] = true
			return d.multiplyItself(g)
		}
		err := d.driver.Multiply(d.stream, g)
		if !errors.Is(err, driver.ErrNotSupported) {
			return err
		}
		d.refused[dims] = true
		if g.Precision == driver.Int8 {
			_ = d.TestDigits() // before a graph is captured; multipliesRefused reads the result
		}
	}
	return d.multiplyItself(g)
}

// multiplyItself runs a product by a kernel of this program.
func (d *Device) multiplyItself(g *driver.Gemm) error {
	dtype := kernels.Float32
	if g.Precision == driver.Float64 {
		dtype = kernels.Float64
	}
	set, err := d.set(dtype)
	if err != nil {
		return err
	}
	return set.Multiply(&d.queue, g)
}
