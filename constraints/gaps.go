package constraints

import (
	"fmt"
	"strings"

	"gorgonia.org/gorgonia"
)

// Gaps is a binary classification problem with bounds on the differences between two groups' rates:
// demographic parity or equalized odds. Let s be the scores [n, 1] or [n] of a model, y the labels
// -1 or +1, and I_p and I_u the rows of the two groups. Demographic parity compares all rows of the
// groups; equalized odds compares the rows with y = +1 and, separately, the rows with y = -1. The
// problem is
//
//	minimise    f   = mean of phi(y_i s_i)
//	subject to  |h| - eps <= 0,   h = mean over I_p of rate(s_i) - mean over I_u of rate(s_i).
//
// (Moon et al., "Demographic Parity Constraint" and "Equalized Odds Constraints": phi is Logistic
// and rate(s) = 1/(1+e^-s).) The rate is psi(-s), a surrogate of the decision s > 0: 1/(1+e^-s)
// with psi = Sigmoid, as in the paper, and max(0, 1+s) with Hinge. GapForm says how |h| <= eps
// becomes constraints.
//
// Zero weights meet every bound, because all rates are then equal. A Gaps holds names, bounds and
// surrogates, not the rows: the same value serves the training graph and the measures on any set of
// rows.
type Gaps struct {
	kind      string
	groups    []string
	gaps      []gap
	eps       []float64
	loss, psi Phi
	form      GapForm
}

// gap is one difference of rates, over all rows or over the rows of one label.
type gap struct {
	name    string
	label   int
	measure string
}

// NewDemographicParity returns the problem with one gap, between the positive rates of two named
// groups. phi is the objective's surrogate, psi the rates' surrogate.
func NewDemographicParity(groups []string, eps float64, phi, psi Phi, form GapForm) (*Gaps, error) {
	gaps := []gap{{"positive rate", 0, "dp_gap"}}
	return newGaps("demographic parity", groups, gaps, []float64{eps}, phi, psi, form)
}

// NewEqualizedOdds returns the problem with two gaps, between the true positive rates and between
// the false positive rates of two named groups. eps holds one bound for both gaps, or one bound for
// each in that order.
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
	p.eps, err = expandBounds("eps", eps, p.TermNames())
	return p, err
}

// Groups returns the names of the two groups.
func (p *Gaps) Groups() []string { return append([]string(nil), p.groups...) }

// TermNames returns the names of the gaps h.
func (p *Gaps) TermNames() []string {
	names := make([]string, len(p.gaps))
	for t, g := range p.gaps {
		names[t] = g.name
	}
	return names
}

// ConstraintNames returns the names of the constraints, in the order of Bounds.
func (p *Gaps) ConstraintNames() []string { return p.form.names(p.TermNames()) }

// Bounds returns the constraints' bounds eps.
func (p *Gaps) Bounds() []float64 { return p.form.bounds(p.eps) }

// Pieces returns the smooth pieces of constraints that are maxima. It returns nil with Split, whose
// nodes are the constraints themselves.
func (p *Gaps) Pieces() []Piece { return p.form.pieces(p.eps) }

// Smooth reports whether f and the nodes of the terms are differentiable everywhere, apart from the
// kinks that Pieces describes.
func (p *Gaps) Smooth() bool { return p.loss.Smooth() && p.psi.Smooth() }

// Nodes adds the problem to the graph of the scores [n, 1] or [n]. It returns the objective f, a
// scalar, and terms: with Split the constraints, otherwise the terms h that Pieces combines into
// constraints. It returns ErrEmptyGroup if a group has no rows, and ErrEmptyClass if a group lacks
// rows of a label that a gap needs.
func (p *Gaps) Nodes(scores *gorgonia.Node, rows Rows) (objective, terms *gorgonia.Node, err error) {
	s, err := p.on(rows, p.form)
	if err != nil {
		return nil, nil, err
	}
	return s.nodes(scores)
}

// on makes the ops for the rows: the terms are h - eps and -h - eps with Split, otherwise h.
func (p *Gaps) on(rows Rows, form GapForm) (*fairnessOps, error) {
	if err := rows.check(p.groups); err != nil {
		return nil, err
	}
	loss, err := NewSignedLoss(rows.Labels, p.loss)
	if err != nil {
		return nil, err
	}
	rate, err := ratesOf(make([]int8, len(rows.Labels)), p.psi)
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
	return newFairnessOps(rows, loss, rate, groups, offsets)
}

// sides returns the gap's rows in each of the two groups.
func (g gap) sides(rows Rows) (sides [2][]int, err error) {
	for k := range sides {
		if sides[k], err = rows.of(k, g.label); err != nil {
			return sides, err
		}
	}
	return sides, nil
}

// difference returns sign times the gap as one weighted group.
func (g gap) difference(rows Rows, sign float64) (Group, error) {
	sides, err := g.sides(rows)
	if err != nil {
		return Group{}, err
	}
	n := len(sides[0]) + len(sides[1])
	d := Group{Name: g.name, Rows: make([]int, 0, n), Weights: make([]float64, 0, n)}
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

// Warnings returns one sentence for each kind of unsuitable bound. The list is empty if all bounds
// are suitable.
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
	add(vacuous, "the bound constrains nothing: rates lie in (0, 1) and so do the sizes of their differences; use a smaller eps (--epsilon)")
	add(tight, "the bound leaves no interior, so the multipliers need not be bounded; use a larger eps (--epsilon)")
	return out
}
