package models

import (
	"cmp"
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
)

// ResNet describes a residual network of basic blocks (He and others, "Deep Residual Learning for
// Image Recognition", 2016, for small pictures) with group normalization (Wu and He, 2018). The
// first layer is act(norm(A * F)) with Channels[0] filters of 3 x 3. Stage i has Blocks blocks
//
//	B = act(norm(act(norm(A * F_1)) * F_2) + S(A))
//
// with Channels[i] filters of 3 x 3. The first block of each stage but the first takes steps of 2
// pixels; S is the identity, or norm(A * F_3) with filters of 1 x 1 where the shape changes. The
// means of the last channels are the features of a network with the layers Hidden and the scores as
// outputs, as in a [Spec].
type ResNet struct {
	Picture    Picture    `json:"picture"`
	Channels   []int      `json:"channels"`   // filters of each stage, at least 1
	Blocks     int        `json:"blocks"`     // of each stage; 0: 1
	Hidden     []int      `json:"hidden"`     // units of each layer after the means; empty: none
	Outputs    int        `json:"outputs"`    // number of classes, at least 1
	Activation Activation `json:"activation"` // empty: ReLU
}

// KindResNet is the kind of a ResNet.
const KindResNet = "resnet"

var (
	_ OfPictures    = ResNet{}
	_ Kinked        = ResNet{}
	_ HostPredictor = ResNet{}
	_ Exporter      = ResNet{}
)

// Kind implements Architecture.
func (r ResNet) Kind() string { return KindResNet }

// Dims implements Architecture.
func (r ResNet) Dims() (inputs, outputs int) { return r.Picture.Pixels(), r.Outputs }

// On implements OfPictures.
func (r ResNet) On(p Picture) Architecture {
	r.Picture = p
	return r
}

// Kinks implements Kinked.
func (r ResNet) Kinks() bool { return r.Activation.Kinked() }

// Sized implements Architecture.
func (r ResNet) Sized(inputs, outputs int) (Architecture, error) {
	r.Outputs, r.Activation = outputs, cmp.Or(r.Activation, ReLU)
	r.Blocks = cmp.Or(r.Blocks, 1)
	if err := checkPictures("a residual network", r.Picture, inputs, r.Channels, r.Activation); err != nil {
		return nil, err
	}
	if r.Blocks < 1 || r.Blocks > math.MaxInt8 {
		return nil, fmt.Errorf("models: %w: a residual network has %d blocks in each stage, expected 1 to %d", ErrSpec, r.Blocks, math.MaxInt8)
	}
	return r, r.dense().Validate()
}

// residual returns the means of the last channels.
func residual[V any](r ResNet, l layers[V], a V) V {
	a = l.activate(l.normalize(l.convolve(a, "conv1", r.Channels[0], filterSide, 1, false), "bn1"), r.Activation)
	shape, from := r.Picture, r.Channels[0]
	for i, n := range r.Channels {
		for k := range r.Blocks {
			name, stride := fmt.Sprintf("layer%d.%d.", i+1, k), 1
			if i > 0 && k == 0 {
				stride = 2
			}
			b := l.activate(l.normalize(l.convolve(a, name+"conv1", n, filterSide, stride, false), name+"bn1"), r.Activation)
			b = l.normalize(l.convolve(b, name+"conv2", n, filterSide, 1, false), name+"bn2")
			if stride > 1 || n != from {
				a = l.normalize(l.convolve(a, name+"downsample.0", n, 1, stride, false), name+"downsample.1")
			}
			a = l.activate(l.add(b, a), r.Activation)
			shape, from = shape.convolved(n, filterSide, stride), n
		}
	}
	return l.pool(a, AveragePool, shape.Height, shape.Width)
}

// dense returns the network after the means.
func (r ResNet) dense() Spec {
	return Spec{Inputs: r.Channels[len(r.Channels)-1], Hidden: r.Hidden, Outputs: r.Outputs, Activation: r.Activation}.WithDefaults()
}

// Parameters implements Architecture, with the names of torchvision's residual networks:
// conv1.weight [k, c, 3, 3], bn1.weight [k], bn1.bias [k], layer1.0.conv1.weight,
// layer1.0.bn1.weight, ..., layer2.0.downsample.0.weight [k, c, 1, 1], ..., then the parameters of
// the network after the means as in [Spec.Parameters], the last of which are output.weight and
// output.bias.
func (r ResNet) Parameters() []Parameter {
	var t tracer
	residual(r, &t, r.Picture)
	return append(t.parameters, outputsOf(r.dense())...)
}

// Scores implements Architecture.
func (r ResNet) Scores(x *gorgonia.Node, parameters gorgonia.Nodes) (*gorgonia.Node, error) {
	return pictureScores(x, parameters, r.Picture, r.dense(), func(l layers[*gorgonia.Node], a *gorgonia.Node) *gorgonia.Node {
		return residual(r, l, a)
	})
}

// String names the stages, such as "resnet 16-32-64 with 2 blocks each".
func (r ResNet) String() string {
	text := "resnet " + dashed(r.Channels)
	if r.Blocks > 1 {
		text += fmt.Sprintf(" with %d blocks each", r.Blocks)
	}
	if len(r.Hidden) > 0 {
		text += ", dense " + dashed(r.Hidden)
	}
	return text
}

// PredictRows implements HostPredictor.
func (r ResNet) PredictRows(scores, rows []float64, weights Weights) {
	predictPictures(scores, rows, weights, r.Picture, r.dense(), func(l layers[numbers], a numbers) numbers { return residual(r, l, a) })
}

// ONNX implements Exporter. The blocks compute in single precision, and the layers after them in
// double precision.
func (r ResNet) ONNX(g ONNXGraph, weights Weights, x string) (string, error) {
	return pictureONNX(g, weights, x, r.Picture, r.dense(), func(l layers[onnxPicture], a onnxPicture) onnxPicture { return residual(r, l, a) })
}
