package check

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/cuda"
	"ppal/cuda/driver"
	"ppal/internal/graphcases"
	"ppal/models"
	"ppal/trainer/graph"
	engine "ppal/trainer/graph/cuda"
)

// kind is a kind of products of float32 plans with 8-bit data.
type kind struct {
	name  string
	set   cuda.Options
	bound float64 // of both halves' errors, relative to float64
}

// kinds are those that a device offers. Two terms leave 2^-16 of a factor, TF32 2^-11; a half has several products in a row.
func kinds() []kind {
	return []kind{
		{"float32", cuda.Options{Products: driver.Float32}, 2e-5},
		{"tf32", cuda.Options{Products: driver.TF32}, 1e-2},
		{"bf16x3", cuda.Options{Slices: 3}, 2e-5},
		{"bf16x2", cuda.Options{Slices: 2}, 1e-3},
	}
}

// inSlices is three terms of bfloat16 with float32's bound.
func inSlices() precision { return precision{"bf16x3", tensor.Float32, driver.Float32, 2e-5, 3} }

// eightBitCases are the cases of 8-bit data, and more: sibling heads, a linear model, sums longer than one product adds up.
func eightBitCases() (list []graphcases.Case) {
	for _, c := range graphcases.All() {
		if c.Storage == graphcases.Bytes {
			list = append(list, c)
		}
	}
	separate := models.Spec{Inputs: 21, Hidden: []int{20}, Heads: models.Separate}
	return append(list,
		graphcases.Network(separate, []int{90, 80, 70}, constraints.Sigmoid, true, graphcases.Bytes),
		graphcases.Network(models.Spec{Inputs: 21}, []int{90, 80}, constraints.Logistic, true, graphcases.Bytes),
		graphcases.Network(models.Spec{Inputs: 5000, Hidden: []int{3}}, []int{9, 7}, constraints.Sigmoid, false, graphcases.Bytes))
}

// eightBitCase is one of pictures' shape, with sums over more rows than one product on tensor cores adds up.
func eightBitCase() graphcases.Case {
	spec := models.Spec{Inputs: 784, Hidden: []int{64}}
	return graphcases.Network(spec, []int{2000, 2000, 2000, 2000}, constraints.Sigmoid, true, graphcases.Bytes)
}

// eightBit measures the errors of the scores and the gradient of 8-bit data in every kind of products, against float64 in the same run.
// Whether slices are as accurate as float32 on the device is what the quotients say; only gross errors fail.
func eightBit(ctx context.Context, o Options, c graphcases.Case) (list []Result, err error) {
	host, err := reference()
	if err != nil {
		return nil, err
	}
	want, err := eightBitNumbers(c, tensor.Float64, host)
	if err != nil {
		return nil, err
	}
	var single [2]float64
	for _, k := range kinds() {
		if ctx.Err() != nil {
			return list, context.Cause(ctx)
		}
		var runs [2][][]float64
		err := withDevice(o, k.set, func(d *cuda.Device) (err error) {
			for i := range runs {
				if runs[i], err = eightBitNumbers(c, tensor.Float32, engine.Engine(d)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return list, fmt.Errorf("%s: %w", k.name, err)
		}
		for i, of := range []string{"scores", "gradient"} {
			e := Distance(runs[0][i], want[i])
			r := AtMost(fmt.Sprintf("8-bit data, %s products: error of the %s", k.name, of), e, k.bound, "relative to float64 on the CPU")
			if k.name == "float32" {
				single[i] = e
			} else {
				r.Detail = fmt.Sprintf("%.3g times float32's", e/math.Max(single[i], math.SmallestNonzeroFloat64))
			}
			list = append(list, r)
		}
		differ := 0.0
		for i := range runs[0] {
			if !slices.Equal(runs[0][i], runs[1][i]) {
				differ = 1
			}
		}
		list = append(list, AtMost(fmt.Sprintf("8-bit data, %s products: two runs differ in a bit", k.name), differ, noDifference, ""))
	}
	return list, nil
}

// eightBitNumbers are the scores and the gradient.
func eightBitNumbers(c graphcases.Case, dtype tensor.Dtype, e graph.Engine) ([][]float64, error) {
	p, err := c.Problem(dtype, e)
	if err != nil {
		return nil, err
	}
	n, err := Numbers(p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Name, err)
	}
	return [][]float64{n[2], n[1]}, nil
}
