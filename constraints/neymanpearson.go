package constraints

import (
	"fmt"

	"gorgonia.org/gorgonia"
)

// NeymanPearson is the multi-class Neyman-Pearson problem (mNPC) of the paper's section "Non-convex
// Multi-class Neyman-Pearson Classification". With S the scores of a model and D_i the rows of
// class i = 0..C-1, the problem is
//
//	minimise    f   = mean over D_0 of sum_{j != 0} phi(S_0 - S_j)
//	subject to  g_i = mean over D_i of sum_{j != i} phi(S_i - S_j) - kappa_i <= 0,   i = 1..C-1.
//
// A NeymanPearson holds classes, bounds and the surrogate, not the rows: the same value serves the
// training graph and the measures on any set of rows.
type NeymanPearson struct {
	classes []string
	bounds  []float64
	phi     Phi
}

// NewNeymanPearson returns the problem for the named classes; the first class is the objective's.
// kappa holds one bound for all other classes, or len(classes)-1 bounds in the classes' order. A
// bound must be finite and not negative.
func NewNeymanPearson(classes []string, kappa []float64, phi Phi) (*NeymanPearson, error) {
	if err := phi.valid(); err != nil {
		return nil, err
	}
	if len(classes) < 2 {
		return nil, fmt.Errorf("constraints: Neyman-Pearson needs at least 2 classes, got %d", len(classes))
	}
	if err := checkNames("class", classes); err != nil {
		return nil, err
	}
	bounds, err := expandBounds("kappa", kappa, classes[1:])
	if err != nil {
		return nil, err
	}
	return &NeymanPearson{classes: append([]string(nil), classes...), bounds: bounds, phi: phi}, nil
}

// Classes returns the names of the classes, the objective's class first.
func (p *NeymanPearson) Classes() []string { return append([]string(nil), p.classes...) }

// ConstraintNames returns the names of the constrained classes, in the order of the elements of the
// constraints and of Bounds.
func (p *NeymanPearson) ConstraintNames() []string { return append([]string(nil), p.classes[1:]...) }

// Bounds returns the constraints' bounds kappa_1..kappa_{C-1}.
func (p *NeymanPearson) Bounds() []float64 { return append([]float64(nil), p.bounds...) }

// Pieces returns nil: the nodes are the constraints themselves.
func (p *NeymanPearson) Pieces() []Piece { return nil }

// Smooth reports whether f and g are differentiable everywhere.
func (p *NeymanPearson) Smooth() bool { return p.phi.Smooth() }

// Phi returns the surrogate.
func (p *NeymanPearson) Phi() Phi { return p.phi }

// Nodes adds the problem to the graph of the scores [n, C]. It returns the objective f, a scalar,
// and the constraints g [C-1], both computed from one node of row losses. labels[i] is the class of
// row i as an index into Classes. Rows in order of class use the least memory and time. Nodes
// returns ErrEmptyGroup if a class has no rows.
func (p *NeymanPearson) Nodes(scores *gorgonia.Node, labels []int) (objective, constraints *gorgonia.Node, err error) {
	loss, err := NewMarginLoss(labels, len(p.classes), p.phi)
	if err != nil {
		return nil, nil, err
	}
	groups := make([]Group, len(p.classes))
	for k, name := range p.classes {
		groups[k].Name = name
	}
	for i, c := range labels {
		groups[c].Rows = append(groups[c].Rows, i)
	}
	for _, g := range groups {
		if len(g.Rows) == 0 {
			return nil, nil, fmt.Errorf("%w: class %q", ErrEmptyGroup, g.Name)
		}
	}
	first, err := NewMembership(len(labels), groups[:1])
	if err != nil {
		return nil, nil, err
	}
	others, err := NewMembership(len(labels), groups[1:])
	if err != nil {
		return nil, nil, err
	}
	mean, err := NewGroupMean(first, 0)
	if err != nil {
		return nil, nil, err
	}
	means, err := NewGroupMeans(others, p.bounds)
	if err != nil {
		return nil, nil, err
	}
	losses, err := loss.Apply(scores)
	if err != nil {
		return nil, nil, err
	}
	if objective, err = mean.Apply(losses); err != nil {
		return nil, nil, err
	}
	if constraints, err = means.Apply(losses); err != nil {
		return nil, nil, err
	}
	return objective, constraints, nil
}
