package kernels

import (
	"fmt"

	"ppal/internal/cuda/driver"
)

// productTile is the number of rows and columns that a block of threads computes.
const productTile = 64

// Multiply runs a product by a kernel of this package, which is slower than a library's. TF32
// products are computed in float32. Sums are float64 over the sums of 16 products; sums of integers
// are exact.
func (s *Set) Multiply(q Queue, g *driver.Gemm) error {
	if err := g.Check(); err != nil {
		return err
	}
	if g.Rows == 0 || g.Cols == 0 {
		return nil
	}
	c := &call{name: "multiply"}
	want := Float32
	switch g.Precision {
	case driver.Float64:
		want = Float64
	case driver.BF16:
		c.name = "multiply_bf16"
	case driver.Int8:
		c.name = "multiply_int8"
	}
	if want != s.dtype {
		return fmt.Errorf("kernels: a product of precision %d by the kernels of %v", g.Precision, s.dtype)
	}
	batch := max(g.Batch, 1)
	c.grid = [3]int{ceil(g.Cols, productTile), min(ceil(g.Rows, productTile), maxGrid), min(batch, maxGrid)}
	c.block = [3]int{blockSize, 1, 1}
	c.reads, c.writes = g.Spans()
	c.args = append(c.args, uint64(g.A))
	c.ints(g.StrideA)
	c.flag(g.TransA)
	c.ints(g.StepA)
	c.args = append(c.args, uint64(g.B))
	c.ints(g.StrideB)
	c.flag(g.TransB)
	c.ints(g.StepB)
	c.args = append(c.args, uint64(g.C))
	c.ints(g.StrideC, g.StepC, g.Rows, g.Cols, g.Inner, batch)
	c.args = append(c.args, driver.Float64Arg(g.Alpha), driver.Float64Arg(g.Beta))
	return s.launch(q, c)
}
