package gpucheck

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/cuda"
	"ppal/internal/graphcases"
	"ppal/models"
	"ppal/trainer/graph"
)

// kind is a kind of float32 products with 8-bit data.
type kind struct {
	products cuda.Products
	digits   cuda.DigitProducts
	bound    float64 // of the errors of both halves, relative to float64
}

// kinds returns the kinds of a device, float32 first. Two bfloat16 digits have an error of 2^-16
// of a factor, TF32 of 2^-11, and a half has several consecutive products.
func kinds() []kind {
	return []kind{
		{products: cuda.Float32, bound: 2e-5}, {products: cuda.TF32, bound: 1e-2}, {products: cuda.BF16x3, bound: 2e-5},
		{products: cuda.BF16x2, bound: 1e-3}, {products: cuda.Int8x3, bound: 2e-5}, {products: cuda.Int8x2, bound: 1e-3},
		{products: cuda.Int8x3, digits: cuda.OwnDigits, bound: 2e-5},
	}
}

// String names the kind in results.
func (k kind) String() string {
	if k.digits != cuda.AutomaticDigits {
		return string(k.digits) + " " + string(k.products)
	}
	return string(k.products)
}

// withDigits lists the products with three digits, with float32's bound.
func withDigits() []precision {
	return []precision{
		{name: "bf16x3", dtype: tensor.Float32, products: cuda.BF16x3, bound: 2e-5},
		{name: "int8x3", dtype: tensor.Float32, products: cuda.Int8x3, bound: 2e-5},
		{name: "own int8x3", dtype: tensor.Float32, products: cuda.Int8x3, bound: 2e-5, digits: cuda.OwnDigits},
		{name: "library int8x3", dtype: tensor.Float32, products: cuda.Int8x3, bound: 2e-5, digits: cuda.LibraryDigits},
	}
}

// eightBitCases returns the cases with 8-bit data and additional cases: many scores, heads in
// parallel, a linear model, and sums that are longer than a single product allows.
func eightBitCases() (list []graphcases.Case) {
	for _, c := range graphcases.All() {
		if c.Storage == graphcases.Bytes {
			list = append(list, c)
		}
	}
	separate := models.Spec{Inputs: 21, Hidden: []int{20}, Heads: models.Separate}
	return append(append(list, manyScores(graphcases.Bytes)...),
		graphcases.Network(separate, []int{90, 80, 70}, constraints.Sigmoid, true, graphcases.Bytes),
		graphcases.Network(models.Spec{Inputs: 21}, []int{90, 80}, constraints.Logistic, true, graphcases.Bytes),
		graphcases.Network(models.Spec{Inputs: 5000, Hidden: []int{3}}, []int{9, 7}, constraints.Sigmoid, false, graphcases.Bytes))
}

// manyScores returns networks with 10 scores, as many as the usual data sets of images have
// classes, and with 7 scores, which run in the kernels for 8.
func manyScores(s graphcases.Storage) (list []graphcases.Case) {
	for _, classes := range []int{10, 7} {
		list = append(list, graphcases.Network(models.Spec{Inputs: 21, Hidden: []int{20}}, slices.Repeat([]int{17}, classes), constraints.Sigmoid, true, s))
	}
	return list
}

// eightBitCase returns a case with the shape of images and with sums over more rows than one
// product on tensor cores adds up.
func eightBitCase() graphcases.Case {
	spec := models.Spec{Inputs: 784, Hidden: []int{64}}
	return graphcases.Network(spec, []int{2000, 2000, 2000, 2000}, constraints.Sigmoid, true, graphcases.Bytes)
}

// kindErrors holds the errors of the scores and the gradient with one kind of products, relative
// to float64, and whether two runs gave different bits.
type kindErrors struct {
	kind
	errors [2]float64
	differ bool
}

// errorsOf are the names of the two errors.
var errorsOf = [2]string{"scores", "gradient"}

// eightBitErrors measures the errors with 8-bit data for every kind of products, relative to
// float64 in the same run.
func eightBitErrors(ctx context.Context, o Options, c graphcases.Case) (list []kindErrors, err error) {
	host, err := reference()
	if err != nil {
		return nil, err
	}
	want, err := eightBitNumbers(c, tensor.Float64, host)
	if err != nil {
		return nil, err
	}
	for _, k := range kinds() {
		if ctx.Err() != nil {
			return list, context.Cause(ctx)
		}
		var runs [2][][]float64
		err := withDevice(o, cuda.Options{Products: k.products, Digits: k.digits}, func(d *cuda.Device) (err error) {
			for i := range runs {
				if runs[i], err = eightBitNumbers(c, tensor.Float32, graph.On(d)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return list, fmt.Errorf("%v: %w", k, err)
		}
		e := kindErrors{kind: k}
		for i := range e.errors {
			e.errors[i] = Distance(runs[0][i], want[i])
			e.differ = e.differ || !slices.Equal(runs[0][i], runs[1][i])
		}
		list = append(list, e)
	}
	return list, nil
}

// eightBit checks these errors. The quotients show whether digits are as accurate as float32 on
// the device; only large errors fail.
func eightBit(ctx context.Context, o Options, c graphcases.Case) (list []Result, err error) {
	all, err := eightBitErrors(ctx, o, c)
	for _, k := range all {
		for i, e := range k.errors {
			r := AtMost(fmt.Sprintf("8-bit data, %v products: error of the %s", k.kind, errorsOf[i]), e, k.bound, "relative to float64 on the CPU")
			r.Detail = fmt.Sprintf("%.3g times float32's", e/math.Max(all[0].errors[i], math.SmallestNonzeroFloat64))
			list = append(list, r)
		}
		differ := 0.0
		if k.differ {
			differ = 1
		}
		list = append(list, AtMost(fmt.Sprintf("8-bit data, %v products: two runs differ in a bit", k.kind), differ, noDifference, ""))
	}
	return list, err
}

// eightBitNumbers returns the scores and the gradient.
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
