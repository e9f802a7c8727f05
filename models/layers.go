package models

import (
	"fmt"

	"gorgonia.org/gorgonia"
)

// Scores implements Architecture. Each layer is one product, one [AddBias] and one Gorgonia
// activation. Separate heads end in one [Columns].
func (s Spec) Scores(x *gorgonia.Node, parameters gorgonia.Nodes) (*gorgonia.Node, error) {
	var outputs gorgonia.Nodes
	for i := range s.heads() {
		layers := s.head(i)
		f, err := s.headScores(x, layers, parameters)
		if err != nil {
			return nil, err
		}
		outputs = append(outputs, f)
		parameters = parameters[2*len(layers):]
	}
	if s.Heads != Separate {
		return outputs[0], nil
	}
	return Columns(outputs...)
}

// headScores returns the output of one network, whose nodes are the first in parameters.
func (s Spec) headScores(a *gorgonia.Node, layers []layer, parameters gorgonia.Nodes) (*gorgonia.Node, error) {
	for i, l := range layers {
		var err error
		if a, err = affine(a, parameters[2*i], parameters[2*i+1]); err == nil && i+1 < len(layers) {
			a, err = activate(s.Activation, a)
		}
		if err != nil {
			return nil, fmt.Errorf("models: layer %s: %w", l.name, err)
		}
	}
	return a, nil
}

// affine returns A W + 1 b.
func affine(a, w, b *gorgonia.Node) (*gorgonia.Node, error) {
	z, err := gorgonia.Mul(a, w)
	if err != nil {
		return nil, err
	}
	return AddBias(z, b)
}

func activate(a Activation, z *gorgonia.Node) (*gorgonia.Node, error) {
	switch a {
	case ReLU:
		return gorgonia.Rectify(z)
	case Tanh:
		return gorgonia.Tanh(z)
	case LeakyReLU:
		return apply(newLeakyReLU(z.Dims()), z)
	case Softplus:
		return apply(newSoftplus(z.Dims()), z)
	default:
		return gorgonia.Sigmoid(z)
	}
}
