package constraints

import (
	"fmt"
	"strings"

	"gorgonia.org/gorgonia"
)

// Gaps is a binary classification problem under bounds on the differences
// between two groups' rates: demographic parity or equalized odds. With s the
// scores [n, 1] or [n] of a model, y the labels -1 or +1, and I_p, I_u the rows
// of the two groups, for demographic parity all of them, for equalized odds
// once those with y = +1 and once those with y = -1,
//
//	minimise    f   = mean of phi(y_i s_i)
//	subject to  |h| - eps <= 0,   h = mean over I_p of rate(s_i) - mean over I_u of rate(s_i).
//
// (Moon et al., "Demographic Parity Constraint" and "Equalized Odds
// Constraints": phi is Logistic and rate(s) = 1/(1+e^-s).) The rate is the
// surrogate of the decision s > 0: psi(-s), with psi = Sigmoid the paper's, with
// Hinge max(0, 1+s). How |h| <= eps enters is the GapForm.
//
// Zero weights meet every bound, since all rates are then equal. It knows
// names, bounds and surrogates, not the rows: one value serves the training
// graph and the measures on any set of rows.
type Gaps struct {
	kind      string
	groups    []string
	gaps      []gap
	eps       []float64
	loss, psi Phi
	form      GapForm
}

// gap is one difference of rates: over all rows, or those of one label.
type gap struct {
	name    string
	label   int
	measure string
}

// NewDemographicParity states the problem of one gap, between the positive
// rates of two named groups; phi is the objective's surrogate, psi the rates'.
func NewDemographicParity(groups []string, eps float64, phi, psi Phi, form GapForm) (*Gaps, error) {
	gaps := []gap{{"positive rate", 0, "dp_gap"}}
	return newGaps("demographic parity", groups, gaps, []float64{eps}, phi, psi, form)
}

// NewEqualizedOdds states the problem of two gaps, between the true positive
// and between the false positive rates of two named groups. Eps holds one bound
// for both or one for each, in that order.
func NewEqualizedOdds(groups []string, eps []float64, phi, psi Phi, form GapForm) (*Gaps, error) {
	gaps := []gap{{"true positive rate", 1, "tpr_gap"}, {"false positive rate", -1, "fpr_gap"}}
	return newGaps("equalized odds", groups, gaps, eps, phi, psi, form)
}

func newGaps(kind string, groups []string, gaps []gap, eps []float64, phi, psi Phi, form GapForm) (*Gaps, error) {
	for _, err := range []error{phi.valid(), psi.valid(), form.valid(), checkNames("group", groups)} {
		if err != nil {
			return nil, err
		}
	}
	if len(groups) != 2 {
		return nil, fmt.Errorf("constraints: %s compares 2 groups, got %d", kind, len(groups))
	}
	p := &Gaps{kind: kind, groups: append([]string(nil), groups...), gaps: gaps, loss: phi, psi: psi, form: form}
	var err error
	p.eps, err = spreadBounds("eps", eps, p.TermNames())
	return p, err
}

// Groups are the two groups' names.
func (p *Gaps) Groups() []string { return append([]string(nil), p.groups...) }

// TermNames are the names of the gaps h.
func (p *Gaps) TermNames() []string {
	names := make([]string, len(p.gaps))
	for t, g := range p.gaps {
		names[t] = g.name
	}
	return names
}

// ConstraintNames are the constraints' names, in the order of Bounds.
func (p *Gaps) ConstraintNames() []string { return p.form.names(p.TermNames()) }

// Bounds are the constraints' bounds eps.
func (p *Gaps) Bounds() []float64 { return p.form.bounds(p.eps) }

// Pieces are the smooth branches of constraints that are maxima; nil with
// Split, where the nodes are the constraints themselves.
func (p *Gaps) Pieces() []Piece { return p.form.pieces(p.eps) }

// Smooth reports whether f and the nodes of the terms are differentiable
// everywhere, apart from the kinks that Pieces says.
func (p *Gaps) Smooth() bool { return p.loss.Smooth() && p.psi.Smooth() }

// Nodes adds the problem to the graph of the scores [n, 1] or [n]: the
// objective f, a scalar, and, with Split, the constraints, else the terms h of
// which Pieces makes them. A group without rows is ErrEmptyGroup, one without
// rows of a label that a gap is over ErrEmptyClass.
func (p *Gaps) Nodes(scores *gorgonia.Node, rows Rows) (objective, terms *gorgonia.Node, err error) {
	s, err := p.on(rows, p.form)
	if err != nil {
		return nil, nil, err
	}
	return s.nodes(scores)
}

// on makes the ops for the rows: those of h - eps and -h - eps with Split, else
// of h.
func (p *Gaps) on(rows Rows, form GapForm) (*surrogate, error) {
	if err := rows.check(p.groups); err != nil {
		return nil, err
	}
	loss, err := NewSignedLoss(rows.Labels, p.loss)
	if err != nil {
		return nil, err
	}
	rate, err := NewRates(len(rows.Labels), p.psi)
	if err != nil {
		return nil, err
	}
	var groups []Group
	var offsets []float64
	for t, g := range p.gaps {
		h, err := g.difference(rows, 1)
		if err != nil {
			return nil, err
		}
		groups, offsets = append(groups, h), append(offsets, 0)
		if form == Split {
			if h, err = g.difference(rows, -1); err != nil {
				return nil, err
			}
			offsets[len(offsets)-1] = p.eps[t]
			groups, offsets = append(groups, h), append(offsets, p.eps[t])
		}
	}
	return newSurrogate(rows, loss, rate, groups, offsets)
}

// sides are the gap's rows in the two groups.
func (g gap) sides(rows Rows) (sides [2][]int, err error) {
	for k := range sides {
		if sides[k], err = rows.of(k, g.label); err != nil {
			return sides, err
		}
	}
	return sides, nil
}

// difference is sign times the gap as one weighted group.
func (g gap) difference(rows Rows, sign float64) (Group, error) {
	sides, err := g.sides(rows)
	if err != nil {
		return Group{}, err
	}
	d := Group{Name: g.name}
	for k, side := range sides {
		w := sign / float64(len(side))
		if k == 1 {
			w = -w
		}
		for range side {
			d.Weights = append(d.Weights, w)
		}
		d.Rows = append(d.Rows, side...)
	}
	return d, nil
}

// Warnings says in a sentence each which bounds cannot do what a bound is for.
// The list is empty when there is nothing to say.
func (p *Gaps) Warnings() []string {
	var vacuous, tight []string
	for t, e := range p.eps {
		what := fmt.Sprintf("%s (eps %g)", p.gaps[t].name, e)
		switch {
		case p.psi == Sigmoid && e >= 1:
			vacuous = append(vacuous, what)
		case e == 0:
			tight = append(tight, what)
		}
	}
	var out []string
	add := func(gaps []string, what string) {
		if len(gaps) > 0 {
			out = append(out, strings.Join(gaps, ", ")+": "+what)
		}
	}
	add(vacuous, "the bound constrains nothing: rates lie in (0, 1) and so do their differences' sizes; take a smaller eps")
	add(tight, "the bound leaves no interior, without which multipliers need not be bounded; take a larger eps")
	return out
}
