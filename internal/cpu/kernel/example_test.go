package kernel_test

import (
	"fmt"
	"math"
	"sync"

	"ppal/internal/cpu/kernel"
)

// The example computes the first layer of a network, forward and backward, on two cores. Each core
// takes a fixed share of the blocks of rows, and the partial gradients are added in a fixed order.
func Example() {
	const rows, cols, units, cores = 1000, 20, 5, 2
	k, err := kernel.New[float32](kernel.Best())
	if err != nil {
		fmt.Println(err)
		return
	}
	x := k.NewPackedFloats(rows, cols)
	row := make([]float32, cols)
	for i := range rows {
		for j := range row {
			row[j] = float32(math.Sin(float64(i + 3*j)))
		}
		x.SetRow(i, row)
	}
	weights, bias := make([]float32, cols*units), make([]float32, units)
	for i := range weights {
		weights[i] = float32(math.Cos(float64(i))) / 4
	}
	w := k.NewPanels(cols, units)
	w.Pack(cols, units, weights, units)

	var group sync.WaitGroup
	var partial [cores][]float32
	for core := range cores {
		g := make([]float32, cols*units)
		partial[core] = g
		group.Go(func() {
			scratch := k.NewScratch(kernel.RowBlock, units)
			a := kernel.Alloc[float32](kernel.RowBlock * units)
			d := kernel.Alloc[float32](kernel.RowBlock * units)
			for lo := core * kernel.RowBlock; lo < rows; lo += cores * kernel.RowBlock {
				hi := min(lo+kernel.RowBlock, rows)
				n := (hi - lo) * units
				k.Mul(a, units, x, lo, hi, w, scratch)
				k.BiasSigmoid(a, units, hi-lo, bias)
				for i := range d[:n] {
					d[i] = 1 // derivative of the sum of all units' outputs
				}
				k.SigmoidGrad(d[:n], a[:n])
				k.AddMulTrans(g, units, x, lo, hi, d, units, units, scratch)
			}
		})
	}
	group.Wait()
	for _, g := range partial[1:] {
		k.Axpy(partial[0], 1, g)
	}
	fmt.Printf("squared norm of the gradient %.2f\n", k.Dot(partial[0], partial[0]))
	// Output: squared norm of the gradient 3.26
}
