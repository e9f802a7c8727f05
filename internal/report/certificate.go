package report

import (
	"fmt"
	"math"
	"strconv"

	"ppal/constraints"
	"ppal/trainer"
	"ppal/trainer/session/results"
)

// ownFactor is the ratio of the epsilon of the method's own multipliers to the epsilon of the
// certificate above which the line shows both.
const ownFactor = 3

// noCertificate is said of a run without a certificate.
const noCertificate = "none: the run compared thresholds on given scores, and trained no weights"

// Certificate describes the certificate of a summary in one line.
func Certificate(sum *results.Summary) string {
	if sum.Certificate == nil {
		return noCertificate
	}
	c, most := sum.Certificate, atMost(sum)
	text := "epsilon " + most + brief(c.Epsilon)
	if o := sum.Outcome; o == nil || o.BoundsOn == constraints.OnSurrogate {
		text += ", the largest KKT residual in float64"
	} else {
		text += ": KKT residual of the smooth problem"
		largest := 0.0
		for _, s := range o.BoundShifts {
			largest = max(largest, math.Abs(s))
		}
		if largest > 0 {
			text += ", bounds shifted by up to " + brief(largest)
		}
	}
	if c.NotResolved {
		text += "; not resolved: other multipliers may show a smaller epsilon"
	}
	if own := c.Own; own != nil && own.Epsilon > ownFactor*c.Epsilon {
		text += fmt.Sprintf("; with the method's own multipliers epsilon is %s%s", most, brief(own.Epsilon))
	}
	return text
}

// atMost returns "at most " if the residuals are upper bounds: with kinks, or without the best
// multipliers.
func atMost(sum *results.Summary) string {
	if sum.Certificate.UpperBound || sum.Certificate.NotResolved {
		return "at most "
	}
	return ""
}

// certified explains the certificate of a summary to a reader who may not know certificates.
func certified(sum *results.Summary) string {
	if sum.Status == string(trainer.Failed) {
		return "The run failed: it has no certificate."
	}
	if sum.Certificate == nil {
		return noCertificate
	}
	subject := "The weights"
	if sum.Outcome != nil && sum.Outcome.BoundsOn == constraints.OnDecisions {
		subject = "For the smooth problem, the weights before the threshold step"
		if sum.Outcome.Counts() == "pair" { // a ranking has no threshold
			subject = "For the smooth problem, the weights before the exact step"
		}
	}
	near := "an approximate solution: a small epsilon says that no small step improves them"
	switch {
	case sum.Infeasibility != nil:
		near = "not a solution: no weights near them meet all bounds"
	case !sum.Converged:
		near = "not yet a solution: epsilon is too large for convergence, and further training may improve them"
	}
	return fmt.Sprintf("%s are a KKT point up to epsilon = %s%s, computed in float64. They are %s.", subject, atMost(sum), precise(sum.Certificate.Epsilon), near)
}

// residual is a part of a certificate.
type residual struct{ Name, Value, Meaning string }

// residuals returns the parts of the certificate of a summary.
func residuals(sum *results.Summary) []residual {
	if sum.Status == string(trainer.Failed) || sum.Certificate == nil {
		return nil
	}
	c := sum.Certificate
	return []residual{{"stationarity", atMost(sum) + precise(c.Stationarity), "the gradient that the multipliers do not balance"},
		{"infeasibility", precise(c.Infeasibility), "the norm of the violations"},
		{"complementarity", precise(c.Complementarity), "multipliers times slack"}}
}

// brief formats a number with two significant digits.
func brief(x float64) string { return strconv.FormatFloat(x, 'g', 2, 64) }

// precise formats a number with three significant digits.
func precise(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }
