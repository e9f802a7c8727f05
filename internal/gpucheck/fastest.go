package gpucheck

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"ppal/constraints"
	"ppal/internal/bench"
	"ppal/internal/cuda/driver"
	"ppal/internal/graphcases"
	"ppal/models"
)

// accuracy measures the errors of every kind of products on random 8-bit data with a case's shape.
func accuracy(ctx context.Context, o Options, name string) (list []Result, err error) {
	shape, err := shapeOf(ctx, o, name)
	if err != nil {
		return nil, err
	}
	quarter := max(shape.Rows/4, 1)
	c := graphcases.Network(models.Spec{Inputs: shape.Features, Hidden: []int{shape.Width}}, []int{quarter, quarter, quarter, quarter},
		constraints.Sigmoid, true, graphcases.Bytes)
	all, err := eightBitErrors(ctx, o, c)
	for _, k := range all {
		for i, e := range k.errors {
			list = append(list, Measurement(errorName(name, k.String(), i), e, "relative to float64 on the CPU"))
		}
	}
	return list, err
}

// errorName returns the name of a result of accuracy.
func errorName(name, products string, i int) string {
	return fmt.Sprintf("%s %s: error of the %s", name, products, errorsOf[i])
}

// shapeOf returns the shape of a case.
func shapeOf(ctx context.Context, o Options, name string) (bench.Shape, error) {
	for _, c := range timedCases() {
		if c.name == name {
			p, err := c.prepare(ctx, o, func(int) (driver.Driver, error) { return o.Open() })
			if err != nil {
				return bench.Shape{}, err
			}
			return p.Shape(), p.Close()
		}
	}
	return bench.Shape{}, fmt.Errorf("gpu-check: there is no case %s", name)
}

// fastest names, for each data set, the products with the fastest iteration among the products
// whose errors are at most float32's. The choice of auto should follow this result.
func fastest(results []Result) (list []Result) {
	values := map[string]float64{}
	names := map[string]bool{}
	for _, r := range results {
		if r.Status == Measured {
			values[r.Name] = r.Value
		}
	}
	for _, c := range timedCases() {
		if _, measured := values[errorName(c.name, "float32", 0)]; measured {
			names[c.name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		best, kind := math.Inf(1), ""
		for _, c := range timedCases() {
			ms, timed := values[c.label()+": an iteration"]
			accurate := c.name == name && timed
			for i := range errorsOf {
				e, measured := values[errorName(name, c.kind(), i)]
				accurate = accurate && measured && e <= values[errorName(name, "float32", i)]
			}
			if accurate && ms < best {
				best, kind = ms, c.kind()
			}
		}
		title := name + ": the fastest with float32's accuracy"
		if kind == "" {
			list = append(list, Skipped(title, "none was timed"))
			continue
		}
		r := Measurement(title, best, "ms")
		r.Detail = kind
		list = append(list, r)
	}
	return list
}
