package models

import (
	"cmp"
	"fmt"

	"gorgonia.org/gorgonia"

	"ppal/internal/option"
)

// Conv describes a convolutional network. With A_0 the picture of a row, block k = 1..K is
//
//	A_k = pool(act(norm(A_{k-1} * F_k + b_k)))
//
// where * is the cross-correlation with Channels[k-1] filters of 3 x 3, a padding of one pixel and
// steps of Stride pixels (torch.nn.Conv2d), and pool takes the largest or the mean of 2 x 2 pixels
// in steps of 2. An odd last line or column is left out. A block with a normalization
// (torch.nn.GroupNorm) has no b_k. The numbers of A_K, channel by channel, are the features of a
// network with the layers Hidden and the scores as outputs, as in a [Spec].
type Conv struct {
	Picture    Picture    `json:"picture"`
	Channels   []int      `json:"channels"`   // filters of each block, at least 1
	Pool       Pool       `json:"pool"`       // empty: MaxPool
	Stride     int        `json:"stride"`     // 0: 1, and 2 with NoPool
	Norm       Norm       `json:"norm"`       // empty: NoNorm
	Hidden     []int      `json:"hidden"`     // units of each layer after the blocks; empty: none
	Outputs    int        `json:"outputs"`    // number of classes, at least 1
	Activation Activation `json:"activation"` // empty: ReLU
}

// KindConv is the kind of a Conv.
const KindConv = "conv"

var (
	_ OfPictures    = Conv{}
	_ Kinked        = Conv{}
	_ HostPredictor = Conv{}
	_ Exporter      = Conv{}
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

// Kinks implements Kinked: some activations and the largest of several pixels have kinks.
func (c Conv) Kinks() bool { return c.Activation.Kinked() || c.Pool == MaxPool }

// Sized implements Architecture.
func (c Conv) Sized(inputs, outputs int) (Architecture, error) {
	c.Outputs = outputs
	c.Activation, c.Pool, c.Norm = cmp.Or(c.Activation, ReLU), cmp.Or(c.Pool, MaxPool), cmp.Or(c.Norm, NoNorm)
	if c.Stride == 0 {
		if c.Stride = 1; c.Pool == NoPool {
			c.Stride = poolSide
		}
	}
	const what = "a convolutional network"
	if err := checkPictures(what, c.Picture, inputs, c.Channels, c.Activation); err != nil {
		return nil, err
	}
	fail := func(format string, args ...any) (Architecture, error) {
		return nil, fmt.Errorf("models: %w: "+what+" "+format, append([]any{ErrSpec}, args...)...)
	}
	switch {
	case c.Pool != MaxPool && c.Pool != AveragePool && c.Pool != NoPool:
		return fail("has the unknown pooling %q, use max, average or none", c.Pool)
	case c.Norm != NoNorm && c.Norm != GroupNorm:
		return fail("has the unknown normalization %q, use none or group", c.Norm)
	case c.Stride < 1 || c.Stride > 1 && c.Pool != NoPool:
		return fail("has steps of %d pixels and pooling %s, expected steps of 1, or no pooling", c.Stride, c.Pool)
	}
	for i := range c.Channels {
		if p := c.traced(&tracer{}, i+1); min(p.Height, p.Width) < 1 {
			advice := "the pooling none"
			if i > 0 {
				advice = fmt.Sprintf("at most %s of channels", option.Counted(i, "number"))
			}
			return fail("of %s is too deep for pictures of %v: block %d has no pixels left, use %s",
				option.Counted(len(c.Channels), "block"), c.Picture, i+1, advice)
		}
	}
	return c, c.dense().Validate()
}

// convBlocks returns the picture after the first blocks.
func convBlocks[V any](c Conv, blocks int, l layers[V], a V) V {
	for k, n := range c.Channels[:blocks] {
		a = l.convolve(a, fmt.Sprintf("conv.%d", k), n, filterSide, c.Stride, c.Norm != GroupNorm)
		if c.Norm == GroupNorm {
			a = l.normalize(a, fmt.Sprintf("norm.%d", k))
		}
		if a = l.activate(a, c.Activation); c.Pool != NoPool {
			a = l.pool(a, c.Pool, poolSide, poolSide)
		}
	}
	return a
}

// traced returns the shape after the first blocks.
func (c Conv) traced(t *tracer, blocks int) Picture {
	return convBlocks(c, blocks, t, c.Picture)
}

// dense returns the network after the blocks.
func (c Conv) dense() Spec {
	features := c.traced(&tracer{}, len(c.Channels)).Pixels()
	return Spec{Inputs: features, Hidden: c.Hidden, Outputs: c.Outputs, Activation: c.Activation}.WithDefaults()
}

// Parameters implements Architecture: conv.0.weight [k, c, 3, 3], conv.0.bias [k], conv.1.weight,
// ..., then the parameters of the network after the blocks as in [Spec.Parameters], the last of
// which are output.weight and output.bias. With a normalization, norm.0.weight [k] and norm.0.bias
// [k] follow conv.0.weight, and so on.
func (c Conv) Parameters() []Parameter {
	var t tracer
	c.traced(&t, len(c.Channels))
	return append(t.parameters, outputsOf(c.dense())...)
}

// Scores implements Architecture.
func (c Conv) Scores(x *gorgonia.Node, parameters gorgonia.Nodes) (*gorgonia.Node, error) {
	return pictureScores(x, parameters, c.Picture, c.dense(), func(l layers[*gorgonia.Node], a *gorgonia.Node) *gorgonia.Node {
		return convBlocks(c, len(c.Channels), l, a)
	})
}

// String names the layers, such as "conv 16-32, group norm, dense 64".
func (c Conv) String() string {
	text := "conv " + dashed(c.Channels)
	if c.Norm == GroupNorm {
		text += ", group norm"
	}
	if c.Pool == NoPool {
		text += fmt.Sprintf(", stride %d", c.Stride)
	}
	if len(c.Hidden) > 0 {
		text += ", dense " + dashed(c.Hidden)
	}
	return text
}

// PredictRows implements HostPredictor.
func (c Conv) PredictRows(scores, rows []float64, weights Weights) {
	predictPictures(scores, rows, weights, c.Picture, c.dense(), func(l layers[numbers], a numbers) numbers {
		return convBlocks(c, len(c.Channels), l, a)
	})
}

// ONNX implements Exporter. The blocks compute in single precision, and the layers after them in
// double precision.
func (c Conv) ONNX(g ONNXGraph, weights Weights, x string) (string, error) {
	return pictureONNX(g, weights, x, c.Picture, c.dense(), func(l layers[onnxPicture], a onnxPicture) onnxPicture {
		return convBlocks(c, len(c.Channels), l, a)
	})
}
