package cpu

import (
	"testing"

	"ppal/datasets/matrix"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// A factor may come transposed: X (W^T)^T is X W.
func TestSparseTransposedFactor(t *testing.T) {
	x := &matrix.CSR{Rows: 3, Cols: 2, Starts: []int{0, 2, 2, 3}, Columns: []int32{0, 1, 1}, Values: []float64{2, -1, 3}}
	for _, level := range kernel.Levels() {
		d, err := New(level, 2)
		if err != nil {
			t.Fatal(err)
		}
		p := barePlan[float64](x, 2)
		product := p.Forward[0].Steps[0].(*plan.Product)
		product.TransB = true // W is square
		e, err := newExecutor[float64](d, p)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Attach(p.Parameters[0], []float64{1, 10, 100, 1000}); err != nil { // columns of W
			t.Fatal(err)
		}
		if err := e.Forward(); err != nil {
			t.Fatal(err)
		}
		got := e.Contents(product.Out)
		for i, want := range []float64{2 - 10, 200 - 1000, 0, 0, 30, 3000} {
			if got[i] != want {
				t.Errorf("%v: Z is %v, want %v at %d", level, got, want, i)
			}
		}
	}
}
