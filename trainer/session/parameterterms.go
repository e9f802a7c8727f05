package session

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/models"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// parameterTerms computes the terms of a statement's ParameterNodes in float64, without the rows.
type parameterTerms struct {
	problem  *graph.Problem // the first term is the objective, the others are the constraints
	used     [][2]int       // ranges of the stacked weights on which the terms depend
	values   []float64      // values of the terms from the last call of at
	gradient problem.Vector
	part     []float64 // weights of these ranges, or their gradient, on the host
}

// newParameterTerms builds the terms of the model's parameters; nil if the statement has no
// ParameterNodes.
func (b *builder) newParameterTerms(weights models.Weights) (*parameterTerms, error) {
	if b.statement.ParameterNodes == nil {
		return nil, nil
	}
	t := &parameterTerms{}
	var err error
	t.problem, err = graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		net, err := models.New(g, b.model, tensor.Float64, weights)
		if err != nil {
			return graph.Definition{}, err
		}
		nodes, err := b.statement.ParameterNodes(net)
		if err != nil {
			return graph.Definition{}, err
		}
		if len(nodes) == 0 || nodes[0].Dims() != 0 {
			return graph.Definition{}, fmt.Errorf("session: %w: ParameterNodes returns no scalar first", ErrOptions)
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
	}, b.devices.measure)
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

// len returns the number of terms.
func (t *parameterTerms) len() int {
	if t == nil {
		return 0
	}
	return len(t.values)
}

// last returns the values of the last call of at.
func (t *parameterTerms) last() []float64 {
	if t == nil {
		return nil
	}
	return t.values
}

// at computes the terms at the stacked weights x.
func (t *parameterTerms) at(x []float64) ([]float64, error) {
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
// the x of the last call of at.
func (t *parameterTerms) addGradient(sum, coefficients []float64) error {
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
