// Package models builds the scores of classifiers as Gorgonia nodes: linear models, and networks
// with any number of hidden layers, either one network for all classes (shared heads) or one
// network for each class (separate heads).
//
// An [Architecture] describes a model; a [Spec] is that of a linear model or a network, and a
// program may have architectures of its own. [Weights] are the parameters on the host, in float64
// and in PyTorch's layout. A [Network] holds the parameters as nodes of a Gorgonia graph and
// returns the scores f(x), an n x C node for n rows and C classes. [Save] and [Load] keep a [Model]
// in a safetensors file, which torch.nn.Linear modules with the same names load. [Predict] computes
// the same scores on the host.
//
// The package knows neither constraints nor devices.
package models

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrSpec says that an [Architecture] is not valid. Every error about an architecture wraps it.
var ErrSpec = errors.New("invalid model")

// Activation names the element-wise function between a network's layers.
type Activation string

// The activations. The empty string means Sigmoid.
const (
	Sigmoid Activation = "sigmoid" // 1/(1 + exp(-z))
	ReLU    Activation = "relu"    // max(0, z); its derivative at 0 is 1
	Tanh    Activation = "tanh"

	LeakyReLU Activation = "leaky-relu" // z for z >= 0, z/100 below 0; its derivative at 0 is 1
	Softplus  Activation = "softplus"   // log(1 + exp(z))
)

// activations lists the activations, and their names for messages.
var activations = []Activation{Sigmoid, ReLU, Tanh, LeakyReLU, Softplus}

const activationNames = "sigmoid, relu, tanh, leaky-relu or softplus"

// Kinked reports whether the function has a kink.
func (a Activation) Kinked() bool { return a == ReLU || a == LeakyReLU }

// Heads says whether the classes share one network.
type Heads string

// The kinds of heads. The empty string means Shared.
const (
	Shared   Heads = "shared"   // one network with C outputs
	Separate Heads = "separate" // C networks with one output each, in the order of the classes
)

// Spec describes a model with the scores f(x) in R^Outputs of a row x in R^Inputs,
//
//	a_0 = x,   a_k = act(a_{k-1} W_k^T + b_k),   f = a_K W_out^T + b_out
//
// with one hidden layer a_k of Hidden[k-1] units for each k = 1..K. K = 0 is the linear model. With
// separate heads each class has its own network of the same widths, whose single output is f_i.
type Spec struct {
	Inputs int `json:"inputs"` // features of a row, at least 1
	// units of each hidden layer (of each head), at least 1; empty: linear
	Hidden     []int      `json:"hidden"`
	Outputs    int        `json:"outputs"`    // number of classes, at least 1
	Activation Activation `json:"activation"` // empty: Sigmoid; a linear model ignores it
	Heads      Heads      `json:"heads"`      // empty: Shared; Separate requires a hidden layer
}

// MaxParameters is the largest number of parameters that a model may have. Training and saving a
// model takes about 280 bytes for each parameter, as measured (the iterate, gradients, a method's
// other vectors, the certificate and the file in float64), so this many parameters need 9 GB.
const MaxParameters = 1 << 25

// Validate returns an error that wraps [ErrSpec] if the description is not valid.
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
	if s.Activation != "" && !slices.Contains(activations, s.Activation) {
		return fmt.Errorf("models: %w: unknown activation %q, use %s", ErrSpec, s.Activation, activationNames)
	}
	switch s.Heads {
	case "", Shared:
	case Separate:
		if len(s.Hidden) == 0 {
			return fmt.Errorf("models: %w: separate heads need a hidden layer (the classes of a linear model share no weights)", ErrSpec)
		}
	default:
		return fmt.Errorf("models: %w: unknown heads %q, use shared or separate", ErrSpec, s.Heads)
	}
	return s.checkSize()
}

// checkSize refuses more than MaxParameters parameters, and more than MaxTensors tensors. No sum
// overflows: a layer of two widths of 31 bits has less than 2^62 + 2^31 parameters.
func (s Spec) checkSize() error {
	left := int64(MaxParameters / s.heads())
	for _, l := range s.head(0) {
		if left -= (int64(l.in) + 1) * int64(l.out); left < 0 {
			return fmt.Errorf("models: %w: %d inputs, hidden layers of %v units and %d outputs have more than %d parameters: use fewer units",
				ErrSpec, s.Inputs, s.Hidden, s.Outputs, MaxParameters)
		}
	}
	if tensors := 2 * int64(len(s.Hidden)+1) * int64(s.heads()); tensors > MaxTensors {
		return fmt.Errorf("models: %w: %d heads with %d hidden layers have %d tensors, expected at most %d: use shared heads or fewer layers",
			ErrSpec, s.heads(), len(s.Hidden), tensors, MaxTensors)
	}
	return nil
}

// checkWidth refuses widths outside 1..MaxInt32. The upper limit keeps every product of two widths
// within an int.
func checkWidth(what string, width int) error {
	if width < 1 || width > math.MaxInt32 {
		return fmt.Errorf("models: %w: %d %s, expected 1 to %d", ErrSpec, width, what, math.MaxInt32)
	}
	return nil
}

// WithDefaults returns s with empty settings replaced by their defaults.
func (s Spec) WithDefaults() Spec {
	if s.Activation == "" {
		s.Activation = Sigmoid
	}
	if s.Heads == "" {
		s.Heads = Shared
	}
	return s
}

// The kinds of a Spec.
const (
	KindLinear  = "linear"
	KindNetwork = "network"
)

// Kind implements Architecture.
func (s Spec) Kind() string {
	if len(s.Hidden) == 0 {
		return KindLinear
	}
	return KindNetwork
}

// Dims implements Architecture.
func (s Spec) Dims() (inputs, outputs int) { return s.Inputs, s.Outputs }

// Sized implements Architecture.
func (s Spec) Sized(inputs, outputs int) (Architecture, error) {
	s.Inputs, s.Outputs = inputs, outputs
	return s.WithDefaults(), s.Validate()
}

// Kinks implements Kinked.
func (s Spec) Kinks() bool { return len(s.Hidden) > 0 && s.Activation.Kinked() }

// Parameters lists the model's parameters from the first layer on, each layer's weight before its
// bias:
//
//	linear            linear.weight [C, d], linear.bias [C]
//	one hidden layer  hidden.weight [h, d], hidden.bias [h],
//	                  output.weight [C, h], output.bias [C]
//	several           hidden.0.weight, hidden.0.bias, hidden.1.weight, ...,
//	                  output.weight, output.bias
//	separate heads    head.0.hidden.weight, ..., head.0.output.weight [1, h],
//	                  head.0.output.bias [1], head.1....
func (s Spec) Parameters() []Parameter {
	var list []Parameter
	for i := range s.heads() {
		layers := s.head(i)
		for k, l := range layers {
			list = append(list,
				Parameter{Name: l.name + ".weight", Shape: []int{l.out, l.in}, FanIn: l.in, FirstLayer: k == 0},
				Parameter{Name: l.name + ".bias", Shape: []int{l.out}, FanIn: l.in, ScoreBias: k+1 == len(layers)})
		}
	}
	return list
}

// layer is one affine map. Counted over all heads, the parameters of layer k have the indices 2k
// (weight) and 2k+1 (bias) in [Spec.Parameters].
type layer struct {
	name    string
	in, out int
}

// heads returns the number of separate networks.
func (s Spec) heads() int {
	if s.Heads == Separate {
		return s.Outputs
	}
	return 1
}

// head returns the layers of network i, from the input on.
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
