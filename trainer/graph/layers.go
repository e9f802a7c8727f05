package graph

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/models"
)

// constant returns a number of the dtype as a node.
func constant(dtype tensor.Dtype, x float64) *gorgonia.Node {
	if dtype == tensor.Float32 {
		return gorgonia.NewConstant(float32(x))
	}
	return gorgonia.NewConstant(x)
}

// scaled returns factor x.
func scaled(x *gorgonia.Node, factor float64) (*gorgonia.Node, error) {
	return gorgonia.HadamardProd(x, constant(x.Dtype(), factor))
}

// InverseSqrt returns 1/sqrt(x), element-wise. The gradient of gorgonia.InverseSqrt is wrong.
func InverseSqrt(x *gorgonia.Node) (*gorgonia.Node, error) {
	root, err := gorgonia.Sqrt(x)
	if err != nil {
		return nil, err
	}
	return gorgonia.Inverse(root)
}

// Sum returns the sums of x over the given axes, whose sizes the result's shape lacks; without
// axes, the sum of all elements. The gradient of gorgonia.Sum over several, but not all, axes is
// wrong.
func Sum(x *gorgonia.Node, axes ...int) (*gorgonia.Node, error) {
	shape := x.Shape()
	axes = slices.Clone(axes)
	slices.Sort(axes)
	for i, a := range axes {
		if a < 0 || a >= len(shape) || i > 0 && a == axes[i-1] {
			return nil, refuse("Sum over the axes %v of a value of shape %v: list each axis once, from 0 to %d", axes, shape, len(shape)-1)
		}
	}
	if len(axes) == 0 || len(axes) == len(shape) {
		return gorgonia.Sum(x)
	}
	var err error
	for end := len(axes); end > 0; { // a run of consecutive axes, the last first, is one axis
		from := end - 1
		for from > 0 && axes[from-1] == axes[from]-1 {
			from--
		}
		first, last := axes[from], axes[end-1]+1
		if x, err = sumRun(x, shape, first, last); err != nil {
			return nil, err
		}
		shape, end = slices.Delete(slices.Clone(shape), first, last), from
	}
	return x, nil
}

// sumRun returns the sums of x, of the given shape, over the axes first to last-1. A value of two
// axes is summed by devices, block by block if the sum is over the last axis.
func sumRun(x *gorgonia.Node, shape tensor.Shape, first, last int) (*gorgonia.Node, error) {
	before, middle, after := shape[:first].TotalSize(), shape[first:last].TotalSize(), shape[last:].TotalSize()
	as, axis := tensor.Shape{before, middle, after}, 1
	switch {
	case after == 1 || last == len(shape):
		as = tensor.Shape{before, middle}
	case before == 1 || first == 0:
		as, axis = tensor.Shape{middle, after}, 0
	}
	x, err := gorgonia.Reshape(x, as)
	if err == nil {
		x, err = gorgonia.Sum(x, axis)
	}
	if err != nil {
		return nil, err
	}
	return gorgonia.Reshape(x, slices.Delete(slices.Clone(shape), first, last))
}

// Mean returns the means of x over the given axes, or of all elements: Sum over their number.
func Mean(x *gorgonia.Node, axes ...int) (*gorgonia.Node, error) {
	sum, err := Sum(x, axes...)
	if err != nil {
		return nil, err
	}
	return scaled(sum, float64(max(1, sum.Shape().TotalSize()))/float64(max(1, x.Shape().TotalSize())))
}

// GlobalMean returns the mean of each channel of pictures [n, C, H, W], as a matrix [n, C]: global
// average pooling.
func GlobalMean(x *gorgonia.Node) (*gorgonia.Node, error) {
	if s := x.Shape(); len(s) != 4 {
		return nil, refuse("GlobalMean of a value of shape %v, want pictures [n, C, H, W]", s)
	}
	return Mean(x, 2, 3)
}

// AveragePool2D returns the means of the windows of each channel of pictures [n, C, H, W]. Padding
// adds zeros, which count in the means. kernel, pad and stride are heights and widths, as for
// gorgonia.AveragePool2D, whose gradient is wrong.
func AveragePool2D(x *gorgonia.Node, kernel tensor.Shape, pad, stride []int) (*gorgonia.Node, error) {
	s := x.Shape()
	if len(s) != 4 || len(kernel) != 2 || len(pad) != 2 || len(stride) != 2 {
		return nil, refuse("AveragePool2D of a value of shape %v with kernel %v, pad %v and stride %v, want pictures [n, C, H, W] and heights and widths", s, kernel, pad, stride)
	}
	return models.AveragePool2D(x, kernel, pad, stride)
}

// leaf returns an input node with a value.
func leaf(g *gorgonia.ExprGraph, dtype tensor.Dtype, name string, values []float64, shape ...int) *gorgonia.Node {
	var backing any = values
	if dtype == tensor.Float32 {
		narrow := make([]float32, len(values))
		for i, v := range values {
			narrow[i] = float32(v)
		}
		backing = narrow
	}
	return gorgonia.NewTensor(g, dtype, len(shape), gorgonia.WithName(name), gorgonia.WithShape(shape...),
		gorgonia.WithValue(tensor.New(tensor.WithShape(shape...), tensor.WithBacking(backing))))
}

// scalarLeaf returns a scalar input node with a value.
func scalarLeaf(g *gorgonia.ExprGraph, dtype tensor.Dtype, name string, x float64) *gorgonia.Node {
	var v any = x
	if dtype == tensor.Float32 {
		v = float32(x)
	}
	return gorgonia.NewScalar(g, dtype, gorgonia.WithName(name), gorgonia.WithValue(v))
}

// GroupNorm normalises the features of each row of x [n, C, ...]: each of the groups of consecutive
// channels has mean 0 and variance 1, up to epsilon under the root. One group is a layer norm.
// scale and shift have a number for each channel, in the shape [1, C, 1, ...]; nil means none.
func GroupNorm(x, scale, shift *gorgonia.Node, groups int, epsilon float64) (*gorgonia.Node, error) {
	s := x.Shape()
	if len(s) < 2 || groups <= 0 || s[1]%groups != 0 || !(epsilon > 0) {
		return nil, refuse("GroupNorm of a value of shape %v with %d groups and epsilon %v, want [n, C, ...], a divisor of C, and a positive epsilon", s, groups, epsilon)
	}
	return models.GroupNormalize(x, scale, shift, groups, epsilon)
}

// Embedding returns the rows of table [V, d] with the given numbers, as a matrix [n, d]. The
// indices are whole numbers from 0 to V - 1: an input node of the table's dtype [n] or [n, 1],
// whose values Bind may replace, or a node of ints with a value, which is copied. An index outside
// gives a row of zeros. Devices compute the product of the table with the 0-1 matrix [n, V] of the
// indices: each half takes the time of n V d multiplications, and the matrix has n V numbers. For
// many thousands of rows of the table, pass 0-1 features instead, as a sparse data matrix.
func Embedding(table, indices *gorgonia.Node) (*gorgonia.Node, error) {
	s, n := table.Shape(), indices.Shape().TotalSize()
	if len(s) != 2 || n == 0 || len(indices.Shape()) > 2 {
		return nil, refuse("Embedding of indices of shape %v in a table of shape %v, want [n] and [V, d]", indices.Shape(), s)
	}
	var err error
	switch list, ints := ints(indices); {
	case ints:
		for i, v := range list {
			if v < 0 || v >= float64(s[0]) {
				return nil, refuse("index %d of the embedding is %v, want a number from 0 to %d", i, v, s[0]-1)
			}
		}
		indices = leaf(table.Graph(), table.Dtype(), indices.Name()+" as floats", list, n, 1)
	case indices.Dtype() != table.Dtype():
		return nil, refuse("the indices of the embedding have dtype %v, want %v, or ints with a value", indices.Dtype(), table.Dtype())
	default:
		if v := indices.Value(); v != nil {
			for i, v := range Float64s(v) {
				if v < 0 || v >= float64(s[0]) || v != math.Trunc(v) {
					return nil, refuse("index %d of the embedding is %v, want a whole number from 0 to %d", i, v, s[0]-1)
				}
			}
		}
		if indices, err = gorgonia.Reshape(indices, tensor.Shape{n, 1}); err != nil {
			return nil, err
		}
	}
	numbers := make([]float64, s[0])
	for k := range numbers {
		numbers[k] = float64(k)
	}
	row := leaf(table.Graph(), table.Dtype(), fmt.Sprintf("0 to %d", s[0]-1), numbers, 1, s[0])
	chosen, err := gorgonia.BroadcastEq(indices, row, true, []byte{1}, []byte{0})
	if err != nil {
		return nil, err
	}
	return gorgonia.Mul(chosen, table)
}

// ints returns the values of a node of integers, if it has one.
func ints(n *gorgonia.Node) (list []float64, ok bool) {
	if n.Value() == nil {
		return nil, false
	}
	switch data := n.Value().Data().(type) {
	case []int:
		list = floatsOf(data)
	case []int32:
		list = floatsOf(data)
	case []int64:
		list = floatsOf(data)
	}
	return list, list != nil
}

func floatsOf[T int | int32 | int64](data []T) []float64 {
	list := make([]float64, len(data))
	for i, v := range data {
		list[i] = float64(v)
	}
	return list
}
