package session

import (
	"fmt"
	"slices"
	"strings"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/ending"
	"ppal/internal/rundir"
	"ppal/trainer"
)

// movingMultipliers is the relative change of the multipliers over the last tenth of a run from
// which they count as still changing.
const movingMultipliers = 0.01

// judge sets the keys converged, verdict and infeasibility of the summary of a certified run. The
// verdict is what a reader must know first: that the bounds cannot be met, or that the run has not
// converged, with the reason as far as known and the flag to change. The verdict of a converged run
// is "".
func (s *Session) judge(sum *Summary) {
	r, d, how := s.training, s.pipeline.Describe(), s.circumstances(sum.Outcome)
	onDecisions := sum.Outcome != nil && sum.Outcome.BoundsOn == OnDecisions
	if r.Status == trainer.Infeasible {
		sum.Infeasibility = rundir.NewInfeasibility(r.Infeasible, boundedNames(d))
		if a, ok := s.pipeline.(*assembly); ok && a.solved != nil {
			rounds := a.solved.rounds.Rounds
			sum.Infeasibility.BoundShifts = rounds[len(rounds)-1].Shifts // of the round that the proof is about
		}
		sum.Verdict = ending.Conflict(sum.Infeasibility, onDecisions)
		if text := how.use(toConverge); text != "" {
			sum.Verdict += " " + text
		}
		return
	}
	exceeded := !onDecisions && sum.MaxViolation > s.options.feasibilityTolerance()
	var start string
	if sum.Converged, start, _ = ending.Judge(sum, s.options.feasibilityTolerance()); sum.Converged {
		return
	}
	how.unconverged = true
	list := []string{start, s.reason(r)}
	switch {
	case exceeded && r.Attainable:
		list = append(list, "The bounds can be met: a search found a point near the weights that meets all of them.")
	case exceeded && r.BestFeasible == nil,
		onDecisions && slices.ContainsFunc(sum.Outcome.Constraints, func(c rundir.ConstraintOutcome) bool { return sum.Outcome.Standing(&c).State == constraints.NotMet }):
		list = append(list, "The run found no weights that meet all bounds; perhaps there are none.")
	}
	if text := how.use(toConverge); text != "" {
		list = append(list, text)
	}
	sum.Verdict = strings.Join(list, " ")
}

// circumstances returns the circumstances of a certified run.
func (s *Session) circumstances(o *Outcome) circumstances {
	c := circumstances{status: s.training.Status}
	if a, ok := s.pipeline.(*assembly); ok {
		c = a.circumstances(s.training.Status)
	} else { // a pipeline of the caller's own
		c.float32, c.batches = s.options.Device.dtype() == tensor.Float32, s.options.BatchSize > 0
		c.patience, c.tolerance = s.options.Settings.Patience, s.options.Settings.Tolerance
	}
	c.atRounding = s.training.Trend.AtRounding
	c.selected = s.training.Output < s.training.Iterations &&
		slices.Contains([]trainer.Output{trainer.OutputBestTrain, trainer.OutputBestValidation}, s.options.Settings.Output)
	c.overfitted = o != nil && overfits(&o.Objective)
	return c
}

// feasibilityTolerance returns the largest violation that counts as feasible.
func (o Options) feasibilityTolerance() float64 {
	if t := o.Settings.FeasibilityTolerance; t > 0 {
		return t
	}
	return trainer.DefaultFeasibilityTolerance
}

// reason says why a run stopped before it converged, as far as known.
func (s *Session) reason(r *trainer.Result) string {
	if t := r.Trend; t.AtRounding && s.options.Device.dtype() == tensor.Float32 {
		return "The steps are at the rounding level of float32."
	}
	why := ""
	switch r.Status {
	case trainer.TimeLimit:
		why = "The time limit ended the run"
	case trainer.GradientLimit:
		why = "The limit of gradient evaluations ended the run"
	case trainer.Converged:
		why = "The decisions meet the bounds, which ended the run"
		if s.options.Settings.Tolerance > ending.ConvergedEpsilon {
			why = "The run ended at --tolerance"
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
		why += fmt.Sprintf(" while the multipliers were still changing, by %.0f%% over the last tenth of the iterations", 100*m)
	}
	return why + "."
}

// boundedNames returns the constraints of a description with their bounds.
func boundedNames(d Description) []string {
	if d.Task == NameRates || d.Task == NameClassRates {
		return d.Constraints // in the user's words, with the bound
	}
	names := make([]string, len(d.Constraints))
	for j, name := range d.Constraints {
		names[j] = fmt.Sprintf("%s <= %v", name, d.Bounds[j])
	}
	return names
}
