package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/plan"
)

// machine evaluates the nodes that some outputs need by Gorgonia's ops, one after the other. Each
// result has its own memory. Gorgonia's TapeMachine reuses memory, and overwrites values that
// another node still needs if a reshape shares their memory: gradients are then wrong.
type machine struct {
	nodes  []*gorgonia.Node // inputs before the nodes that read them
	inputs [][]int          // of each node, by their index
	index  map[*gorgonia.Node]int
	values []gorgonia.Value
}

// newMachine returns the machine for the part of g that the outputs need.
func newMachine(g *gorgonia.ExprGraph, outputs gorgonia.Nodes) (*machine, error) {
	m, in := &machine{index: map[*gorgonia.Node]int{}}, plan.InputsOf(g)
	var visit func(n *gorgonia.Node) (int, error)
	visit = func(n *gorgonia.Node) (int, error) {
		if i, ok := m.index[n]; ok {
			return i, nil
		}
		children, err := in.Of(n)
		if err != nil {
			return 0, err
		}
		list := make([]int, len(children))
		for k, c := range children {
			if list[k], err = visit(c); err != nil {
				return 0, err
			}
		}
		i := len(m.nodes)
		m.index[n] = i
		m.nodes, m.inputs = append(m.nodes, n), append(m.inputs, list)
		return i, nil
	}
	for _, n := range outputs {
		if _, err := visit(n); err != nil {
			return nil, err
		}
	}
	m.values = make([]gorgonia.Value, len(m.nodes))
	return m, nil
}

// value returns the value of a node after a run.
func (m *machine) value(n *gorgonia.Node) gorgonia.Value {
	if i, ok := m.index[n]; ok {
		return m.values[i]
	}
	return nil
}

// run evaluates the outputs once. It returns Gorgonia's panics, for example on bad shapes, as
// errors.
func (m *machine) run() error {
	for i, n := range m.nodes {
		if n.Op() == nil {
			if m.values[i] = n.Value(); m.values[i] == nil {
				return fmt.Errorf("input %s has no value", n.Name())
			}
			continue
		}
		args := make([]gorgonia.Value, len(m.inputs[i]))
		for k, j := range m.inputs[i] {
			args[k] = m.values[j]
		}
		if err := guarded(func() (err error) { m.values[i], err = n.Op().Do(args...); return err }); err != nil {
			return fmt.Errorf("node %d (%v): %w", n.ID(), n, err)
		}
		d, dense := m.values[i].(*tensor.Dense)
		switch {
		case dense && n.IsScalar(): // some ops return tensors without axes, and others do not take them
			m.values[i] = scalarOf(d)
		case dense && (d.RequiresIterator() || !d.DataOrder().IsRowMajor()):
			m.values[i] = d.Materialize().(gorgonia.Value) // row-major, as the other values
		}
	}
	return nil
}

// scalarOf returns the only element of a tensor as a scalar.
func scalarOf(d *tensor.Dense) gorgonia.Value {
	switch data := d.Data().(type) {
	case []float32:
		return gorgonia.NewF32(data[0])
	case []float64:
		return gorgonia.NewF64(data[0])
	case float32:
		return gorgonia.NewF32(data)
	case float64:
		return gorgonia.NewF64(data)
	}
	return d
}
