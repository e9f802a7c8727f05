package bench

import (
	"fmt"
	"math/rand/v2"

	"ppal/datasets/matrix"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
)

// bfloat16 prepares the products with dense floats in digits of bfloat16, Z = X W and G = X^T Z, as
// the device computes them: every run splits W and Z into digits. The device has products
// plan.BF16x3 or plan.BF16x2. FLOPs counts the arithmetic of float32 products.
func bfloat16(d *cpu.Device, rows, cols, width int) (*Products, error) {
	if p := d.Products(cols); rows < 1 || cols < 1 || width < 1 || !p.BFloat16() {
		return nil, fmt.Errorf("floor: products of %d x %d by %d columns in %v, want positive sizes and bfloat16", rows, cols, width, p)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	block := make([]float64, kernel.RowBlock*cols)
	for i := range block {
		block[i] = 2*rng.Float64() - 1
	}
	x := &matrix.Dense{Rows: rows, Cols: cols, Data: make([]float64, 0, rows*cols)}
	for left := rows * cols; left > 0; left -= len(block) {
		x.Data = append(x.Data, block[:min(left, len(block))]...)
	}
	p, err := planned[float32](d, x, width)
	if err == nil {
		p.flops = denseFLOPs(rows, cols, width)
	}
	return p, err
}
