package bench

import (
	"fmt"
	"time"

	"ppal/internal/cpu"
)

// floor is work that every iteration of a case includes.
type floor struct {
	name string
	work interface {
		Run() time.Duration
		FLOPs() float64
	}
}

// bareProducts are the two products with a dense data matrix, with the case's kernels, threads and type.
func bareProducts(s setting, shape Shape) (*floor, error) {
	prepare := cpu.BareProducts[float32]
	if s.Dtype == "float64" {
		prepare = cpu.BareProducts[float64]
	}
	work, err := prepare(s.device, shape.Rows, shape.Features, shape.Width)
	if err != nil {
		return nil, err
	}
	return &floor{fmt.Sprintf("X W and X^T D in %s", s.Dtype), work}, nil
}
