package models

import (
	"cmp"

	"ppal/internal/option"
)

// The texts of the setting model. The other texts are the kinds of the models.
const (
	TextLinear  = "linear"
	TextNetwork = "mlp"
)

// Shape has the settings of a model of this package: the flags of ppal train.
type Shape struct {
	Model      string // linear, mlp, conv
	Hidden     []int
	Activation Activation
	Heads      Heads
	Channels   []int
	Pool       Pool
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
		return Shape{Model: KindConv, Hidden: a.Hidden, Activation: a.Activation, Channels: a.Channels, Pool: cmp.Or(a.Pool, MaxPool)}, true
	}
	return Shape{}, false
}

// Architecture returns the model of the settings.
func (s Shape) Architecture() Architecture {
	switch s.Model {
	case KindConv:
		return Conv{Channels: s.Channels, Pool: s.Pool, Hidden: s.Hidden, Activation: s.Activation}
	case TextNetwork:
		return Spec{Hidden: s.Hidden, Activation: s.Activation, Heads: s.Heads}
	}
	return Spec{}
}

// DefaultChannels are the channels of a convolutional network on the command line.
const DefaultChannels = "16,32"

// Options returns the settings, bound to the fields of s.
func (s *Shape) Options() []*option.Option {
	layers, blocks := option.If("model", TextNetwork, KindConv), option.If("model", KindConv)
	return []*option.Option{
		option.Choice("model", &s.Model, "choose linear scores, a network of hidden layers, or a convolutional network for pictures", TextLinear, TextNetwork, KindConv),
		option.Counts("channels", &s.Channels, option.AtLeast(1), "N[,N...]", "set the number of filters of each block of 3 x 3 convolution and 2 x 2 pooling").
			Or(DefaultChannels).With(blocks),
		option.Choice("pool", &s.Pool, "take the largest or the mean of 2 x 2 pixels in each block", MaxPool, AveragePool).With(blocks),
		option.Counts("hidden", &s.Hidden, option.AtLeast(1), "N[,N...]", "set the number of units of each hidden layer, per head; with conv after the blocks").
			For("", blocks).With(layers),
		option.Choice("activation", &s.Activation, "choose the function between the layers", Sigmoid, ReLU, Tanh).
			For(string(ReLU), blocks).With(layers),
		option.Choice("heads", &s.Heads, "train one shared network for all classes, or a separate one for each class", Shared, Separate).
			With(option.If("model", TextNetwork)),
	}
}
