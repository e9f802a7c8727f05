package models

import (
	"cmp"
	"slices"

	"ppal/internal/option"
)

// The texts of the setting model. The other texts are the kinds of the models.
const (
	TextLinear  = "linear"
	TextNetwork = "mlp"
)

// Shape has the settings of a model of this package: the flags of ppal train.
type Shape struct {
	Model      string // linear, mlp, conv, resnet, scores
	Hidden     []int
	Activation Activation
	Heads      Heads
	Channels   []int
	Pool       Pool
	Stride     int // of convolutions without pooling
	Norm       Norm
	Blocks     int
	Scores     []string
	Thresholds Thresholds
}

// ShapeOf returns the settings of a model of this package. ok is false for other models.
func ShapeOf(a Architecture) (_ Shape, ok bool) {
	switch a := a.(type) {
	case Spec:
		a = a.WithDefaults()
		if len(a.Hidden) == 0 {
			return Shape{Model: TextLinear}, true
		}
		return Shape{Model: TextNetwork, Hidden: a.Hidden, Activation: a.Activation, Heads: a.Heads}, true
	case Conv:
		return Shape{Model: KindConv, Hidden: a.Hidden, Activation: a.Activation, Channels: a.Channels, Pool: cmp.Or(a.Pool, MaxPool),
			Stride: a.Stride, Norm: cmp.Or(a.Norm, NoNorm)}, true
	case ResNet:
		return Shape{Model: KindResNet, Hidden: a.Hidden, Activation: a.Activation, Channels: a.Channels, Blocks: cmp.Or(a.Blocks, 1)}, true
	case Scores:
		return Shape{Model: KindScores, Scores: a.Columns, Thresholds: cmp.Or(a.Thresholds, OneThreshold)}, true
	}
	return Shape{}, false
}

// Architecture returns the model of the settings.
func (s Shape) Architecture() Architecture {
	switch s.Model {
	case KindConv:
		return Conv{Channels: s.Channels, Pool: s.Pool, Stride: s.Stride, Norm: s.Norm, Hidden: s.Hidden, Activation: s.Activation}
	case KindResNet:
		return ResNet{Channels: s.Channels, Blocks: s.Blocks, Hidden: s.Hidden, Activation: s.Activation}
	case KindScores:
		return Scores{Columns: s.Scores, Thresholds: s.Thresholds}
	case TextNetwork:
		return Spec{Hidden: s.Hidden, Activation: s.Activation, Heads: s.Heads}
	}
	return Spec{}
}

// The channels of networks for pictures on the command line.
const (
	DefaultChannels       = "16,32"
	DefaultResNetChannels = "16,32,64"
)

// PictureKinds lists the texts of the setting model that name networks for pictures.
func PictureKinds() []string { return []string{KindConv, KindResNet} }

// forPictures is the condition that the model is one of the networks for pictures.
func forPictures() option.Condition { return option.If("model", PictureKinds()...) }

// IsForPictures reports whether a text of the setting model names a network for pictures.
func IsForPictures(model string) bool { return slices.Contains(PictureKinds(), model) }

func init() { option.Describe((*Shape).options) }

// options returns the settings, bound to the fields of s.
func (s *Shape) options() []*option.Option {
	layers, blocks, scores := option.If("model", append([]string{TextNetwork}, PictureKinds()...)...), forPictures(), option.If("model", KindScores)
	conv := option.If("model", KindConv)
	return []*option.Option{
		option.Choice("model", &s.Model, "choose linear scores, a network of hidden layers, for pictures a convolutional or a residual network, or thresholds on the scores of a model that exists",
			TextLinear, TextNetwork, KindConv, KindResNet, KindScores),
		option.Names("score", &s.Scores, "COLUMN[,...]", "name the column with the scores of the positive class; with three or more classes a column for each, in their order").
			OrMissing("required", func() string { return "" }).With(scores),
		option.Choice("thresholds", &s.Thresholds, "learn one threshold for all rows, or one for each value of the column that the bounds compare,"+
			" which every new row then needs", OneThreshold, ByGroup).With(scores),
		option.Counts("channels", &s.Channels, option.AtLeast(1), "N[,N...]", "set the number of 3 x 3 filters of each block of convolution and pooling, or of each stage of a resnet").
			For(DefaultResNetChannels, option.If("model", KindResNet)).Or(DefaultChannels).With(blocks),
		option.Choice("pool", &s.Pool, "take the largest or the mean of 2 x 2 pixels in each block, or all pixels", MaxPool, AveragePool, NoPool).With(conv),
		option.Count("stride", &s.Stride, option.AtLeast(1), "set the step of the convolutions in pixels").Or("2").With(conv, option.If("pool", string(NoPool))),
		option.Choice("norm", &s.Norm, "normalize channels after each convolution; group: in gcd(channels, 8) groups", NoNorm, GroupNorm).With(conv),
		option.Count("blocks", &s.Blocks, option.AtLeast(1), "set the number of blocks of each stage").Or("1").With(option.If("model", KindResNet)),
		option.Counts("hidden", &s.Hidden, option.AtLeast(1), "N[,N...]", "set the number of units of each hidden layer, per head; for pictures after the blocks").
			For("", blocks).With(layers),
		option.Choice("activation", &s.Activation, "choose the function between the layers", activations...).
			For(string(ReLU), blocks).With(layers),
		option.Choice("heads", &s.Heads, "train one shared network for all classes, or a separate one for each class", Shared, Separate).
			With(option.If("model", TextNetwork)),
	}
}
