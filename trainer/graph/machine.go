package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"
)

// machine is a TapeMachine for the part of a graph that some outputs need.
type machine struct{ vm gorgonia.VM }

// newMachine compiles the part of g that the outputs need.
func newMachine(g *gorgonia.ExprGraph, outputs gorgonia.Nodes) (*machine, error) {
	program, locations, err := gorgonia.CompileFunction(g, inputs(g, outputs), outputs)
	if err != nil {
		return nil, err
	}
	return &machine{gorgonia.NewTapeMachine(g, gorgonia.WithPrecompiled(program, locations))}, nil
}

// run evaluates the outputs once. It returns Gorgonia's panics, for example on bad shapes, as
// errors.
func (m *machine) run() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("gorgonia: %v", r)
		}
	}()
	m.vm.Reset() // without Reset, a second RunAll does nothing
	return m.vm.RunAll()
}

// inputs returns the input nodes that the outputs depend on, in the order of a depth-first walk.
func inputs(g *gorgonia.ExprGraph, outputs gorgonia.Nodes) gorgonia.Nodes {
	var found gorgonia.Nodes
	seen := map[int64]bool{}
	var visit func(n *gorgonia.Node)
	visit = func(n *gorgonia.Node) {
		if seen[n.ID()] {
			return
		}
		seen[n.ID()] = true
		if n.Op() == nil {
			found = append(found, n)
		}
		for it := g.From(n.ID()); it.Next(); {
			visit(it.Node().(*gorgonia.Node))
		}
	}
	for _, n := range outputs {
		visit(n)
	}
	return found
}
