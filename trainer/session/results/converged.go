package results

import (
	"fmt"
	"math"
	"strings"

	"ppal/constraints"
	"ppal/trainer/problem"
)

// ConvergedEpsilon is the largest epsilon of the certificate, relative to max(1, |objective|), with
// which a run counts as converged. With bounds on decisions epsilon is absolute: the objective is a
// rate, and larger values come from the regularizer alone.
const ConvergedEpsilon = 1e-2

const (
	// mostConflicting is the largest number of constraints of a conflict in the verdict.
	mostConflicting = 5
	// leastShare is the smallest share of a constraint of a conflict in the verdict.
	leastShare = 0.01
)

// Judge returns, by the numbers of the summary, whether the run has converged, and the verdict.
// whole is false if verdict is only its beginning, which reasons and advice from the training
// follow. tolerance is the largest violation that counts as feasible.
func (sum *Summary) Judge(tolerance float64) (converged bool, verdict string, whole bool) {
	onDecisions := sum.Outcome != nil && sum.Outcome.BoundsOn == constraints.OnDecisions
	if sum.Infeasibility != nil {
		return false, conflict(sum.Infeasibility, onDecisions), false
	}
	c := sum.Certificate
	if c == nil { // thresholds were compared
		return true, "", true
	}
	exceeded := !onDecisions && sum.MaxViolation > tolerance
	scale := 1.0
	if !onDecisions {
		scale = math.Max(1, math.Abs(sum.Objective))
	}
	if c.Epsilon <= ConvergedEpsilon*scale && !exceeded {
		return true, "", true
	}
	verdict = unconverged(sum, exceeded, onDecisions)
	if c.UpperBound && c.Epsilon == c.Stationarity {
		verdict += " The model has kinks (relu, hinge, l1): there the residual is an upper bound, and the run may be closer to a solution."
	}
	if c.NotResolved {
		verdict += " The search for multipliers was not resolved: other multipliers may show that the run is closer to a solution."
	}
	return false, verdict, false
}

// unconverged names the largest residual of the certificate.
func unconverged(sum *Summary, exceeded, onDecisions bool) string {
	c, head := sum.Certificate, "The run has not converged: "
	smooth := ""
	if onDecisions {
		smooth = " of the smooth problem"
	}
	switch {
	case exceeded || c.Epsilon == c.Infeasibility:
		return head + fmt.Sprintf("the bounds%s are missed by up to %.2g.", smooth, problem.MaxViolation(sum.Constraints))
	case c.Epsilon == c.Stationarity && c.UpperBound:
		return "The run may not have converged: " + fmt.Sprintf("the gradient of the Lagrangian%s has the norm %.2g; at a solution it is 0.", smooth, c.Stationarity)
	case c.Epsilon == c.Stationarity:
		return head + fmt.Sprintf("the gradient of the Lagrangian%s has the norm %.2g; at a solution it is 0.", smooth, c.Stationarity)
	case c.Epsilon == c.Complementarity:
		return head + fmt.Sprintf("constraints%s that are not at their bounds have multipliers; "+
			"the sum of multiplier times distance from the bound is %.2g, and 0 at a solution.", smooth, c.Complementarity)
	}
	return head + fmt.Sprintf("the weights are outside the domain of the regularizer by %.2g of its size.", c.Domain)
}

// conflict says which constraints conflict and by how much the bounds must be relaxed.
func conflict(i *Infeasibility, onDecisions bool) string {
	var list []string
	for _, c := range i.Conflict {
		if len(list) < mostConflicting && c.Share >= leastShare {
			list = append(list, fmt.Sprintf("%s (share %.0f%%, missed by %.2g)", c.Constraint, 100*c.Share, c.Excess))
		}
	}
	if n := len(i.Conflict) - len(list); n > 0 {
		list = append(list, fmt.Sprintf("%d more", n))
	}
	what, those := "The bounds cannot be met together", "These constraints conflict: "
	if len(i.Conflict) == 1 {
		what, those = "A bound cannot be met", "The constraint is "
	}
	text := what + " near these weights: a search for the least violation ended where no small change of the weights lowers the violation. "
	if onDecisions {
		text = what + " near these weights: no threshold of the best round meets the bounds on decisions, and in the smooth problem a search for the least " +
			"violation ended where no small change of the weights lowers the violation. "
	}
	least, most := fmt.Sprintf("%.2g", i.Relaxation), fmt.Sprintf("%.2g", i.MaxViolation)
	relax := fmt.Sprintf("Relax every bound by at least about %s; relaxed by %s, a point of the search meets all bounds.", least, most)
	switch {
	case len(i.Conflict) == 1:
		relax = fmt.Sprintf("Relax this bound by about %s.", most)
	case least == most:
		relax = fmt.Sprintf("Relax every bound by about %s.", most)
	}
	return text + those + strings.Join(list, ", ") + ". " + relax
}
