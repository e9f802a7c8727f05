package graph

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/plan"
	"ppal/trainer/problem"
)

// checkGradients compares a derivative of the compiled problem with differences if f or g use an
// operation that no test compares with differences. The error names the operation.
func (l *Lagrangian) checkGradients(p *Problem) error {
	if len(l.untested) == 0 {
		return nil
	}
	err := problem.CheckDirection(p)
	var wrong *problem.GradientError
	if !errors.As(err, &wrong) {
		if err != nil {
			err = fmt.Errorf("graph: the check of the gradients: %w", err)
		}
		return err
	}
	building.Lock()
	defer building.Unlock()
	for _, n := range l.untested {
		if wrongAlone(n) {
			return refuse("the gradient of the operation %v (node %d) is wrong: %w", n.Op(), n.ID(), wrong)
		}
	}
	var names []string
	for _, n := range l.untested {
		names = append(names, fmt.Sprintf("%v (node %d)", n.Op(), n.ID()))
	}
	return refuse("one of these operations has a wrong gradient, or a description that differs from its values: %s: %w", strings.Join(names, ", "), wrong)
}

// collective reports whether the engine's passes need other processes, which do not serve yet.
func collective(e Engine) bool {
	d, ok := e.(deviceEngine)
	if !ok {
		return false
	}
	_, ok = d.device.(plan.Collective)
	return ok
}

// wrongAlone reports whether the gradient of a node's op is wrong on Gorgonia's machine, at random
// inputs of the node's shapes. If the op cannot run alone, it reports false.
func wrongAlone(n *gorgonia.Node) bool {
	check := func(low, high float64) error {
		g, rng := gorgonia.NewGraph(), rand.New(rand.NewPCG(5, 0))
		l := &Lagrangian{Graph: g}
		return guarded(func() error {
			children, err := plan.InputsOf(n.Graph()).Of(n)
			if err != nil {
				return err
			}
			differentiable := n.Op().(gorgonia.SDOp).DiffWRT(len(children))
			var leaves gorgonia.Nodes
			for i, c := range children {
				leaf := randomLeaf(g, rng, c, fmt.Sprintf("input%d", i), low, high)
				leaves = append(leaves, leaf)
				if i < len(differentiable) && differentiable[i] && leaf.Op() == nil {
					l.Parameters = append(l.Parameters, leaf)
				}
			}
			y, err := gorgonia.ApplyOp(n.Op(), leaves...)
			if err != nil {
				return err
			}
			weights := randomLeaf(g, rng, y, "weights", 0.5, 1.5)
			if y, err = gorgonia.HadamardProd(y, weights); err == nil && !y.IsScalar() {
				y, err = gorgonia.Sum(y)
			}
			if err != nil {
				return err
			}
			l.Objective = y
			one, err := differentiate(g, l.Definition)
			if err != nil {
				return err
			}
			p, err := Tape{}.Compile(one)
			if err != nil {
				return err
			}
			return problem.CheckDirection(p)
		})
	}
	var wrong *problem.GradientError
	if err := check(-2, 2); err == nil {
		return false
	} else if errors.As(err, &wrong) {
		return true
	}
	return errors.As(check(0.5, 1.5), &wrong)
}

// randomLeaf returns an input node of another node's type with random values from low to high, or a
// constant like the other node.
func randomLeaf(g *gorgonia.ExprGraph, rng *rand.Rand, like *gorgonia.Node, name string, low, high float64) *gorgonia.Node {
	if like.Op() != nil && like.Op().Arity() == 0 || like.Dtype() != tensor.Float32 && like.Dtype() != tensor.Float64 {
		if v := like.Value(); v != nil {
			return gorgonia.NodeFromAny(g, v, gorgonia.WithName(name))
		}
	}
	if like.IsScalar() {
		return scalarLeaf(g, like.Dtype(), name, low+(high-low)*rng.Float64())
	}
	values := make([]float64, like.Shape().TotalSize())
	for i := range values {
		values[i] = low + (high-low)*rng.Float64()
	}
	return leaf(g, like.Dtype(), name, values, like.Shape()...)
}
