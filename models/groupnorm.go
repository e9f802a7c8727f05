package models

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/trainer/graph/describe"
)

// GroupNormalize returns x [n, C, ...] whose channels, in so many groups of neighbours, have the
// mean 0 and the variance 1 in each row, times gain plus bias, channel by channel
// (torch.nn.GroupNorm; one group of a matrix is a layer norm). gain and bias have C numbers; nil is
// left out. The variance is over the number of elements, and epsilon is added to it. Gorgonia's
// GroupNorm is not computed row by row.
func GroupNormalize(a, gain, bias *gorgonia.Node, groups int, epsilon float64) (*gorgonia.Node, error) {
	shape := a.Shape().Clone()
	if len(shape) < 2 || groups < 1 || shape[1]%groups != 0 || !(epsilon > 0) {
		return nil, fmt.Errorf("models: %w: %d groups of a value of shape %v with epsilon %v, expected [n, C, ...], a divisor of C and a positive epsilon",
			ErrSpec, groups, shape, epsilon)
	}
	x, err := gorgonia.Reshape(a, tensor.Shape{shape[0], shape.TotalSize() / shape[0]})
	if err != nil {
		return nil, err
	}
	n := describe.Normalize{Normalization: describe.Normalization{Groups: groups, Epsilon: epsilon}}
	if x, err = apply(newRowsOp(n, 1, x.Shape()[1]), x); err != nil {
		return nil, err
	}
	if x, err = gorgonia.Reshape(x, shape); err != nil {
		return nil, err
	}
	if gain != nil {
		if x, err = byChannel(gorgonia.BroadcastHadamardProd, x, gain); err != nil {
			return nil, err
		}
	}
	if bias != nil {
		return byChannel(gorgonia.BroadcastAdd, x, bias)
	}
	return x, nil
}

// byChannel applies an operation to x [n, C, ...] and a number for each channel, a node of C
// numbers.
func byChannel(op func(x, y *gorgonia.Node, _, right []byte) (*gorgonia.Node, error), x, numbers *gorgonia.Node) (*gorgonia.Node, error) {
	shape, along := tensor.Shape{1, x.Shape()[1]}, []byte{0}
	for i := 2; i < x.Dims(); i++ {
		shape, along = append(shape, 1), append(along, byte(i))
	}
	numbers, err := gorgonia.Reshape(numbers, shape)
	if err != nil {
		return nil, err
	}
	return op(x, numbers, nil, along)
}

// normEpsilon is added to variances, as in torch.nn.GroupNorm.
const normEpsilon = 1e-5

// mostGroups is the largest number of groups of a normalization.
const mostGroups = 8

// groupsOf returns the number of groups of so many channels: their greatest common divisor with
// mostGroups.
func groupsOf(channels int) int {
	a, b := mostGroups, channels
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// moments returns the mean and sqrt(variance + epsilon) of a range.
func moments[T float](x []T, epsilon float64) (mean, root float64) {
	for _, v := range x {
		mean += float64(v)
	}
	mean /= float64(len(x))
	for _, v := range x {
		root += (float64(v) - mean) * (float64(v) - mean)
	}
	return mean, math.Sqrt(root/float64(len(x)) + epsilon)
}

// normalizeRanges normalizes each range of so many elements. out may be x.
func normalizeRanges[T float](out, x []T, size int, epsilon float64) {
	for ; len(x) > 0; x, out = x[size:], out[size:] {
		mean, root := moments(x[:size], epsilon)
		for j, v := range x[:size] {
			out[j] = T((float64(v) - mean) / root)
		}
	}
}

// differentiateRanges writes the derivatives of normalizeRanges by x, times d.
func differentiateRanges[T float](out, x, d []T, size int, epsilon float64) {
	for ; len(x) > 0; x, d, out = x[size:], d[size:], out[size:] {
		mean, root := moments(x[:size], epsilon)
		var first, second float64
		for j, v := range d[:size] {
			first += float64(v) / float64(size)
			second += float64(v) * (float64(x[j]) - mean) / root / float64(size)
		}
		for j, v := range d[:size] {
			out[j] = T((float64(v) - first - (float64(x[j])-mean)/root*second) / root)
		}
	}
}
