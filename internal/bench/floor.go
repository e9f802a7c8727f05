package bench

import (
	"fmt"
	"time"

	"gorgonia.org/tensor"

	"ppal/datasets"
	"ppal/datasets/matrix"
)

// reference is an activity with which iterations are compared.
type reference struct {
	name  string
	run   activity
	flops float64 // floating-point operations of a run; 0: not counted
}

// bare returns the reference of bare products.
func bare(name string, p *Products) reference {
	return reference{name, func() (time.Duration, error) { return p.Run(), nil }, p.FLOPs()}
}

// bareProducts returns the reference of the two products with a dense data matrix, with the
// kernels, threads and dtype of the case.
func bareProducts(s setting, rows, features, width int) (reference, error) {
	prepare := Dense[float32]
	if s.Session.Device.Dtype == tensor.Float64 {
		prepare = Dense[float64]
	}
	p, err := prepare(s.device, rows, features, width)
	if err != nil {
		return reference{}, err
	}
	return bare(fmt.Sprintf("X W and X^T D in %s", s.Session.Device.Dtype), p), nil
}

// patches returns the products of the patches of a convolutional network with blocks of the given
// numbers of 3 x 3 filters, each with 2 x 2 pooling, as the only reference.
func (w *workload) patches(channels []int) ([]reference, error) {
	d, err := datasets.Lookup(w.setting.Dataset)
	if err != nil {
		return nil, err
	}
	const filter, pool = 3, 2
	var layers []Convolution
	from, height, width := d.Shape.Channels, d.Shape.Height, d.Shape.Width
	for _, n := range channels {
		layers = append(layers, Convolution{Filters: n, Patch: from * filter * filter, Places: height * width})
		from, height, width = n, height/pool, width/pool
	}
	prepare := Patches[float32]
	if w.setting.Session.Device.Dtype == tensor.Float64 {
		prepare = Patches[float64]
	}
	p, err := prepare(w.setting.device, w.shape.Rows, layers)
	if err != nil {
		return nil, err
	}
	return []reference{bare(fmt.Sprintf("the products of the patches in %s", w.setting.Session.Device.Dtype), p)}, nil
}

// bareSparse returns the reference of the two products with sparse rows.
func bareSparse(s setting, x *matrix.CSR, width int) (reference, error) {
	prepare := Sparse[float32]
	if s.Session.Device.Dtype == tensor.Float64 {
		prepare = Sparse[float64]
	}
	p, err := prepare(s.device, x, width)
	if err != nil {
		return reference{}, err
	}
	return bare(fmt.Sprintf("X W and X^T D over the non-zeros in %s", s.Session.Device.Dtype), p), nil
}
