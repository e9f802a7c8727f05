package graphcases

import (
	"fmt"
	"math/rand/v2"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/models"
	"ppal/trainer/graph"
)

// Pictures is a problem with a convolutional network: layers, and then a dense layer with Outputs
// outputs for each picture. f is the mean square of the outputs' distances from random targets, and
// g the mean square of the dense layer's weights. Weights, pictures and targets are generated from
// Seed.
type Pictures struct {
	Name                    string
	Rows                    int
	Channels, Height, Width int
	Layers                  []Layer
	Outputs                 int
	Seed                    uint64
}

// Layer is a convolution, a bias for each filter if Bias, relu, and max-pooling if Pool has a
// kernel.
type Layer struct {
	Filters                       int
	Kernel, Pad, Stride, Dilation [2]int // zero Stride and Dilation mean 1
	Bias                          bool
	Groups                        int // of a group normalization with gain and bias after the convolution; 0: none
	Pool                          Pool
}

// Pool is max-pooling: gorgonia.MaxPool2D if Pad has its 2 or 4 elements, models.MaxPool2D without
// padding if Pad is nil.
type Pool struct {
	Kernel, Stride [2]int
	Pad            []int
}

// Title returns the name of the case among all cases.
func (c Pictures) Title() string { return "pictures/" + c.Name }

// Problem builds the case for an engine. Its only input is the pictures. It watches the outputs.
func (c Pictures) Problem(dtype tensor.Dtype, engine graph.Engine) (*graph.Problem, error) {
	p, err := graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) { return c.define(g, dtype) }, engine)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Name, err)
	}
	return p, nil
}

func (c Pictures) define(g *gorgonia.ExprGraph, dtype tensor.Dtype) (graph.Definition, error) {
	rng := rand.New(rand.NewPCG(c.Seed, 3))
	d := graph.Definition{}
	parameter := func(shape ...int) *gorgonia.Node {
		w := Normal(g, dtype, rng, fmt.Sprintf("w%d", len(d.Parameters)), shape...)
		d.Parameters = append(d.Parameters, w)
		return w
	}
	x := Normal(g, dtype, rng, "pictures", c.Rows, c.Channels, c.Height, c.Width)
	d.Inputs = gorgonia.Nodes{x}
	var err error
	for _, l := range c.Layers {
		if x, err = l.apply(x, parameter); err != nil {
			return d, err
		}
	}
	features := x.Shape().TotalSize() / c.Rows
	if x, err = gorgonia.Reshape(x, tensor.Shape{c.Rows, features}); err != nil {
		return d, err
	}
	w := parameter(features, c.Outputs)
	if x, err = gorgonia.Mul(x, w); err != nil {
		return d, err
	}
	d.Watch = gorgonia.Nodes{x}
	distance := gorgonia.Must(gorgonia.Sub(x, Normal(g, dtype, rng, "targets", c.Rows, c.Outputs)))
	d.Objective = gorgonia.Must(gorgonia.Mean(gorgonia.Must(gorgonia.Square(distance))))
	d.Constraints = gorgonia.Nodes{gorgonia.Must(gorgonia.Mean(gorgonia.Must(gorgonia.Square(w))))}
	return d, nil
}

func (l Layer) apply(x *gorgonia.Node, parameter func(shape ...int) *gorgonia.Node) (*gorgonia.Node, error) {
	pair := func(p [2]int, least int) []int { return []int{max(p[0], least), max(p[1], least)} }
	filter := parameter(l.Filters, x.Shape()[1], l.Kernel[0], l.Kernel[1])
	x, err := gorgonia.Conv2d(x, filter, l.Kernel[:], pair(l.Pad, 0), pair(l.Stride, 1), pair(l.Dilation, 1))
	if err != nil {
		return nil, err
	}
	if l.Bias {
		if x, err = gorgonia.BroadcastAdd(x, parameter(1, l.Filters, 1, 1), nil, []byte{0, 2, 3}); err != nil {
			return nil, err
		}
	}
	if l.Groups > 0 {
		if x, err = models.GroupNormalize(x, parameter(1, l.Filters), parameter(1, l.Filters), l.Groups, 1e-5); err != nil {
			return nil, err
		}
	}
	if x, err = gorgonia.Rectify(x); err != nil || l.Pool.Kernel[0] == 0 {
		return x, err
	}
	if l.Pool.Pad != nil {
		return gorgonia.MaxPool2D(x, l.Pool.Kernel[:], l.Pool.Pad, pair(l.Pool.Stride, 1))
	}
	return models.MaxPool2D(x, l.Pool.Kernel[:], []int{0, 0}, pair(l.Pool.Stride, 1))
}

// PictureCases are small convolutional networks with all forms of windows.
func PictureCases() []Pictures {
	two, three := [2]int{2, 2}, [2]int{3, 3}
	pool := Pool{Kernel: two, Stride: two}
	return []Pictures{
		{"two layers", 13, 1, 8, 8, []Layer{{Filters: 3, Kernel: three, Pad: [2]int{1, 1}, Pool: pool}, {Filters: 5, Kernel: three, Pad: [2]int{1, 1}, Pool: pool}}, 3, 1},
		{"bias", 7, 2, 6, 6, []Layer{{Filters: 4, Kernel: three, Bias: true}, {Filters: 3, Kernel: two, Bias: true}}, 2, 2},
		{"stride and padding", 5, 2, 9, 7, []Layer{{Filters: 17, Kernel: [2]int{3, 2}, Pad: [2]int{2, 1}, Stride: [2]int{2, 3}}, {Filters: 2, Kernel: two, Stride: [2]int{1, 2}}}, 2, 3},
		{"dilation", 4, 1, 11, 12, []Layer{{Filters: 2, Kernel: three, Dilation: [2]int{2, 3}, Pad: [2]int{1, 2}}, {Filters: 3, Kernel: two, Dilation: two}}, 2, 4},
		{"pool with overlap", 6, 1, 9, 9, []Layer{{Filters: 3, Kernel: two, Pool: Pool{Kernel: three, Stride: two, Pad: []int{1, 1}}}}, 2, 5},
		{"pool with four paddings", 6, 1, 8, 9, []Layer{{Filters: 3, Kernel: two, Pool: Pool{Kernel: three, Stride: two, Pad: []int{1, 0, 0, 1}}}}, 2, 6},
		{"odd pictures", 3, 3, 7, 5, []Layer{{Filters: 13, Kernel: three, Pad: [2]int{1, 1}, Pool: pool}}, 2, 7},
		{"one picture", 1, 2, 6, 6, []Layer{{Filters: 3, Kernel: three, Bias: true, Pool: pool}}, 2, 8},
		{"line", 9, 1, 1, 30, []Layer{{Filters: 3, Kernel: [2]int{1, 5}, Pad: [2]int{0, 2}, Bias: true}}, 2, 9},
		{"1x1", 9, 5, 4, 4, []Layer{{Filters: 3, Kernel: [2]int{1, 1}}}, 2, 10},
		{"parts", 3, 40, 22, 22, []Layer{{Filters: 33, Kernel: [2]int{4, 4}, Pad: [2]int{1, 1}, Stride: [2]int{1, 1}}}, 2, 11},
	}
}

// DigitPictures is a network for pictures 1 x 28 x 28: convolutions 3 x 3 with 8 and 16 filters,
// each with relu and max-pooling 2 x 2, and 10 outputs.
func DigitPictures(rows int) Pictures {
	layer := Layer{Filters: 8, Kernel: [2]int{3, 3}, Pad: [2]int{1, 1}, Pool: Pool{Kernel: [2]int{2, 2}, Stride: [2]int{2, 2}}}
	second := layer
	second.Filters = 16
	return Pictures{fmt.Sprintf("%d pictures", rows), rows, 1, 28, 28, []Layer{layer, second}, 10, 12}
}
