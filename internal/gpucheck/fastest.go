package gpucheck

import (
	"context"
	"fmt"
	"math"

	"ppal/constraints"
	"ppal/cuda"
	"ppal/internal/bench"
	"ppal/internal/graphcases"
	"ppal/models"
)

// accuracy measures the errors of every kind of products on random 8-bit data with a case's shape.
// It names the kind with the fastest iteration among those whose errors are at most float32's; the
// choice of auto should follow this result. iterations holds milliseconds by kind.
func accuracy(ctx context.Context, o Options, name string, s bench.Shape, iterations map[string]float64) (list []Result, err error) {
	quarter := max(s.Rows/4, 1)
	c := graphcases.Network(models.Spec{Inputs: s.Features, Hidden: []int{s.Width}}, []int{quarter, quarter, quarter, quarter},
		constraints.Sigmoid, true, graphcases.Bytes)
	all, err := eightBitErrors(ctx, o, c)
	if err != nil {
		return nil, err
	}
	best, fastest := math.Inf(1), ""
	for _, k := range all {
		accurate := true
		for i, e := range k.errors {
			r := Measurement(fmt.Sprintf("%s %v: error of the %s", name, k.products, errorsOf[i]), e, "relative to float64 on the CPU")
			list = append(list, r)
			accurate = accurate && e <= all[0].errors[i]
		}
		if ms, timed := iterations[k.products.String()]; timed && accurate && ms < best {
			best, fastest = ms, k.products.String()
		}
	}
	if fastest == "" {
		return append(list, Skipped(name+": the fastest with float32's accuracy", "none was timed")), nil
	}
	r := Measurement(name+": the fastest with float32's accuracy", best, "ms")
	err = withDevice(o, cuda.Options{}, func(d *cuda.Device) error {
		r.Detail = fmt.Sprintf("%s; auto is %v", fastest, d.Products(s.Features))
		return nil
	})
	return append(list, r), err
}
