// Package measure judges a trained model: it counts the decisions, chooses the threshold, promises
// bounds for new rows, shows wrong decisions, and says in a verdict whether the run converged.
package measure

import (
	"fmt"
	"slices"
	"strings"

	"ppal/constraints"
	"ppal/trainer"
	"ppal/trainer/session/results"
)

// movingMultipliers is the smallest relative change over the last tenth of a run at which the
// multipliers count as still changing.
const movingMultipliers = 0.01

// Run is an ended run, as its verdict sees it.
type Run struct {
	Circumstances
	Training    *trainer.Result
	Constraints []string // in words, with the bounds
	// FeasibilityTolerance is the largest violation that counts as feasible.
	FeasibilityTolerance float64
	// Shifts are the shifts of the bounds in the last round of bounds on decisions, which a proof of
	// infeasibility is about; nil without rounds.
	Shifts []float64
}

// Judge sets the keys converged, verdict and infeasibility of the summary of the certified run. The
// verdict is what a reader must know first: that the bounds cannot be met, or that the run has not
// converged, with the reason as far as known and the flag to change. The verdict of a converged run
// is "".
func (e Run) Judge(sum *results.Summary) {
	r, how := e.Training, e.Circumstances
	onDecisions := sum.Outcome != nil && sum.Outcome.BoundsOn == constraints.OnDecisions
	if r.Status == trainer.Infeasible {
		sum.Infeasibility = results.NewInfeasibility(r.Infeasible, e.Constraints)
		sum.Infeasibility.BoundShifts = e.Shifts
		_, sum.VerdictClaim, _ = sum.Judge(e.FeasibilityTolerance)
		sum.Verdict = sum.VerdictClaim
		if text := how.use(toConverge); text != "" {
			sum.Verdict += " " + text
		}
		return
	}
	exceeded := !onDecisions && sum.MaxViolation > e.FeasibilityTolerance
	if sum.Converged, sum.VerdictClaim, _ = sum.Judge(e.FeasibilityTolerance); sum.Converged {
		return
	}
	how.unconverged = true
	list := []string{sum.VerdictClaim, e.reason()}
	switch {
	case exceeded && r.Attainable:
		list = append(list, "The bounds can be met: a search found a point near the weights that meets all of them.")
	case exceeded && r.BestFeasible == nil,
		onDecisions && slices.ContainsFunc(sum.Outcome.Constraints, func(c results.ConstraintOutcome) bool { return sum.Outcome.Standing(&c).State == constraints.NotMet }):
		list = append(list, "The run found no weights that meet all bounds; perhaps there are none.")
	}
	if text := how.use(toConverge); text != "" {
		list = append(list, text)
	}
	sum.Verdict = strings.Join(list, " ")
}

// reason says why a run stopped before it converged, as far as known.
func (e Run) reason() string {
	r := e.Training
	if e.OfLoss {
		return "The saved weights are those of the loss, because the rounds of the smooth problem ended at weights with worse decisions."
	}
	if e.rounded() {
		return "The steps are at the rounding level of float32."
	}
	why := ""
	switch r.Status {
	case trainer.TimeLimit:
		why = "The time limit ended the run"
	case trainer.GradientLimit:
		why = "The limit of gradient evaluations ended the run"
	case trainer.Converged:
		why = "The run ended at --tolerance"
	case trainer.RoundsEnded:
		why = "The decisions meet the bounds, which ended the run"
		if e.Circumstances.Unmet {
			why = "The rounds that adapt the bounds to the decisions ended"
		}
	case trainer.AtRest:
		why = "The steps are below the rounding of the weights: more iterations change nothing"
	case trainer.NoImprovement:
		why = fmt.Sprintf("--patience ended the run after %d iterations: the saved weights, of iteration %d, are the best on the validation rows", r.Iterations, r.Output)
	case trainer.Interrupted:
		why = fmt.Sprintf("The run was interrupted after %d iterations", r.Iterations)
	default:
		why = fmt.Sprintf("The limit of %d iterations ended the run", r.Iterations)
	}
	if m := r.Trend.Multipliers; m > movingMultipliers && r.Status != trainer.NoImprovement && r.Status != trainer.AtRest {
		share := fmt.Sprintf("%.0f%%", 100*m)
		if m > 1 { // of multipliers that were near 0
			share = "more than 100%"
		}
		why += " while the multipliers were still changing, by " + share + " over the last tenth of the iterations"
	}
	return why + "."
}
