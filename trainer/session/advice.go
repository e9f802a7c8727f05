package session

import (
	"fmt"
	"strconv"
	"strings"

	"gorgonia.org/tensor"

	"ppal/internal/ending"
	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/problem"
)

// advice is one thing that a run can tell its user to change.
type advice struct {
	flag   string // the flag without dashes
	change change
	phrase string // what to use, as an object of "use"
	// helps says when the advice helps. It is false where the flag is not in use, is at its limit, or
	// contradicts other advice.
	helps func(c *circumstances) bool
}

// change is the direction in which an advice changes its flag.
type change int

const (
	other  change = iota // another value
	longer               // a value with which the run takes longer
	stops                // a value with which the run ends earlier
	looser               // bounds that are easier to meet
)

// circumstances of an ended run decide which advice it gives.
type circumstances struct {
	status      trainer.Status
	unconverged bool // the certificate's epsilon is too large
	unmet       bool // no threshold meets the bounds on decisions
	costly      bool // the threshold costs much of the objective
	constant    bool // the model makes one decision for all rows, or hardly ever the positive one
	overfitted  bool // the model fits the training rows much more closely than the validation rows
	atRounding  bool // the steps are at the rounding of the weights
	float32     bool
	batches     bool
	promises    bool // --confidence, which needs validation rows that did not choose the weights
	weighted    bool // the regularizer has a weight
	selected    bool // --select saved an iterate before the last
	convex      bool // every seed leads to the weights of the same convex problem
	patience    int
	tolerance   float64
}

// goesOn reports whether a longer run can help: a limit ended the run, the last iterate is saved,
// and neither the rounding of float32 nor overfitting is the reason.
func (c *circumstances) goesOn(limit trainer.Status) bool {
	return c.status == limit && !c.selected && (c.unconverged && !c.overfitted || c.unmet || c.costly) && !c.rounded()
}

// rounded reports whether float64 can help.
func (c *circumstances) rounded() bool { return c.atRounding && c.float32 }

// wants reports whether the bounds ask for a change.
func (c *circumstances) wants() bool { return c.unmet || c.costly || c.constant }

// advices lists all advice about the end of a run, in the order in which it is given.
var advices = []advice{
	{"dtype", other, "--dtype float64", func(c *circumstances) bool { return c.unconverged && c.rounded() }},
	{"iterations", longer, "more --iterations", func(c *circumstances) bool { return c.goesOn(trainer.IterationLimit) }},
	{"time-limit", longer, "a longer --time-limit", func(c *circumstances) bool { return c.goesOn(trainer.TimeLimit) }},
	{"gradients", longer, "a larger limit of gradient evaluations", func(c *circumstances) bool { return c.goesOn(trainer.GradientLimit) }},
	{"resume", longer, "--resume to let the run go on", func(c *circumstances) bool { return c.goesOn(trainer.Interrupted) }},
	{"tolerance", longer, "a smaller --tolerance", func(c *circumstances) bool {
		return c.unconverged && !c.overfitted && c.status == trainer.Converged && c.tolerance > ending.ConvergedEpsilon
	}},
	{"select", other, "--select last, because the saved iterate is not the last", func(c *circumstances) bool {
		return c.selected && c.unconverged && !c.overfitted && c.status != trainer.Infeasible
	}},
	{"seed", other, "another --seed", func(c *circumstances) bool { return c.elsewhere() && !c.convex }},
	{"init", other, "other weights to start from (--init)", func(c *circumstances) bool { return c.elsewhere() && c.convex }},
	{"batch-size", other, "a larger --batch-size, because mini-batches add noise", func(c *circumstances) bool {
		return c.unconverged && c.batches && !c.rounded() && c.status != trainer.Infeasible
	}},
	{"subject-to", looser, "looser bounds", (*circumstances).wants},
	{"patience", stops, "--patience N, which ends a run when the validation rows no longer gain", func(c *circumstances) bool {
		return c.overfitted && c.patience == 0 && !c.promises && !c.lengthens()
	}},
	{"regularizer-weight", other, "a larger --regularizer-weight", func(c *circumstances) bool {
		return c.overfitted && c.weighted && (c.patience > 0 || c.promises || c.lengthens())
	}},
}

// elsewhere reports whether the run can only end better from other weights.
func (c *circumstances) elsewhere() bool {
	return c.status == trainer.Infeasible || c.unconverged && c.status == trainer.AtRest && !c.rounded()
}

// lengthens reports whether the advice makes the run longer.
func (c *circumstances) lengthens() bool {
	for _, limit := range []trainer.Status{trainer.IterationLimit, trainer.TimeLimit, trainer.GradientLimit, trainer.Interrupted} {
		if c.goesOn(limit) {
			return true
		}
	}
	return false
}

// given returns the advice that helps, of all advice or of that about the flags.
func (c *circumstances) given(flags ...string) (list []advice) {
	for _, a := range advices {
		if (len(flags) == 0 || contains(flags, a.flag)) && a.helps(c) {
			list = append(list, a)
		}
	}
	return list
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// The flags of the advice about convergence, about bounds and about overfitting.
var (
	toConverge = []string{"dtype", "iterations", "time-limit", "gradients", "resume", "tolerance", "select", "seed", "init", "batch-size"}
	toMeet     = []string{"iterations", "time-limit", "gradients", "resume", "subject-to"}
	toFitLess  = []string{"patience", "regularizer-weight"}
)

// use returns the advice about the flags as a sentence, "Use ... or ....", or "".
func (c *circumstances) use(flags []string) string {
	var phrases []string
	for _, a := range c.given(flags...) {
		phrases = append(phrases, a.phrase)
	}
	if len(phrases) == 0 {
		return ""
	}
	return "Use " + strings.Join(phrases, ", or ") + "."
}

// circumstances returns the circumstances of a run with the given end, as far as the settings and
// the rounds tell them.
func (a *assembly) circumstances(status trainer.Status) circumstances {
	o, st := &a.options, a.builder.statement
	c := circumstances{status: status, float32: a.dtype == tensor.Float32, batches: o.BatchSize > 0, promises: a.confidence != nil,
		weighted: a.builder.regularizer.Weight > 0, patience: o.Settings.Patience, tolerance: o.Settings.Tolerance,
		convex: st.start != nil && problem.FeaturesOf(a.problem).Shallow}
	if f := a.solved; f != nil {
		c.unmet, c.constant = f.exact.Violation > 0, f.constant >= 0 || f.few()
		c.costly = a.confidence == nil && f.exact.Cost() > costlyStep
	}
	return c
}

// overfittedShare is the least difference between the minimised values on the validation rows and
// on the training rows of an overfitted model, as a share of the value on the validation rows.
const overfittedShare = 0.1

// overfits reports whether the model fits the training rows much more closely than the validation
// rows: the minimised value on the training rows is below the interval of the validation rows, and
// at least a tenth below their value.
func overfits(o *rundir.ObjectiveOutcome) bool {
	train, validation, interval := o.Train, o.Validation, o.ValidationInterval
	return train != nil && validation != nil && interval != nil && *train < interval[0] && *train <= (1-overfittedShare)**validation
}

// overfitting returns a note about an overfitted model, or "".
func (c *circumstances) overfitting(o *rundir.ObjectiveOutcome) string {
	if !c.overfitted {
		return ""
	}
	four := func(x float64) string { return strconv.FormatFloat(x, 'f', 4, 64) }
	text := fmt.Sprintf("The model fits the training rows much more closely than other rows: the %s is %s on the training rows, and %s on the validation rows.",
		o.Name, four(*o.Train), four(*o.Validation))
	if c.patience > 0 {
		text += " The saved weights are the best on the validation rows."
	}
	return strings.TrimSpace(text + " " + c.use(toFitLess))
}
