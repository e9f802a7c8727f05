package constraints

import (
	"fmt"
	"strings"

	"gorgonia.org/gorgonia"
)

// Intersectional is a binary classification problem in which no group may fare
// much worse than all rows do. With s the scores [n, 1] or [n] of a model, y the
// labels -1 or +1, and I_G the rows of group G, groups overlapping as they like,
//
//	minimise    f   = mean of phi(y_i s_i)
//	subject to  g_G = mean over I_G of psi(y_i s_i) - mean over all rows of psi(y_i s_i) - eps_G <= 0
//
// for each group, or for their mean. Moon et al., "Intersectional Group
// Fairness on Neural Networks", take Hinge for phi and psi and bound the
// expectation over a uniformly drawn group. Their formula has no positive part
// around a group's difference (its [.]+ is the hinge loss), and neither has
// Expectation here: differences of opposite sign cancel, and the bound is on the
// average group, not on any one.
//
// Zero weights meet every bound, since all losses are then equal. Hinge has
// kinks; f's are outside the assumptions of the paper's PLADA. The problem knows
// names, bounds and surrogates, not the rows: one value serves the training
// graph and the measures on any set of rows.
type Intersectional struct {
	groups   []string
	eps      []float64
	phi, psi Phi
	form     GroupForm
}

// GroupForm says how the groups' bounds become constraints.
type GroupForm uint8

// The forms.
const (
	// Each is one constraint for each group, all in one pass over the rows.
	Each GroupForm = iota
	// Expectation is one constraint, the mean over the groups. A step may take
	// one drawn group in its place: see SampledNodes.
	Expectation
)

// GroupForms lists the forms, the default first.
func GroupForms() []GroupForm { return []GroupForm{Each, Expectation} }

// String returns the form's name in lower case.
func (f GroupForm) String() string {
	switch f {
	case Each:
		return "each"
	case Expectation:
		return "expectation"
	}
	return fmt.Sprintf("GroupForm(%d)", uint8(f))
}

// NewIntersectional states the problem for the named groups; phi is the
// objective's surrogate, psi the constraints'. With Each, eps holds one bound
// for all groups or one for each; with Expectation one.
func NewIntersectional(groups []string, eps []float64, phi, psi Phi, form GroupForm) (*Intersectional, error) {
	for _, err := range []error{phi.valid(), psi.valid(), checkNames("group", groups)} {
		if err != nil {
			return nil, err
		}
	}
	if form > Expectation {
		return nil, fmt.Errorf("constraints: %v is no form of the groups' bounds", form)
	}
	p := &Intersectional{groups: append([]string(nil), groups...), phi: phi, psi: psi, form: form}
	var err error
	p.eps, err = spreadBounds("eps", eps, p.ConstraintNames())
	return p, err
}

// Groups are the groups' names.
func (p *Intersectional) Groups() []string { return append([]string(nil), p.groups...) }

// ConstraintNames are the groups' names or, with Expectation, one for all.
func (p *Intersectional) ConstraintNames() []string {
	if p.form == Expectation {
		return []string{fmt.Sprintf("mean over %d groups", len(p.groups))}
	}
	return p.Groups()
}

// Bounds are the constraints' bounds eps.
func (p *Intersectional) Bounds() []float64 { return append([]float64(nil), p.eps...) }

// Pieces is nil: the nodes are the constraints themselves.
func (p *Intersectional) Pieces() []Piece { return nil }

// Smooth reports whether f and g are differentiable everywhere.
func (p *Intersectional) Smooth() bool { return p.phi.Smooth() && p.psi.Smooth() }

// Nodes adds the problem to the graph of the scores [n, 1] or [n]: the
// objective f, a scalar, and the constraints g, a vector. A group without rows
// is ErrEmptyGroup.
func (p *Intersectional) Nodes(scores *gorgonia.Node, rows Rows) (objective, constraints *gorgonia.Node, err error) {
	if err := rows.check(p.groups); err != nil {
		return nil, nil, err
	}
	s, err := p.on(rows, p.eps)
	if err != nil {
		return nil, nil, err
	}
	return s.nodes(scores)
}

// on makes the ops for rows whose groups may be some of the problem's, with
// the bounds eps.
func (p *Intersectional) on(rows Rows, eps []float64) (*surrogate, error) {
	loss, err := NewSignedLoss(rows.Labels, p.phi)
	if err != nil {
		return nil, err
	}
	rate := loss
	if p.psi != p.phi {
		if rate, err = NewSignedLoss(rows.Labels, p.psi); err != nil {
			return nil, err
		}
	}
	groups := rows.Groups
	if p.form == Expectation {
		if groups, err = expectation(rows); err != nil {
			return nil, err
		}
	}
	s, err := newSurrogate(rows, loss, rate, groups, eps)
	if err != nil {
		return nil, err
	}
	s.relative = true
	return s, nil
}

// expectation is the mean of the groups' means as one weighted group.
func expectation(rows Rows) ([]Group, error) {
	m, err := NewMembership(len(rows.Labels), rows.Groups)
	if err != nil {
		return nil, err
	}
	uniform := make([]float64, m.Groups())
	for k := range uniform {
		uniform[k] = 1 / float64(len(uniform))
	}
	all := rows.all()
	all.Weights = spread(m, uniform)
	return []Group{all}, nil
}

// Warnings says in a sentence each which bounds cannot do what a bound is for.
// The list is empty when there is nothing to say.
func (p *Intersectional) Warnings() []string {
	var vacuous, tight []string
	for k, name := range p.ConstraintNames() {
		switch {
		case p.psi == Sigmoid && p.eps[k] >= 1:
			vacuous = append(vacuous, name)
		case p.eps[k] == 0:
			tight = append(tight, name)
		}
	}
	var out []string
	add := func(names []string, what string) {
		if len(names) > 0 {
			out = append(out, abbreviated(names)+": "+what)
		}
	}
	add(vacuous, "the bound constrains nothing: losses lie in (0, 1) and so do their means' differences; take an eps below 1")
	add(tight, "eps 0 leaves no interior where the groups cover the rows, without which multipliers need not be bounded; take a larger eps")
	return out
}

// abbreviated lists the first names and counts the rest.
func abbreviated(names []string) string {
	const most = 3
	if len(names) <= most {
		return "group " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("group %s and %d others", strings.Join(names[:most], ", "), len(names)-most)
}
