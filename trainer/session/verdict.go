package session

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/problem"
)

// ConvergedEpsilon is the largest epsilon of the certificate, relative to max(1, |objective|), with
// which a run counts as converged. With bounds on decisions epsilon is absolute: the objective is a
// rate, and larger values come from the regularizer alone.
const ConvergedEpsilon = 1e-2

const (
	// movingMultipliers is the relative change of the multipliers over the last tenth of a run from
	// which they count as still changing.
	movingMultipliers = 0.01
	// mostConflicting is the largest number of constraints of a conflict in the verdict.
	mostConflicting = 5
	// leastShare is the smallest share of a constraint of a conflict in the verdict.
	leastShare = 0.01
)

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
		sum.Verdict = conflictSentence(sum.Infeasibility, onDecisions)
		if text := how.use(toConverge); text != "" {
			sum.Verdict += " " + text
		}
		return
	}
	exceeded := !onDecisions && sum.MaxViolation > s.options.feasibilityTolerance()
	var start string
	if sum.Converged, start, _ = Judge(sum, s.options.feasibilityTolerance()); sum.Converged {
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
	c.overfitted = o != nil && overfits(&o.Objective)
	return c
}

// Judge returns what the numbers of a summary say: whether the run has converged, and the verdict.
// whole is false if the verdict is only its start, because reasons and advice from the training
// follow. tolerance is the largest violation that counts as feasible.
func Judge(sum *Summary, tolerance float64) (converged bool, verdict string, whole bool) {
	onDecisions := sum.Outcome != nil && sum.Outcome.BoundsOn == OnDecisions
	if sum.Infeasibility != nil {
		return false, conflictSentence(sum.Infeasibility, onDecisions), false
	}
	c := &sum.Certificate
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

// feasibilityTolerance returns the largest violation that counts as feasible.
func (o Options) feasibilityTolerance() float64 {
	if t := o.Settings.FeasibilityTolerance; t > 0 {
		return t
	}
	return trainer.DefaultFeasibilityTolerance
}

// unconverged names the largest residual of the certificate.
func unconverged(sum *Summary, exceeded, onDecisions bool) string {
	c, head := &sum.Certificate, "The run has not converged: "
	smooth := ""
	if onDecisions {
		smooth = " of the smooth problem"
	}
	switch {
	case exceeded || c.Epsilon == c.Infeasibility:
		return head + fmt.Sprintf("the bounds%s are exceeded by up to %.2g.", smooth, problem.MaxViolation(sum.Constraints))
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
		if s.options.Settings.Tolerance > ConvergedEpsilon {
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

// conflictSentence says which constraints conflict and by how much the bounds must be relaxed.
func conflictSentence(i *rundir.Infeasibility, onDecisions bool) string {
	var list []string
	for _, c := range i.Conflict {
		if len(list) < mostConflicting && c.Share >= leastShare {
			list = append(list, fmt.Sprintf("%s (share %.0f%%, exceeded by %.2g)", c.Constraint, 100*c.Share, c.Excess))
		}
	}
	if n := len(i.Conflict) - len(list); n > 0 {
		list = append(list, fmt.Sprintf("%d more", n))
	}
	what, conflict := "The bounds cannot be met together", "These constraints conflict: "
	if len(i.Conflict) == 1 {
		what, conflict = "A bound cannot be met", "The constraint is "
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
	return text + conflict + strings.Join(list, ", ") + ". " + relax
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
