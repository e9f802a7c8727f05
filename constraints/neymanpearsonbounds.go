package constraints

import (
	"fmt"
	"strings"
)

// ZeroMarginLoss returns (C-1) phi(0), the loss of every class if all scores of a row are equal, as
// with zero weights. For any data the loss is (C-1)/2 for Sigmoid, (C-1) log 2 for Logistic and C-1
// for Hinge. An untrained model with zero weights meets any bound of at least this value.
func (p *NeymanPearson) ZeroMarginLoss() float64 {
	return float64(len(p.classes)-1) * p.phi.Value(0)
}

// VacuousBound returns C/2. A bound of at least C/2 restricts nothing. For any data, the classifier
// "always the first class" keeps the loss of every other class below C/2 and makes f arbitrarily
// small: a row of another class has one margin against the first class, which costs at most 1, and
// C-2 margins of zero, which cost 1/2 each. The bound exists for the bounded Sigmoid only; for
// Logistic and Hinge ok is false, because the classifier's loss grows without limit.
func (p *NeymanPearson) VacuousBound() (bound float64, ok bool) {
	return float64(len(p.classes)) / 2, p.phi == Sigmoid
}

// CollapseThreshold returns (C-1)/2. If the objective is at least this value while the stationarity
// residual is about 0, the model has given up the first class: its margins are negative and
// saturated, phi' vanishes, and the point is a worthless KKT point. The threshold exists for
// Sigmoid only; for Logistic and Hinge ok is false, because they have slope -1 at large negative
// margins and do not saturate.
func (p *NeymanPearson) CollapseThreshold() (objective float64, ok bool) {
	return float64(len(p.classes)-1) / 2, p.phi == Sigmoid
}

// Warnings returns one sentence for each kind of unsuitable bound: vacuous bounds, bounds that zero
// weights meet, and bounds of zero if phi is positive everywhere. The list is empty if all bounds
// are suitable.
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
	add(vacuous, "the bound constrains nothing: always predicting class %s costs another class at most C/2 = %g, whatever the data; use a smaller kappa (--kappa)", p.classes[0], limit)
	add(idle, "the bound is met by zero weights, which cost every class (C-1) phi(0) = %.4g, whatever the data; use a smaller kappa (--kappa)", zero)
	add(unreachable, "the bound cannot be met: phi %v is positive everywhere; use a larger kappa (--kappa)", p.phi)
	return out
}
