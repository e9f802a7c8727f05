package models

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// ErrWeights says that weights do not fit an [Architecture]. Every error about weights wraps it.
var ErrWeights = errors.New("weights do not fit the model")

// Tensor holds the values of one parameter on the host: row-major, in PyTorch's layout.
type Tensor struct {
	Name  string
	Shape []int
	Data  []float64
}

// Weights are a model's parameters, in the order of [Architecture.Parameters].
type Weights []Tensor

// Init draws the initial weights as torch.nn.Linear does by default: weight and bias of a layer are
// uniform in [-b, b) with b = 1/sqrt(fan_in), where fan_in is [Parameter.FanIn], the number of the
// layer's inputs; [Parameter.Gain] multiplies b. (PyTorch's kaiming_uniform_ with a = sqrt(5) has
// the same bound, sqrt(6/((1 + a^2) fan_in)).)
//
// The order of the draws is part of the contract, so a seed always gives the same weights: one
// rng.Float64 for each value, u -> (2u - 1) b, through the tensors in the order of
// [Architecture.Parameters], each row by row. Pass rand.New(rand.NewPCG(seed, stream)).
func Init(a Architecture, rng *rand.Rand) (Weights, error) {
	a, err := completed(a)
	if err != nil {
		return nil, err
	}
	var weights Weights
	for _, p := range a.Parameters() {
		t := Tensor{Name: p.Name, Shape: p.Shape, Data: make([]float64, size(p.Shape))}
		for i := range t.Data {
			t.Data[i] = p.Start
		}
		if p.FanIn > 0 {
			bound := cmp.Or(p.Gain, 1) / math.Sqrt(float64(p.FanIn))
			for i := range t.Data {
				t.Data[i] = (2*rng.Float64() - 1) * bound
			}
		}
		weights = append(weights, t)
	}
	return weights, nil
}

// Clone returns a deep copy.
func (w Weights) Clone() Weights {
	clone := slices.Clone(w)
	for i, t := range clone {
		clone[i].Shape, clone[i].Data = slices.Clone(t.Shape), slices.Clone(t.Data)
	}
	return clone
}

// Check compares the weights with the model: names and their order, shapes, lengths, and that all
// values are finite. An error names the tensor and wraps [ErrWeights].
func (w Weights) Check(a Architecture) error {
	a, err := completed(a)
	if err != nil {
		return err
	}
	parameters := a.Parameters()
	for i, p := range parameters {
		if i == len(w) {
			return fmt.Errorf("models: %w: %d tensors, %q of shape %v is missing", ErrWeights, len(w), p.Name, p.Shape)
		}
		if w[i].Name != p.Name {
			return fmt.Errorf("models: %w: tensor %d is %q, expected %q", ErrWeights, i, w[i].Name, p.Name)
		}
		if err := w[i].check(p.Shape); err != nil {
			return err
		}
	}
	if n := len(parameters); n < len(w) {
		return fmt.Errorf("models: %w: %q is not a tensor of the model, which has %d tensors", ErrWeights, w[n].Name, n)
	}
	return nil
}

// check compares t with the expected shape.
func (t Tensor) check(shape []int) error {
	if !slices.Equal(t.Shape, shape) {
		return fmt.Errorf("models: %w: %s has shape %v, expected %v", ErrWeights, t.Name, t.Shape, shape)
	}
	if len(t.Data) != size(shape) {
		return fmt.Errorf("models: %w: %s has %d values, shape %v needs %d", ErrWeights, t.Name, len(t.Data), shape, size(shape))
	}
	for i, v := range t.Data {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("models: %w: %s is %v at %d, every value must be finite", ErrWeights, t.Name, v, i)
		}
	}
	return nil
}

func size(shape []int) int {
	n := 1
	for _, s := range shape {
		n *= s
	}
	return n
}
