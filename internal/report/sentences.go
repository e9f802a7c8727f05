package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ppal/constraints"
	"ppal/trainer/session/results"
)

// sentences explain the outcome in words. The constraints are those of the rows.
func (v *View) sentences(o *results.Outcome, rates rateTables) (list []Sentence) {
	add := func(name, format string, args ...any) {
		list = append(list, Sentence{name, fmt.Sprintf(format, args...)})
	}
	counted := "The values are of counted decisions."
	if slices.ContainsFunc(o.Constraints, func(c results.ConstraintOutcome) bool { return c.Interval != nil }) {
		counted = "The values are of counted decisions; the interval is of " + heldOut(o) + "."
	}
	switch {
	case len(o.Constraints) == 0:
		add("bounds", "none: the model is plain. To bound a rate of its decisions, add for example --subject-to '%s'; see docs/reference/language.md.",
			exampleBound(o, rates))
	case v.OnSurrogates:
		add("values", "%s", counted)
		add("surrogates", "The bounds are on surrogates, smooth functions of the scores. On the training rows: %s.", strings.Join(v.surrogates(), ", "))
	default:
		add("values", "%s Met: within the bound on the training rows. %s Training only: met on the training rows, missed on held-out rows.", counted, nearly(o))
	}
	list = append(list, v.explained(o)...)
	if text := promised(o); text != "" {
		add("new rows", "%s", text)
	}
	if text := thresholdStep(o); text != "" {
		add("threshold", "%s", text)
	}
	return list
}

// nearly says what the states mean in which constraints are nearly met.
func nearly(o *results.Outcome) string {
	text := "To one row: missed by at most one " + o.Counts() + " of the smaller group."
	if slices.ContainsFunc(o.Constraints, func(c results.ConstraintOutcome) bool { return c.State == constraints.MetToTolerance }) {
		text += " To 0.001: a loss exceeds its bound by at most 0.001, a norm its bound by at most a thousandth of it."
	}
	return text
}

// heldOut names the rows of the intervals.
func heldOut(o *results.Outcome) string {
	rows := "held-out rows"
	for _, c := range o.Constraints {
		if c.Test != nil {
			rows = "the test rows"
		} else if c.Validation != nil {
			rows = "the validation rows"
		}
	}
	return rows
}

// surrogates lists the values of the surrogates of the rows.
func (v *View) surrogates() (list []string) {
	for _, row := range v.Rows {
		if x := row.Constraint.Surrogate; x != nil {
			text := Number(x)
			if len(v.Rows) > 1 {
				text = row.Name + " " + text
			}
			list = append(list, text)
		}
	}
	return list
}

// exampleBound returns a bound that fits the outcome: its rates, classes and groups.
func exampleBound(o *results.Outcome, rates rateTables) string {
	if o.Counts() == "pair" {
		return constraints.Gap(constraints.CrossPairError, "COLUMN").AtMost(0.05).String()
	}
	if t := rates[results.Training]; t != nil {
		if len(t.Classes) > 2 {
			return constraints.Recall(t.Classes[0]).AtLeast(0.9).String()
		}
		if len(t.ByGroup) > 0 {
			group := t.ByGroup[0].Group
			name, _, _ := strings.Cut(group, "=")
			if strings.ContainsAny(name, "<>!") { // a condition, such as age>=40, is an attribute itself
				name = group
			}
			return constraints.Gap(constraints.PositiveRate, constraints.Attribute{Name: name}.Quoted()).AtMost(0.05).String()
		}
	}
	return constraints.FPR().AtMost(0.05).String()
}

// mostExplained is the largest number of constraints that the sentences explain.
const mostExplained = 4

// explained says what the cells cannot say: see Outcome.Explain.
func (v *View) explained(o *results.Outcome) (list []Sentence) {
	rest := 0
	for _, row := range v.Rows {
		text := o.Explain(row.Constraint)
		switch {
		case text == "":
		case len(list) == mostExplained:
			rest++
		default:
			list = append(list, Sentence{[]string{"bounds", ""}[min(1, len(list))], text})
		}
	}
	if rest > 0 {
		list = append(list, Sentence{"", fmt.Sprintf("The same holds for %d more: summary.json has their numbers.", rest)})
	}
	return list
}

// promised returns the sentences about the bounds that hold on new rows, or "" for a run without a
// confidence.
func promised(o *results.Outcome) string {
	if o.Confidence == 0 {
		return ""
	}
	var kept []string
	failed := false
	for _, c := range o.Constraints {
		switch p := c.Promise; {
		case p == nil || !p.Holds:
			failed = true
		case p.Rows > 0: // else a bound on the weights, which no rows can change
			kept = append(kept, c.Constraint)
		}
	}
	with := fmt.Sprintf("with %g%% confidence", 100*o.Confidence)
	switch {
	case len(kept) == 0 && failed:
		return "No bound is promised for new rows " + with + ": see the warnings."
	case len(kept) == 0:
		return "The bounds do not depend on rows."
	}
	chosen := "threshold"
	if o.Thresholds != nil && len(o.Thresholds.Groups) > 1 {
		chosen = "thresholds"
	}
	text := strings.Join(kept, " and ") + " on new rows from the same source, " + with + "; the validation rows chose the " + chosen + " for it"
	if failed {
		return text + ". The other bounds are not promised: see the warnings."
	}
	return text + "."
}

// thresholdStep describes the step of the threshold after training, or returns "".
func thresholdStep(o *results.Outcome) string {
	if o.Thresholds != nil {
		return givenThresholds(o)
	}
	if o.Threshold == 0 && o.Offsets == nil && o.WeightStep == nil {
		return ""
	}
	step := "moved by " + strconv.FormatFloat(o.Threshold, 'g', 4, 64)
	switch {
	case o.Offsets != nil:
		step = "moved for each class"
	case o.WeightStep != nil:
		step += ", and the weights changed,"
	}
	switch cost := o.ThresholdCost; {
	case cost > results.Rounding:
		return fmt.Sprintf("%s after training, to meet the bounds: this cost %s of %s on the training rows", step, Number(&cost), o.Objective.Name)
	case cost < -results.Rounding:
		gain := -cost
		return fmt.Sprintf("%s after training: this gained %s of %s on the training rows", step, Number(&gain), o.Objective.Name)
	}
	return fmt.Sprintf("%s after training, without a change of %s on the training rows", step, o.Objective.Name)
}

// mostThresholds is the largest number of groups whose thresholds a sentence lists.
const mostThresholds = 8

// givenThresholds describes the thresholds on given scores.
func givenThresholds(o *results.Outcome) string {
	t := o.Thresholds
	var list []string
	for _, g := range t.Groups {
		var own []string
		for _, v := range g.Thresholds {
			own = append(own, strconv.FormatFloat(v, 'g', 6, 64))
		}
		if text := strings.Join(own, "/"); g.Group == "" {
			list = append(list, text)
		} else {
			list = append(list, fmt.Sprintf("%s for %s=%s", text, t.Column, g.Group))
		}
	}
	if n := len(list) - mostThresholds; n > 0 {
		list = append(list[:mostThresholds], fmt.Sprintf("%d more in summary.json", n))
	}
	text := "a positive decision has a score above " + strings.Join(list, ", ")
	if len(t.Groups[0].Thresholds) > 1 {
		text = "the decision is the class with the largest score minus its threshold: " + strings.Join(list, ", ")
	}
	if t.Column != "" {
		text += fmt.Sprintf(". A new row needs its %s", t.Column)
	}
	switch {
	case t.All:
		text += ". No other thresholds are better on the training rows: all were compared"
	case t.Least != nil:
		text += fmt.Sprintf(". No thresholds that meet the bounds on the training rows have %s below %s there", o.Objective.Name, Number(t.Least))
	}
	return text + "."
}

// Note adds a note to the sentences, unless it is empty.
func (v *View) Note(text string) {
	if text != "" {
		v.Sentences = append(v.Sentences, Sentence{"note", text})
	}
}

// Text returns the text of the first sentence with a name; "" if there is none.
func (v *View) Text(name string) string {
	for _, s := range v.Sentences {
		if s.Name == name {
			return s.Text
		}
	}
	return ""
}

// NeverDecided returns a sentence if the model decides no training row as one of several classes.
// Otherwise it returns "".
func NeverDecided(t *results.RateTable) string {
	if t == nil || len(t.Classes) == 2 {
		return ""
	}
	var never []string
	for k, class := range t.Classes {
		rows := 0.0
		for _, row := range t.Confusion {
			rows += row[k]
		}
		if rows == 0 {
			never = append(never, class)
		}
	}
	if never == nil {
		return ""
	}
	return "The model decides no training row as " + strings.Join(never, ", ") + "."
}
