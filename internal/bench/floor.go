package bench

import (
	"fmt"
	"time"

	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/bench/floor"
)

// reference is an activity with which iterations are compared.
type reference struct {
	name  string
	run   activity
	flops float64 // floating-point operations of a run; 0: not counted
}

// bare returns the reference of bare products.
func bare(name string, p *floor.Products) reference {
	return reference{name, func() (time.Duration, error) { return p.Run(), nil }, p.FLOPs()}
}

// bareProducts returns the reference of the two products with a dense data matrix, with the
// kernels, threads and dtype of the case.
func bareProducts(s setting, rows, features, width int) (reference, error) {
	prepare := floor.Dense[float32]
	if s.Session.Device.Dtype == tensor.Float64 {
		prepare = floor.Dense[float64]
	}
	p, err := prepare(s.device, rows, features, width)
	if err != nil {
		return reference{}, err
	}
	return bare(fmt.Sprintf("X W and X^T D in %s", s.Session.Device.Dtype), p), nil
}

// bareSparse returns the reference of the two products with sparse rows.
func bareSparse(s setting, x *matrix.CSR, width int) (reference, error) {
	prepare := floor.Sparse[float32]
	if s.Session.Device.Dtype == tensor.Float64 {
		prepare = floor.Sparse[float64]
	}
	p, err := prepare(s.device, x, width)
	if err != nil {
		return reference{}, err
	}
	return bare(fmt.Sprintf("X W and X^T D over the non-zeros in %s", s.Session.Device.Dtype), p), nil
}
