package models

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Picture is the shape of a picture, whose row has the pixels channel by channel, and in a channel
// line by line.
type Picture struct {
	Channels int `json:"channels"`
	Height   int `json:"height"`
	Width    int `json:"width"`
}

// Pixels returns the number of pixels in all channels.
func (p Picture) Pixels() int { return p.Channels * p.Height * p.Width }

// String returns text such as "28x28" or "32x32x3".
func (p Picture) String() string {
	if p.Channels == 1 {
		return fmt.Sprintf("%dx%d", p.Height, p.Width)
	}
	return fmt.Sprintf("%dx%dx%d", p.Height, p.Width, p.Channels)
}

// Conv describes a convolutional network. With A_0 the picture of a row, block k = 1..K is
//
//	A_k = pool(act(A_{k-1} * F_k + b_k))
//
// where * is the cross-correlation with Channels[k-1] filters of 3 x 3 and a padding of one pixel
// (torch.nn.Conv2d), and pool takes the largest or the mean of 2 x 2 pixels in steps of 2. An odd
// last line or column is left out. The numbers of A_K, channel by channel, are the features of a
// network with the layers Hidden and the scores as outputs, as in a [Spec].
type Conv struct {
	Picture    Picture    `json:"picture"`
	Channels   []int      `json:"channels"`   // filters of each block, at least 1
	Pool       Pool       `json:"pool"`       // empty: MaxPool
	Hidden     []int      `json:"hidden"`     // units of each layer after the blocks; empty: none
	Outputs    int        `json:"outputs"`    // number of classes, at least 1
	Activation Activation `json:"activation"` // empty: ReLU
}

// Pool names what a block takes of 2 x 2 pixels.
type Pool string

// The kinds of pooling. The empty string means MaxPool.
const (
	MaxPool     Pool = "max"
	AveragePool Pool = "average"
)

// OfPictures is an [Architecture] of pictures. A session tells the shape of its pictures before it
// calls Sized.
type OfPictures interface {
	Architecture
	// On returns the architecture for pictures of the shape.
	On(p Picture) Architecture
}

// KindConv is the kind of a Conv.
const KindConv = "conv"

var (
	_ OfPictures    = Conv{}
	_ Kinked        = Conv{}
	_ HostPredictor = Conv{}
	_ Exporter      = Conv{}
)

// The geometry of a block.
const (
	filterSide = 3
	padding    = 1
	poolSide   = 2
)

// Kind implements Architecture.
func (c Conv) Kind() string { return KindConv }

// Dims implements Architecture.
func (c Conv) Dims() (inputs, outputs int) { return c.Picture.Pixels(), c.Outputs }

// On implements OfPictures.
func (c Conv) On(p Picture) Architecture {
	c.Picture = p
	return c
}

// Kinks implements Kinked: relu and the largest of several pixels have kinks.
func (c Conv) Kinks() bool { return c.Activation == ReLU || c.Pool != AveragePool }

// Sized implements Architecture.
func (c Conv) Sized(inputs, outputs int) (Architecture, error) {
	c.Outputs = outputs
	if c.Activation == "" {
		c.Activation = ReLU
	}
	if c.Pool == "" {
		c.Pool = MaxPool
	}
	fail := func(format string, args ...any) (Architecture, error) {
		return nil, fmt.Errorf("models: %w: a convolutional network "+format, append([]any{ErrSpec}, args...)...)
	}
	p := c.Picture
	if min(p.Channels, p.Height, p.Width) < 1 || p.Pixels() != inputs {
		return fail("needs pictures, and the rows have %d features without the shape of a picture", inputs)
	}
	if len(c.Channels) == 0 {
		return fail("needs channels, such as 16,32")
	}
	for i, n := range c.Channels {
		if n < 1 || n > math.MaxInt16 {
			return fail("has %d channels in block %d, expected 1 to %d", n, i+1, math.MaxInt16)
		}
		if p = c.after(p, n); min(p.Height, p.Width) < 1 {
			return fail("of %d blocks is too deep for pictures of %v: block %d has no pixels left, use at most %d numbers of channels",
				len(c.Channels), c.Picture, i+1, i)
		}
	}
	switch c.Activation {
	case Sigmoid, ReLU, Tanh:
	default:
		return fail("has the unknown activation %q, use sigmoid, relu or tanh", c.Activation)
	}
	if c.Pool != MaxPool && c.Pool != AveragePool {
		return fail("has the unknown pooling %q, use max or average", c.Pool)
	}
	return c, c.dense().Validate()
}

// after returns the shape of the pictures after a block of the given number of filters.
func (c Conv) after(p Picture, filters int) Picture {
	return Picture{filters, p.Height / poolSide, p.Width / poolSide}
}

// features returns the shape of the pictures after all blocks.
func (c Conv) features() Picture {
	p := c.Picture
	for _, n := range c.Channels {
		p = c.after(p, n)
	}
	return p
}

// dense returns the network after the blocks.
func (c Conv) dense() Spec {
	return Spec{Inputs: c.features().Pixels(), Hidden: c.Hidden, Outputs: c.Outputs, Activation: c.Activation}.WithDefaults()
}

// reluGain is the gain of filters before relu: the variance of a layer's outputs is about that of
// its inputs (He and others, 2015).
var reluGain = math.Sqrt(6)

// Parameters implements Architecture: conv.0.weight [k, c, 3, 3], conv.0.bias [k], conv.1.weight,
// ..., then the parameters of the network after the blocks as in [Spec.Parameters], the last of
// which are output.weight and output.bias.
func (c Conv) Parameters() []Parameter {
	var list []Parameter
	from := c.Picture.Channels
	for k, n := range c.Channels {
		list = append(list,
			Parameter{Name: fmt.Sprintf("conv.%d.weight", k), Shape: []int{n, from, filterSide, filterSide}, FanIn: from * filterSide * filterSide, Gain: reluGain},
			Parameter{Name: fmt.Sprintf("conv.%d.bias", k), Shape: []int{n}})
		from = n
	}
	for _, p := range c.dense().Parameters() {
		p.FirstLayer, p.Name = false, strings.Replace(p.Name, "linear", "output", 1)
		list = append(list, p)
	}
	return list
}

// Multiplications returns the number of products of a row's forward pass.
func (c Conv) Multiplications() int {
	p, sum := c.Picture, 0
	for _, n := range c.Channels {
		sum += p.Pixels() * n * filterSide * filterSide
		p = c.after(p, n)
	}
	for _, l := range c.dense().head(0) {
		sum += l.in * l.out
	}
	return sum
}

// Scores implements Architecture.
func (c Conv) Scores(x *gorgonia.Node, parameters gorgonia.Nodes) (*gorgonia.Node, error) {
	n, p := x.Shape()[0], c.Picture
	a, err := gorgonia.Reshape(x, tensor.Shape{n, p.Channels, p.Height, p.Width})
	if err != nil {
		return nil, err
	}
	for k, filters := range c.Channels {
		if a, err = c.block(a, parameters[2*k], parameters[2*k+1]); err != nil {
			return nil, fmt.Errorf("models: block %d of the convolutional network: %w", k, err)
		}
		p = c.after(p, filters)
	}
	if a, err = gorgonia.Reshape(a, tensor.Shape{n, p.Pixels()}); err != nil {
		return nil, err
	}
	return c.dense().Scores(a, parameters[2*len(c.Channels):])
}

// block returns pool(act(A * F + b)).
func (c Conv) block(a, filters, bias *gorgonia.Node) (*gorgonia.Node, error) {
	z, err := Convolve(a, filters, bias)
	if err != nil {
		return nil, err
	}
	if z, err = activate(c.Activation, z); err != nil {
		return nil, err
	}
	if c.Pool == AveragePool {
		return Average(z)
	}
	return gorgonia.MaxPool2D(z, tensor.Shape{poolSide, poolSide}, []int{0, 0}, []int{poolSide, poolSide})
}

// Average returns the means of 2 x 2 pixels of each channel in steps of 2 [n, c, h/2, w/2] of the
// pictures A [n, c, h, w]. It is a convolution with constant filters, because the derivative of
// Gorgonia's AveragePool2D is wrong.
func Average(a *gorgonia.Node) (*gorgonia.Node, error) {
	c := a.Shape()[1]
	filters := tensor.New(tensor.Of(a.Dtype()), tensor.WithShape(c, c, poolSide, poolSide))
	const places = poolSide * poolSide
	for k := range c {
		for i := range places {
			if at := (k*c+k)*places + i; a.Dtype() == tensor.Float32 {
				filters.Float32s()[at] = 1.0 / places
			} else {
				filters.Float64s()[at] = 1.0 / places
			}
		}
	}
	node := gorgonia.NewTensor(a.Graph(), a.Dtype(), 4, gorgonia.WithShape(filters.Shape()...), gorgonia.WithValue(filters),
		gorgonia.WithName(fmt.Sprintf("average.%d.%d", c, a.ID())))
	return gorgonia.Conv2d(a, node, tensor.Shape{poolSide, poolSide}, []int{0, 0}, []int{poolSide, poolSide}, []int{1, 1})
}

// Convolve returns the pictures A * F + b [n, k, h, w] of the pictures A [n, c, h, w]: the
// cross-correlation with the filters F [k, c, 3, 3], with a padding of one pixel, plus the bias
// b [1, k] of each channel.
func Convolve(a, filters, bias *gorgonia.Node) (*gorgonia.Node, error) {
	z, err := gorgonia.Conv2d(a, filters, tensor.Shape{filterSide, filterSide}, []int{padding, padding}, []int{1, 1}, []int{1, 1})
	if err != nil {
		return nil, err
	}
	if bias, err = gorgonia.Reshape(bias, tensor.Shape{1, filters.Shape()[0], 1, 1}); err != nil {
		return nil, err
	}
	return gorgonia.BroadcastAdd(z, bias, nil, []byte{0, 2, 3})
}

// String names the layers, such as "conv 16-32, dense 64".
func (c Conv) String() string {
	list := func(numbers []int) string {
		return strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", "-"), "[]")
	}
	text := "conv " + list(c.Channels)
	if len(c.Hidden) > 0 {
		text += ", dense " + list(c.Hidden)
	}
	return text
}

// PredictRows implements HostPredictor.
func (c Conv) PredictRows(scores, rows []float64, weights Weights) {
	features := c.features().Pixels()
	inputs := make([]float64, len(rows)/c.Picture.Pixels()*features)
	h := newHostConv(c)
	for i := range len(inputs) / features {
		copy(inputs[i*features:], h.blocks(rows[i*c.Picture.Pixels():(i+1)*c.Picture.Pixels()], weights))
	}
	c.dense().PredictRows(scores, inputs, weights[2*len(c.Channels):])
}

// ONNX implements Exporter. The blocks compute in single precision, and the layers after them in
// double precision.
func (c Conv) ONNX(g ONNXGraph, weights Weights, x string) (string, error) {
	p := c.Picture
	a := g.Apply("Reshape", []string{x, g.Ints([]int64{-1, int64(p.Channels), int64(p.Height), int64(p.Width)}, 4)}, nil)
	square := func(n int64) []int64 { return slices.Repeat([]int64{n}, 2) }
	single := func(x string) string { return g.Apply("Cast", []string{x}, map[string]any{"to": onnxFloat}) }
	a = single(a) // ONNX Runtime has no Conv of doubles
	for k := range c.Channels {
		w, b := weights[2*k], weights[2*k+1]
		a = g.Apply("Conv", []string{a, single(g.Doubles(w.Data, w.Shape...)), single(g.Doubles(b.Data, b.Shape...))},
			map[string]any{"kernel_shape": square(filterSide), "pads": slices.Repeat([]int64{padding}, 4)})
		a = g.Apply(onnxActivation(c.Activation), []string{a}, nil)
		a = g.Apply(map[Pool]string{MaxPool: "MaxPool", AveragePool: "AveragePool"}[c.Pool], []string{a}, map[string]any{"kernel_shape": square(poolSide), "strides": square(poolSide)})
	}
	a = g.Apply("Cast", []string{g.Apply("Flatten", []string{a}, nil)}, map[string]any{"to": onnxDouble})
	return c.dense().ONNX(g, weights[2*len(c.Channels):], a)
}
