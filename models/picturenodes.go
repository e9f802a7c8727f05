package models

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/trainer/graph/describe"
)

// nodeLayers implements layers for nodes. After an error, all values are nil.
type nodeLayers struct {
	parameters gorgonia.Nodes // those that no layer has taken yet
	err        error
}

var _ layers[*gorgonia.Node] = &nodeLayers{}

// pictureScores returns the scores of a network for pictures: the features of the pictures x, and
// the dense network of the features.
func pictureScores(x *gorgonia.Node, parameters gorgonia.Nodes, p Picture, dense Spec,
	features func(l layers[*gorgonia.Node], a *gorgonia.Node) *gorgonia.Node) (*gorgonia.Node, error) {
	n := x.Shape()[0]
	a, err := gorgonia.Reshape(x, tensor.Shape{n, p.Channels, p.Height, p.Width})
	if err != nil {
		return nil, err
	}
	l := &nodeLayers{parameters: parameters}
	if a = features(l, a); l.err != nil {
		return nil, fmt.Errorf("models: a layer for pictures: %w", l.err)
	}
	if a, err = gorgonia.Reshape(a, tensor.Shape{n, dense.Inputs}); err != nil {
		return nil, err
	}
	return dense.Scores(a, l.parameters)
}

func (l *nodeLayers) next() *gorgonia.Node {
	p := l.parameters[0]
	l.parameters = l.parameters[1:]
	return p
}

// then returns f's node, or nil after an error.
func (l *nodeLayers) then(f func() (*gorgonia.Node, error)) *gorgonia.Node {
	if l.err != nil {
		return nil
	}
	var n *gorgonia.Node
	n, l.err = f()
	return n
}

func (l *nodeLayers) convolve(a *gorgonia.Node, _ string, _, _, stride int, bias bool) *gorgonia.Node {
	filters := l.next()
	var b *gorgonia.Node
	if bias {
		b = l.next()
	}
	return l.then(func() (*gorgonia.Node, error) { return Convolve(a, filters, b, stride) })
}

func (l *nodeLayers) normalize(a *gorgonia.Node, _ string) *gorgonia.Node {
	gain, bias := l.next(), l.next()
	return l.then(func() (*gorgonia.Node, error) {
		return GroupNormalize(a, gain, bias, groupsOf(a.Shape()[1]), normEpsilon)
	})
}

func (l *nodeLayers) activate(a *gorgonia.Node, f Activation) *gorgonia.Node {
	return l.then(func() (*gorgonia.Node, error) { return activate(f, a) })
}

func (l *nodeLayers) pool(a *gorgonia.Node, kind Pool, height, width int) *gorgonia.Node {
	return l.then(func() (*gorgonia.Node, error) {
		if kind == AveragePool {
			return AveragePool2D(a, tensor.Shape{height, width}, []int{0, 0}, []int{height, width})
		}
		return MaxPool2D(a, tensor.Shape{height, width}, []int{0, 0}, []int{height, width})
	})
}

func (l *nodeLayers) add(a, b *gorgonia.Node) *gorgonia.Node {
	return l.then(func() (*gorgonia.Node, error) { return gorgonia.Add(a, b) })
}

// MaxPool2D returns the largest element under each window, in each channel of the pictures
// A [n, c, h, w]. The padding has no elements. kernel, pad and stride are heights and widths, as
// for gorgonia.MaxPool2D, whose op needs more memory: it keeps an integer of 8 bytes for each
// element of the result. The error wraps ErrSpec if the windows do not fit the pictures.
func MaxPool2D(a *gorgonia.Node, kernel tensor.Shape, pad, stride []int) (*gorgonia.Node, error) {
	s := a.Shape()
	if len(s) != 4 || len(kernel) != 2 || len(pad) != 2 || len(stride) != 2 || min(kernel[0], kernel[1], stride[0], stride[1]) < 1 || min(pad[0], pad[1]) < 0 ||
		kernel[0] > s[2]+2*pad[0] || kernel[1] > s[3]+2*pad[1] {
		return nil, fmt.Errorf("models: %w: max-pooling of a value of shape %v with kernel %v, pad %v and stride %v, "+
			"expected [n, c, h, w] and heights and widths that fit in", ErrSpec, s, kernel, pad, stride)
	}
	w := describe.Window{
		Channels: s[1], Height: s[2], Width: s[3], Lines: kernel[0], Columns: kernel[1], Top: pad[0], Left: pad[1],
		StrideY: stride[0], StrideX: stride[1], DilationY: 1, DilationX: 1,
		OutputHeight: (s[2]+2*pad[0]-kernel[0])/stride[0] + 1, OutputWidth: (s[3]+2*pad[1]-kernel[1])/stride[1] + 1,
	}
	x, err := gorgonia.Reshape(a, tensor.Shape{s[0], w.Pixels()})
	if err != nil {
		return nil, err
	}
	if x, err = apply(newRowsOp(describe.MaxPool{Window: w}, 1, s[1]*w.Places()), x); err != nil {
		return nil, err
	}
	return gorgonia.Reshape(x, tensor.Shape{s[0], s[1], w.OutputHeight, w.OutputWidth})
}

// AveragePool2D returns the means of the windows of each channel of the pictures A [n, c, h, w].
// Padding adds zeros, which count in the means. kernel, pad and stride are heights and widths, as
// for gorgonia.AveragePool2D, whose derivative is wrong: this is a convolution with constant
// filters.
func AveragePool2D(a *gorgonia.Node, kernel tensor.Shape, pad, stride []int) (*gorgonia.Node, error) {
	c, places := a.Shape()[1], kernel.TotalSize()
	filters := tensor.New(tensor.Of(a.Dtype()), tensor.WithShape(c, c, kernel[0], kernel[1]))
	for k := range c {
		for i := range places {
			if at := (k*c+k)*places + i; a.Dtype() == tensor.Float32 {
				filters.Float32s()[at] = 1 / float32(places)
			} else {
				filters.Float64s()[at] = 1 / float64(places)
			}
		}
	}
	node := gorgonia.NewTensor(a.Graph(), a.Dtype(), 4, gorgonia.WithShape(filters.Shape()...), gorgonia.WithValue(filters),
		gorgonia.WithName(fmt.Sprintf("average.%d.%d", c, a.ID())))
	return gorgonia.Conv2d(a, node, kernel, pad, stride, []int{1, 1})
}

// Convolve returns the pictures A * F + b of the pictures A [n, c, h, w]: the cross-correlation
// with the filters F [k, c, s, s], s odd, with a padding of (s-1)/2 pixels and in steps of stride
// pixels, plus the bias b [1, k] of each channel; nil: none.
func Convolve(a, filters, bias *gorgonia.Node, stride int) (*gorgonia.Node, error) {
	side := filters.Shape()[2]
	z, err := gorgonia.Conv2d(a, filters, tensor.Shape{side, side}, []int{side / 2, side / 2}, []int{stride, stride}, []int{1, 1})
	if err != nil || bias == nil {
		return z, err
	}
	return byChannel(gorgonia.BroadcastAdd, z, bias)
}
