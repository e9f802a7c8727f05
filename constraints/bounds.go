package constraints

import (
	"fmt"
	"strings"
)

// ZeroMarginLoss is (C-1) phi(0), every class's loss where all scores of a row
// are equal, as with zero weights, whatever the data: (C-1)/2 for Sigmoid,
// (C-1) log 2 for Logistic, C-1 for Hinge. A larger or equal bound is met by a
// model that has learnt nothing.
func (p *NeymanPearson) ZeroMarginLoss() float64 {
	return float64(len(p.classes)-1) * p.phi.Value(0)
}

// VacuousBound is the loss C/2 below which "always the first class" keeps
// every other class, whatever the data, with f as small as one likes: a bound
// at or above it constrains nothing. Rows of another class have one margin
// against the first class, which costs at most 1, and C-2 margins of zero,
// which cost 1/2 each. It exists for the bounded Sigmoid alone (else ok is
// false): with Logistic and Hinge that classifier's cost grows without limit.
func (p *NeymanPearson) VacuousBound() (bound float64, ok bool) {
	return float64(len(p.classes)) / 2, p.phi == Sigmoid
}

// CollapseThreshold is the objective (C-1)/2 from which on, where the
// stationarity residual is about 0, the first class has been given up: its
// margins are negative and saturated, phi' vanishes there, and the point is a
// worthless KKT point. It exists for Sigmoid alone (else ok is false):
// Logistic and Hinge have slope -1 at large negative margins and do not
// saturate there.
func (p *NeymanPearson) CollapseThreshold() (objective float64, ok bool) {
	return float64(len(p.classes)-1) / 2, p.phi == Sigmoid
}

// Warnings says in a sentence each which bounds cannot do what a bound is for:
// vacuous ones, ones that zero weights meet, and zero where phi is positive.
// The list is empty when there is nothing to say.
func (p *NeymanPearson) Warnings() []string {
	var vacuous, idle, unreachable []string
	limit, bounded := p.VacuousBound()
	zero := p.ZeroMarginLoss()
	for k, b := range p.bounds {
		what := fmt.Sprintf("%s (kappa %g)", p.classes[k+1], b)
		switch {
		case bounded && b >= limit:
			vacuous = append(vacuous, what)
		case b >= zero:
			idle = append(idle, what)
		case b == 0 && p.phi != Hinge:
			unreachable = append(unreachable, what)
		}
	}
	var out []string
	add := func(classes []string, format string, v ...any) {
		if len(classes) > 0 {
			out = append(out, "class "+strings.Join(classes, ", ")+": "+fmt.Sprintf(format, v...))
		}
	}
	add(vacuous, "the bound constrains nothing: always predicting class %s costs another class at most C/2 = %g, whatever the data; take a smaller kappa", p.classes[0], limit)
	add(idle, "the bound is met by zero weights, which cost every class (C-1) phi(0) = %.4g, whatever the data; take a smaller kappa", zero)
	add(unreachable, "the bound cannot be met: phi %v is positive everywhere; take a larger kappa", p.phi)
	return out
}
