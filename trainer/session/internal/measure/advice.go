package measure

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ppal/constraints"
	"ppal/trainer"
	"ppal/trainer/session/results"
)

// advice is one change that a run can recommend to its user.
type advice struct {
	flag   string // the flag without dashes
	change change
	phrase string // what to use, as an object of "use"
	// helps reports whether the advice helps. It returns false if the flag is not in use or at its
	// limit, or if the advice contradicts other advice.
	helps func(c *Circumstances) bool
}

// change is the direction in which an advice changes its flag.
type change int

const (
	other  change = iota // another value
	longer               // a value with which the run takes longer
	stops                // a value with which the run ends earlier
	looser               // bounds that are easier to meet
)

// Circumstances describes an ended run, and decides which advice the run gives.
type Circumstances struct {
	Status     trainer.Status
	Unmet      bool // no threshold meets the bounds on decisions
	Costly     bool // the threshold costs much of the objective
	Constant   bool // the model makes nearly the same decision for all rows, or hardly ever the positive one
	Overfitted bool // the model fits the training rows much more closely than the validation rows: see Overfits
	AtRounding bool // the steps to the saved weights are at the rounding of the weights
	OfLoss     bool // the weights are those of the loss, because no later round has better decisions
	Float32    bool
	Batches    bool
	Promises   bool // --confidence, which needs validation rows that did not choose the weights
	Weighted   bool // the regularizer has a weight
	Unscaled   bool // the features are those of a file that ppal does not standardise
	Selected   bool // --select saved an iterate before the last
	Convex     bool // every seed leads to the weights of the same convex problem
	Several    bool // the model has a score for each class
	Patience   int
	Tolerance  float64 // of the training; 0: none

	unconverged bool // the certificate's epsilon is too large
}

// goesOn reports whether a longer run can help: a limit ended the run, the last iterate is saved,
// and neither the rounding of float32 nor overfitting is the reason.
func (c *Circumstances) goesOn(limit trainer.Status) bool {
	return c.Status == limit && !c.Selected && (c.unconverged && !c.Overfitted || c.Unmet || c.Costly) && !c.rounded()
}

// rounded reports whether float64 can help.
func (c *Circumstances) rounded() bool { return c.AtRounding && c.Float32 }

// wants reports whether the bounds ask for a change.
func (c *Circumstances) wants() bool { return c.Unmet || c.Costly || c.Constant }

// advices lists all advice about the end of a run, in the order in which it is given.
var advices = []advice{
	{"columns", other, "columns of similar sizes, because the features of this file are used as they are", func(c *Circumstances) bool {
		return c.unconverged && c.rounded() && c.Unscaled
	}},
	{"dtype", other, "--dtype float64", func(c *Circumstances) bool { return c.unconverged && c.rounded() }},
	{"iterations", longer, "more --iterations", func(c *Circumstances) bool { return c.goesOn(trainer.IterationLimit) }},
	{"time-limit", longer, "a longer --time-limit", func(c *Circumstances) bool { return c.goesOn(trainer.TimeLimit) }},
	{"gradients", longer, "a larger limit of gradient evaluations", func(c *Circumstances) bool { return c.goesOn(trainer.GradientLimit) }},
	{"resume", longer, "--resume to let the run go on", func(c *Circumstances) bool { return c.goesOn(trainer.Interrupted) }},
	{"tolerance", longer, "a smaller --tolerance", func(c *Circumstances) bool {
		return c.unconverged && !c.Overfitted && c.Status == trainer.Converged && c.Tolerance > results.ConvergedEpsilon
	}},
	{"select", other, "--select last, because the saved iterate is not the last", func(c *Circumstances) bool {
		return c.Selected && c.unconverged && !c.Overfitted && c.Status != trainer.Infeasible
	}},
	{"seed", other, "another --seed", func(c *Circumstances) bool { return c.needsOtherStart() && !c.Convex }},
	{"init", other, "other weights to start from (--init)", func(c *Circumstances) bool { return c.needsOtherStart() && c.Convex }},
	{"batch-size", other, "a larger --batch-size, because mini-batches add noise", func(c *Circumstances) bool {
		return c.unconverged && c.Batches && !c.rounded() && c.Status != trainer.Infeasible
	}},
	{"subject-to", looser, "looser bounds", (*Circumstances).wants},
	{"patience", stops, "--patience N, which ends a run when the validation rows no longer gain", func(c *Circumstances) bool {
		return c.Overfitted && c.Patience == 0 && !c.Promises && !c.lengthens()
	}},
	{"regularizer-weight", other, "a larger --regularizer-weight", func(c *Circumstances) bool {
		return c.Overfitted && c.Weighted && (c.Patience > 0 || c.Promises || c.lengthens())
	}},
}

// needsOtherStart reports whether the run can only end better from other weights.
func (c *Circumstances) needsOtherStart() bool {
	return c.Status == trainer.Infeasible || c.unconverged && c.Status == trainer.AtRest && !c.rounded()
}

// lengthens reports whether the advice makes the run longer.
func (c *Circumstances) lengthens() bool {
	for _, limit := range []trainer.Status{trainer.IterationLimit, trainer.TimeLimit, trainer.GradientLimit, trainer.Interrupted} {
		if c.goesOn(limit) {
			return true
		}
	}
	return false
}

// about returns the advice about the flags that helps. Without flags, it returns all advice that
// helps.
func (c *Circumstances) about(flags ...string) (list []advice) {
	for _, a := range advices {
		if (len(flags) == 0 || slices.Contains(flags, a.flag)) && a.helps(c) {
			list = append(list, a)
		}
	}
	return list
}

// The flags of the advice about convergence, about bounds and about overfitting.
var (
	toConverge = []string{"columns", "dtype", "iterations", "time-limit", "gradients", "resume", "tolerance", "select", "seed", "init", "batch-size"}
	toMeet     = []string{"iterations", "time-limit", "gradients", "resume", "subject-to"}
	toFitLess  = []string{"patience", "regularizer-weight"}
)

// use returns the advice about the flags as a sentence, "Use ... or ....", or "".
func (c *Circumstances) use(flags []string) string {
	if list := c.phrases(flags); list != "" {
		return "Use " + list + "."
	}
	return ""
}

// toMeetBounds returns the advice about bounds that are not met or that cost much, as a clause:
// "use ... or ...", or "".
func (c *Circumstances) toMeetBounds() string {
	if list := c.phrases(toMeet); list != "" {
		return "use " + list
	}
	return ""
}

// phrases returns the phrases of the advice about the flags, or "".
func (c *Circumstances) phrases(flags []string) string {
	var phrases []string
	for _, a := range c.about(flags...) {
		phrases = append(phrases, a.phrase)
	}
	return strings.Join(phrases, ", or ")
}

// overfittedShare is the least difference between the minimised values on the validation rows and
// on the training rows of an overfitted model, as a share of the value on the validation rows.
const overfittedShare = 0.1

// Overfits reports whether the model fits the training rows much more closely than the validation
// rows: the minimised value on the training rows is below the interval of the validation rows, and
// at least a tenth below their value.
func Overfits(o *results.ObjectiveOutcome) bool {
	train, validation, interval := o.Train, o.Validation, o.ValidationInterval
	return train != nil && validation != nil && interval != nil && *train < interval[0] && *train <= (1-overfittedShare)**validation
}

// Overfitting returns a note about an overfitted model, or "".
func (c *Circumstances) Overfitting(o *results.ObjectiveOutcome) string {
	if !c.Overfitted {
		return ""
	}
	four := func(x float64) string { return strconv.FormatFloat(x, 'f', 4, 64) }
	text := fmt.Sprintf("The model fits the training rows much more closely than other rows: the %s is %s on the training rows, and %s on the validation rows.",
		o.Name, four(*o.Train), four(*o.Validation))
	if c.Patience > 0 {
		text += " The saved weights are the best on the validation rows."
	}
	return strings.TrimSpace(text + " " + c.use(toFitLess))
}

// GivenUp returns a warning about training decisions that are useless although they may meet the
// bounds (results.Outcome.GivenUp). It returns nil for other decisions. t has the rates of the
// training rows.
func (c *Circumstances) GivenUp(o *results.Outcome, t *results.RateTable) trainer.Warnings {
	text := o.GivenUp()
	if text == "" {
		return nil
	}
	if decided, others := t.Decides(); decided != "" {
		switch {
		case others > 0:
			text = fmt.Sprintf("the model decides %s for all but %d of %d training rows", decided, others, t.Rows)
		case c.Several:
			text = fmt.Sprintf("the model decides %s for every training row, whatever the features", decided)
		default:
			who := [2]string{"rejects", "accepts"}[slices.Index(t.Classes, decided)]
			text = fmt.Sprintf("the model %s everybody: it decides %s for every training row, whatever the features", who, decided)
		}
	}
	if len(o.Constraints) > 0 {
		text += ", so that met bounds say nothing about the quality of the model"
	}
	binds := slices.ContainsFunc(o.Constraints, func(c results.ConstraintOutcome) bool { return c.Multiplier > 0 })
	longer := *c
	longer.Unmet = true
	use := longer.toMeetBounds()
	switch {
	case o.Objective.Train != nil && *o.Objective.Train == 0 && len(o.Constraints) > 0:
		use = "the bounds allow this: use tighter bounds"
	case !binds && o.Thresholds == nil:
		list := []string{"other features", "another --model"}
		for _, a := range longer.about("iterations", "time-limit", "gradients", "resume") {
			list = slices.Insert(list, 0, a.phrase)
		}
		if o.Objective.Name == constraints.Error().Name() || o.Objective.Name == constraints.Loss().Name() {
			list = append(list, "--class-weight balanced")
		}
		use = "no bound asks for this: use " + strings.Join(list, ", or ")
	case !c.Convex:
		use += ", or another --seed"
	}
	return trainer.Warnings{trainer.NewWarning(WarnOneSided, text, use)}
}
