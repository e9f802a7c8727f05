package report

import (
	"fmt"
	"slices"

	"ppal/constraints"
	"ppal/internal/option"
	"ppal/trainer"
	"ppal/trainer/session/results"
)

// Status says in words how a run ended.
type Status struct {
	Kind string // good, warn, bad or open
	Text string
	Exit string // the exit status of ppal train and its meaning
	Lead string
}

// endedStatus returns the status of a run with a summary. tolerance is the largest violation that
// counts as feasible.
func endedStatus(sum *results.Summary, tolerance float64) Status {
	lead := fmt.Sprintf("The run stopped after %s: %s.", option.Counted(sum.Iterations, "iteration"), sum.Status)
	switch sum.Status {
	case string(trainer.Failed):
		return Status{"bad", "The run failed", "1: the run failed", sum.Error}
	case string(trainer.Interrupted):
		return Status{"open", "Interrupted", "130: interrupted", lead + " The files hold the result up to this iteration."}
	}
	o := sum.Outcome
	switch {
	case o == nil || len(o.Constraints) == 0:
		if sum.MaxViolation <= tolerance {
			return Status{"good", "Finished", "0: done", lead}
		}
		return Status{"bad", "Finished, but a constraint is violated", "0: done", lead}
	case o.Met():
		kind := kindOf(o.Rating())
		if kind == "good" && o.GivenUp() != "" {
			kind = "warn"
		}
		return Status{kind, headline(o, decisions(o)), "0: done", lead}
	}
	return Status{"bad", headline(o, decisions(o)), "3: finished, but a constraint is not met or cannot be judged (0 with --allow-violation)", lead}
}

// decisions says on which decisions a run's bounds are met; a promise comes first.
func decisions(o *results.Outcome) string {
	switch {
	case o.BoundsOn == constraints.OnSurrogate:
		return "met on the surrogates of the training rows"
	case o.Confidence > 0:
		return fmt.Sprintf("promised for new rows with %g%% confidence, and met on the training decisions", 100*o.Confidence)
	}
	return "met on the training decisions"
}

// kindOf returns the kind of a rating: good, warn or bad.
func kindOf(g results.Rating) string {
	return map[results.Rating]string{results.Unmet: "bad", results.TrainOnly: "warn", results.Good: "good"}[g]
}

// countedStatus returns the status of decisions that were counted on rows: the values of the
// outcome are those on the rows.
func countedStatus(o *results.Outcome) Status {
	s := Status{Kind: kindOf(o.Rating()), Text: "Counted decisions"}
	if len(o.Constraints) > 0 {
		s.Text = headline(o, "met on these rows")
	}
	return s
}

// headline says how the bounds stand. met says on which decisions they are met.
func headline(o *results.Outcome, met string) string {
	n, unmet := len(o.Constraints), o.Unmet()
	judged := slices.ContainsFunc(unmet, func(c results.ConstraintOutcome) bool { return o.Standing(&c).State != constraints.NotJudged })
	promised := !slices.ContainsFunc(unmet, func(c results.ConstraintOutcome) bool { return !o.Standing(&c).State.Holds() })
	switch {
	case len(unmet) > 0 && promised && n == 1:
		return fmt.Sprintf("The bound is not promised for new rows with %g%% confidence, although the training decisions meet it", 100*o.Confidence)
	case len(unmet) > 0 && promised:
		return fmt.Sprintf("%d of %d bounds are not promised for new rows with %g%% confidence, although the training decisions meet all", len(unmet), n, 100*o.Confidence)
	case len(unmet) > 0 && !judged && n == 1:
		return "The bound cannot be judged"
	case len(unmet) > 0 && !judged:
		return fmt.Sprintf("%d of %d bounds cannot be judged", len(unmet), n)
	case len(unmet) > 0 && n == 1:
		return "The bound is not met"
	case len(unmet) == 2 && n == 2:
		return "Neither bound is met"
	case len(unmet) == n:
		return fmt.Sprintf("None of the %d bounds is met", n)
	case len(unmet) == 1:
		return fmt.Sprintf("1 of %d bounds is not met", n)
	case len(unmet) > 0:
		return fmt.Sprintf("%d of %d bounds are not met", len(unmet), n)
	}
	text := fmt.Sprintf("All %d bounds are %s", n, met)
	switch n {
	case 1:
		text = "The bound is " + met
	case 2:
		text = "Both bounds are " + met
	}
	if useless := o.GivenUp(); useless != "" {
		text += ", although " + useless
	}
	return text + beyond(o)
}

// beyond returns the part of the headline about splits that are beyond a bound, with the number: of
// the test rows if they are, else of the validation rows.
func beyond(o *results.Outcome) string {
	var worst *results.ConstraintOutcome
	var split results.Split
	missed := 0
	for j := range o.Constraints {
		c := &o.Constraints[j]
		list := o.Standing(c).Beyond
		if list == nil {
			continue
		}
		missed++
		if last := list[len(list)-1]; worst == nil || split != results.Test && last == results.Test {
			worst, split = c, last
		}
	}
	if worst == nil {
		return ""
	}
	text := fmt.Sprintf(", but missed on the %s rows: %s", split.Word(), worst.Number(worst.Of(split)))
	if len(o.Constraints) == 1 {
		return text
	}
	text = fmt.Sprintf(", but %d of them are missed on held-out rows: %s is %s on the %s rows", missed, worst.Measure(), worst.Number(worst.Of(split)), split.Word())
	if missed == 1 {
		text = fmt.Sprintf(", but %s is beyond its bound on the %s rows: %s", worst.Measure(), split.Word(), worst.Number(worst.Of(split)))
	}
	return text
}
