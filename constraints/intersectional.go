package constraints

import (
	"fmt"
	"strings"

	"gorgonia.org/gorgonia"
)

// Intersectional is a binary classification problem in which no group may fare much worse than the
// average over all rows. Let s be the scores [n, 1] or [n] of a model, y the labels -1 or +1, and
// I_G the rows of group G; groups may overlap. The problem is
//
//	minimise    f   = mean of phi(y_i s_i)
//	subject to  g_G = mean over I_G of psi(y_i s_i) - mean over all rows of psi(y_i s_i) - eps_G <= 0
//
// for each group, or for the mean over the groups. Moon et al., "Intersectional Group Fairness on
// Neural Networks", use Hinge for phi and psi and bound the expectation over a uniformly drawn
// group. Their formula takes no positive part of a group's difference (the [.]+ in the formula is
// the hinge loss). Expectation follows the formula: differences of opposite sign cancel, so the
// bound applies to the average group and not to any single group.
//
// Zero weights meet every bound, because all losses are then equal. Hinge has kinks; kinks of f are
// outside the assumptions of the paper's PLADA. An Intersectional holds names, bounds and
// surrogates, not the rows: the same value serves the training graph and the measures on any set of
// rows.
type Intersectional struct {
	groups   []string
	eps      []float64
	phi, psi Phi
	form     GroupForm
}

// GroupForm says how the groups' bounds become constraints.
type GroupForm uint8

// The forms of the groups' constraints.
const (
	// Each makes one constraint for each group, all in one pass over the rows.
	Each GroupForm = iota
	// Expectation makes one constraint, the mean over the groups. A step may use one drawn group
	// instead: see SampledNodes.
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

// NewIntersectional returns the problem for the named groups. phi is the objective's surrogate, psi
// the constraints' surrogate. With Each, eps holds one bound for all groups or one bound for each
// group; with Expectation, eps holds one bound.
func NewIntersectional(groups []string, eps []float64, phi, psi Phi, form GroupForm) (*Intersectional, error) {
	for _, err := range []error{phi.valid(), psi.valid(), checkNames("group", groups)} {
		if err != nil {
			return nil, err
		}
	}
	if form > Expectation {
		return nil, fmt.Errorf("constraints: unknown form %v of the groups' bounds", form)
	}
	p := &Intersectional{groups: append([]string(nil), groups...), phi: phi, psi: psi, form: form}
	var err error
	p.eps, err = expandBounds("eps", eps, p.ConstraintNames())
	return p, err
}

// Groups returns the names of the groups.
func (p *Intersectional) Groups() []string { return append([]string(nil), p.groups...) }

// ConstraintNames returns the names of the groups or, with Expectation, one name for all.
func (p *Intersectional) ConstraintNames() []string {
	if p.form == Expectation {
		return []string{fmt.Sprintf("mean over %d groups", len(p.groups))}
	}
	return p.Groups()
}

// Bounds returns the constraints' bounds eps.
func (p *Intersectional) Bounds() []float64 { return append([]float64(nil), p.eps...) }

// Pieces returns nil: the nodes are the constraints themselves.
func (p *Intersectional) Pieces() []Piece { return nil }

// Smooth reports whether f and g are differentiable everywhere.
func (p *Intersectional) Smooth() bool { return p.phi.Smooth() && p.psi.Smooth() }

// Nodes adds the problem to the graph of the scores [n, 1] or [n]. It returns the objective f, a
// scalar, and the constraints g, a vector. It returns ErrEmptyGroup if a group has no rows.
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

// on makes the ops, with the bounds eps, for rows that may have only some of the problem's groups.
func (p *Intersectional) on(rows Rows, eps []float64) (*fairnessOps, error) {
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
	s, err := newFairnessOps(rows, loss, rate, groups, eps)
	if err != nil {
		return nil, err
	}
	s.relative = true
	return s, nil
}

// expectation returns the mean of the groups' means as one weighted group.
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
	all.Weights = transposeTimes(m, uniform)
	return []Group{all}, nil
}

// Warnings returns one sentence for each kind of unsuitable bound. The list is empty if all bounds
// are suitable.
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
	add(vacuous, "the bound constrains nothing: losses lie in (0, 1) and so do their means' differences; use an eps below 1 (--epsilon)")
	add(tight, "eps 0 leaves no interior if the groups cover the rows, so the multipliers need not be bounded; use a larger eps (--epsilon)")
	return out
}

// abbreviated lists the first names and counts the others.
func abbreviated(names []string) string {
	const most = 3
	if len(names) <= most {
		return "group " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("group %s and %d others", strings.Join(names[:most], ", "), len(names)-most)
}
