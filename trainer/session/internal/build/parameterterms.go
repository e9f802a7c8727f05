package build

import (
	"cmp"
	"errors"
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/models"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// ParameterTerms computes the terms of ParameterNodes in float64, without the rows.
type ParameterTerms struct {
	problem  *graph.Problem // the first term is the objective, the others are the constraints
	used     [][2]int       // ranges of the stacked weights on which the terms depend
	values   []float64      // values of the terms from the last call of At
	gradient problem.Vector
	part     []float64 // weights of these ranges, or their gradient, on the host
}

// ErrNoScalar says that the first of ParameterNodes is not a scalar.
var ErrNoScalar = errors.New("the first of ParameterNodes must be a scalar")

// NewParameterTerms builds the terms of the model's parameters; nil if the builder has no
// ParameterNodes.
func (b *Builder) NewParameterTerms(weights models.Weights) (*ParameterTerms, error) {
	if b.ParameterNodes == nil {
		return nil, nil
	}
	t := &ParameterTerms{}
	var err error
	t.problem, err = graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		net, err := models.New(g, b.Model, tensor.Float64, weights)
		if err != nil {
			return graph.Definition{}, err
		}
		nodes, err := b.ParameterNodes(net)
		if err != nil {
			return graph.Definition{}, err
		}
		if len(nodes) == 0 || nodes[0].Dims() != 0 {
			return graph.Definition{}, ErrNoScalar
		}
		d := graph.Definition{Objective: nodes[0], Constraints: nodes[1:]}
		end, reached := 0, reachedFrom(g, nodes)
		for _, p := range net.Parameters() {
			from := end
			end += p.Shape().TotalSize()
			if reached[p] {
				d.Parameters, t.used = append(d.Parameters, p), append(t.used, [2]int{from, end})
			}
		}
		return d, nil
	}, b.Devices.Host)
	if err != nil {
		return nil, fmt.Errorf("session: the terms of the parameters in float64: %w", err)
	}
	n, m := t.problem.Dims()
	t.values, t.gradient, t.part = make([]float64, m+1), t.problem.Space().New(), make([]float64, n)
	return t, nil
}

// reachedFrom returns the nodes on which the given nodes depend.
func reachedFrom(g *gorgonia.ExprGraph, nodes gorgonia.Nodes) map[*gorgonia.Node]bool {
	reached := map[*gorgonia.Node]bool{}
	for todo := append(gorgonia.Nodes{}, nodes...); len(todo) > 0; {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if reached[n] {
			continue
		}
		reached[n] = true
		for it := g.From(n.ID()); it != nil && it.Next(); {
			todo = append(todo, it.Node().(*gorgonia.Node))
		}
	}
	return reached
}

// Len returns the number of terms.
func (t *ParameterTerms) Len() int {
	if t == nil {
		return 0
	}
	return len(t.values)
}

// Last returns the values of the last call of At.
func (t *ParameterTerms) Last() []float64 {
	if t == nil {
		return nil
	}
	return t.values
}

// At computes the terms at the stacked weights x.
func (t *ParameterTerms) At(x []float64) ([]float64, error) {
	if t == nil {
		return nil, nil
	}
	t.part = t.part[:0]
	for _, r := range t.used {
		t.part = append(t.part, x[r[0]:r[1]]...)
	}
	t.problem.Space().Write(problem.Iterate, t.part)
	var err error
	t.values[0], err = t.problem.Forward(t.values[1:])
	return t.values, err
}

// addGradient adds to sum the gradient of the sum of coefficients[k] times term k. The point is
// the x of the last call of At.
func (t *ParameterTerms) addGradient(sum, coefficients []float64) error {
	if t == nil {
		return nil
	}
	if err := t.problem.Backward(coefficients, t.gradient); err != nil {
		return err
	}
	t.problem.Space().Read(t.part, t.gradient)
	at := 0
	for _, r := range t.used {
		for i := r[0]; i < r[1]; i++ {
			sum[i] += t.part[at]
			at++
		}
	}
	return nil
}

// L1Norm returns the sum of the absolute values of the weights without the biases. Two rectifiers
// give them, because the derivative of their sum is 0 at 0, the middle of the subdifferential.
func L1Norm(model *models.Network) (gorgonia.Nodes, error) {
	var sum *gorgonia.Node
	nodes := model.Parameters()
	for k, p := range model.Architecture().Parameters() {
		if len(p.Shape) == 1 { // a bias
			continue
		}
		norm, err := gorgonia.Neg(nodes[k])
		if err == nil {
			norm, err = gorgonia.Rectify(norm)
		}
		positive, fault := gorgonia.Rectify(nodes[k])
		if err = cmp.Or(err, fault); err == nil {
			norm, err = gorgonia.Add(positive, norm)
		}
		if err == nil {
			norm, err = gorgonia.Sum(norm)
		}
		if err == nil && sum != nil {
			norm, err = gorgonia.Add(sum, norm)
		}
		if err != nil {
			return nil, fmt.Errorf("session: l1(weights): %w", err)
		}
		sum = norm
	}
	return gorgonia.Nodes{sum}, nil
}

// L1Ball returns the set of the system's least bound on the l1 norm of a linear model's weights.
// nil: there is no bound, or the model or the regularizer allows it only as a constraint. In
// float32, the set ends inside the bound, because rounded weights and their sum would exceed it.
func L1Ball(s *constraints.System, model models.Architecture, kind problem.RegularizerKind, dtype tensor.Dtype) *problem.L1Ball {
	list := model.Parameters()
	if s == nil || !s.L1 || len(list) != 2 || len(list[0].Shape) != 2 || len(list[1].Shape) != 1 || !kind.AllowsL1Ball() {
		return nil
	}
	var least *problem.L1Ball
	for j, b := range s.Bounds {
		if b.Coefficients[len(s.Rates)] != 0 && (least == nil || b.Bound < least.Bound) {
			least = &problem.L1Ball{Count: list[0].Shape[0] * list[0].Shape[1], Bound: b.Bound, Constraint: j}
		}
	}
	if least != nil && dtype == tensor.Float32 {
		least.Bound *= 1 - 1e-6
	}
	return least
}
