package models

import "ppal/internal/option"

// The texts of the setting model.
const (
	linearText  = "linear"
	networkText = "mlp"
)

// Options returns the settings of the model's shape, bound to the fields of s: the flags of ppal
// train.
func (s *Spec) Options() []*option.Option {
	layers := option.If("model", networkText)
	return []*option.Option{
		option.Words("model", s.kindText, s.setKind, "choose linear scores or a network of hidden layers", linearText, networkText),
		option.Counts("hidden", &s.Hidden, option.AtLeast(1), "N[,N...]", "set the number of units of each hidden layer, per head").With(layers),
		option.Choice("activation", &s.Activation, "choose the function between the layers", Sigmoid, ReLU, Tanh).With(layers),
		option.Choice("heads", &s.Heads, "train one shared network for all classes, or a separate one for each class", Shared, Separate).With(layers),
	}
}

// kindText is the text of model.
func (s *Spec) kindText() string {
	if len(s.Hidden) == 0 {
		return linearText
	}
	return networkText
}

// setKind reads model. A network has one layer until hidden is read.
func (s *Spec) setKind(word string) {
	switch {
	case word == linearText:
		s.Hidden = nil
	case len(s.Hidden) == 0:
		s.Hidden = []int{1}
	}
}
