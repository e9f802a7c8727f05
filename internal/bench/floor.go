package bench

import (
	"fmt"
	"time"

	"ppal/datasets/matrix"
	"ppal/internal/cpu"
)

// reference is an activity with which iterations are compared.
type reference struct {
	name  string
	run   activity
	flops float64 // floating-point operations of a run; 0: not counted
}

// bare returns the reference of bare products.
func bare(name string, b *cpu.Bare) reference {
	return reference{name, func() (time.Duration, error) { return b.Run(), nil }, b.FLOPs()}
}

// bareProducts returns the reference of the two products with a dense data matrix, with the
// kernels, threads and dtype of the case.
func bareProducts(s setting, rows, features, width int) (reference, error) {
	prepare := cpu.BareProducts[float32]
	if s.Dtype == "float64" {
		prepare = cpu.BareProducts[float64]
	}
	b, err := prepare(s.device, rows, features, width)
	if err != nil {
		return reference{}, err
	}
	return bare(fmt.Sprintf("X W and X^T D in %s", s.Dtype), b), nil
}

// bareSparse returns the reference of the two products with sparse rows.
func bareSparse(s setting, x *matrix.CSR, width int) (reference, error) {
	prepare := cpu.BareSparse[float32]
	if s.Dtype == "float64" {
		prepare = cpu.BareSparse[float64]
	}
	b, err := prepare(s.device, x, width)
	if err != nil {
		return reference{}, err
	}
	return bare(fmt.Sprintf("X W and X^T D over the non-zeros in %s", s.Dtype), b), nil
}
