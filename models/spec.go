// Package models defines classifiers' scores as Gorgonia nodes: linear models
// and networks with any number of hidden layers, with one network for all
// classes (shared heads) or one per class (separate heads).
//
// A [Spec] says which model; [Weights] are its parameters on the host, in
// float64 and in PyTorch's layout; a [Network] holds them as nodes of a Gorgonia
// graph and gives the scores f(x), an n x C node for n rows and C classes. [Save]
// and [Load] keep a [Model] in a safetensors file that torch.nn.Linear modules
// of the same names load. [Predict] computes the same scores without Gorgonia.
//
// The package knows neither constraints nor devices.
package models

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
)

// ErrSpec is wrapped by every error about a [Spec] that describes no model.
var ErrSpec = errors.New("invalid model")

// Activation is the function between a network's layers, element by element.
type Activation string

// The activations. The empty string means Sigmoid.
const (
	Sigmoid Activation = "sigmoid" // 1/(1 + exp(-z))
	ReLU    Activation = "relu"    // max(0, z); its derivative at 0 is taken as 1
	Tanh    Activation = "tanh"
)

// Heads says how the classes' scores share a network.
type Heads string

// The kinds of heads. The empty string means Shared.
const (
	Shared   Heads = "shared"   // one network with C outputs
	Separate Heads = "separate" // C networks with one output each, in the order of the classes
)

// Spec describes a model: scores f(x) in R^Outputs of a row x in R^Inputs,
//
//	a_0 = x,   a_k = act(a_{k-1} W_k^T + b_k),   f = a_K W_out^T + b_out
//
// with one hidden layer a_k of Hidden[k-1] units for each k = 1..K. K = 0 is the
// linear model. With separate heads each class has such a network of its own, of
// the same widths, and its f_i is that network's one output.
type Spec struct {
	Inputs     int        `json:"inputs"`     // features of a row, at least 1
	Hidden     []int      `json:"hidden"`     // units of each hidden layer (of each head), at least 1; empty: linear
	Outputs    int        `json:"outputs"`    // classes, at least 1
	Activation Activation `json:"activation"` // empty: Sigmoid; a linear model has no use for it
	Heads      Heads      `json:"heads"`      // empty: Shared; Separate needs a hidden layer
}

// MaxParameters is the largest number of parameters that a model may have. To train
// and save one takes about 280 bytes for each, measured (the iterate, gradients, a
// method's other vectors, the certificate and the file in float64): this many need
// 9 GB.
const MaxParameters = 1 << 25

// Validate says what is wrong with the description, in an error that wraps [ErrSpec].
func (s Spec) Validate() error {
	if err := checkWidth("inputs", s.Inputs); err != nil {
		return err
	}
	if err := checkWidth("outputs", s.Outputs); err != nil {
		return err
	}
	for i, width := range s.Hidden {
		if err := checkWidth(fmt.Sprintf("units in hidden layer %d", i), width); err != nil {
			return err
		}
	}
	switch s.Activation {
	case "", Sigmoid, ReLU, Tanh:
	default:
		return fmt.Errorf("models: %w: unknown activation %q, use sigmoid, relu or tanh", ErrSpec, s.Activation)
	}
	switch s.Heads {
	case "", Shared:
	case Separate:
		if len(s.Hidden) == 0 {
			return fmt.Errorf("models: %w: separate heads need a hidden layer (a linear model's classes share nothing anyway)", ErrSpec)
		}
	default:
		return fmt.Errorf("models: %w: unknown heads %q, use shared or separate", ErrSpec, s.Heads)
	}
	return s.checkSize()
}

// checkSize refuses more parameters than MaxParameters. No sum overflows: a
// layer of two widths of 31 bits has less than 2^62 + 2^31.
func (s Spec) checkSize() error {
	left := int64(MaxParameters / s.heads())
	for _, l := range s.head(0) {
		if left -= (int64(l.in) + 1) * int64(l.out); left < 0 {
			return fmt.Errorf("models: %w: %d inputs, hidden layers of %v units and %d outputs have more than %d parameters: use fewer units",
				ErrSpec, s.Inputs, s.Hidden, s.Outputs, MaxParameters)
		}
	}
	return nil
}

// checkWidth refuses what is no layer's width. The upper limit keeps every
// product of two widths in an int.
func checkWidth(what string, width int) error {
	if width < 1 || width > math.MaxInt32 {
		return fmt.Errorf("models: %w: %d %s, expected 1 to %d", ErrSpec, width, what, math.MaxInt32)
	}
	return nil
}

// WithDefaults returns s with the empty settings replaced by what they mean.
func (s Spec) WithDefaults() Spec {
	if s.Activation == "" {
		s.Activation = Sigmoid
	}
	if s.Heads == "" {
		s.Heads = Shared
	}
	return s
}

// Equal says whether both describe the same model; defaults count as what they mean.
func (s Spec) Equal(other Spec) bool {
	s, other = s.WithDefaults(), other.WithDefaults()
	return s.Inputs == other.Inputs && slices.Equal(s.Hidden, other.Hidden) && s.Outputs == other.Outputs &&
		s.Activation == other.Activation && s.Heads == other.Heads
}

// Parameter is a parameter's name and its shape in PyTorch's layout: a layer's
// weight is [outputs, inputs], its bias [outputs].
type Parameter struct {
	Name  string
	Shape []int
}

// Parameters lists the model's parameters in their order, each layer's weight
// before its bias and the layers from the input on:
//
//	linear            linear.weight [C, d], linear.bias [C]
//	one hidden layer  hidden.weight [h, d], hidden.bias [h], output.weight [C, h], output.bias [C]
//	several           hidden.0.weight, hidden.0.bias, hidden.1.weight, ..., output.weight, output.bias
//	separate heads    head.0.hidden.weight, ..., head.0.output.weight [1, h], head.0.output.bias [1], head.1....
func (s Spec) Parameters() []Parameter {
	return slices.Collect(s.parameters())
}

// parameters walks through [Spec.Parameters] without building the list, which a
// description from a file could make as long as it likes.
func (s Spec) parameters() iter.Seq[Parameter] {
	return func(yield func(Parameter) bool) {
		for i := range s.heads() {
			for _, l := range s.head(i) {
				if !yield(Parameter{l.name + ".weight", []int{l.out, l.in}}) ||
					!yield(Parameter{l.name + ".bias", []int{l.out}}) {
					return
				}
			}
		}
	}
}

// layer is one affine map. The k-th layer's parameters, counted through all
// heads, are number 2k (weight) and 2k+1 (bias) of [Spec.Parameters].
type layer struct {
	name    string
	in, out int
}

// heads returns how many networks stand side by side.
func (s Spec) heads() int {
	if s.Heads == Separate {
		return s.Outputs
	}
	return 1
}

// head returns the i-th network's layers from the input on.
func (s Spec) head(i int) []layer {
	if s.Heads == Separate {
		return s.chain(fmt.Sprintf("head.%d.", i), 1)
	}
	return s.chain("", s.Outputs)
}

func (s Spec) chain(prefix string, outputs int) []layer {
	if len(s.Hidden) == 0 {
		return []layer{{prefix + "linear", s.Inputs, outputs}}
	}
	var chain []layer
	in := s.Inputs
	for i, width := range s.Hidden {
		name := prefix + "hidden"
		if len(s.Hidden) > 1 {
			name = fmt.Sprintf("%shidden.%d", prefix, i)
		}
		chain = append(chain, layer{name, in, width})
		in = width
	}
	return append(chain, layer{prefix + "output", in, outputs})
}
