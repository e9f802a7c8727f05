package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ppal/constraints"
	"ppal/internal/chart"
	"ppal/internal/rundir"
)

// cell is a value on a split.
type cell struct {
	Split    string // train, validation or test: the class of the style
	Word     string
	Value    string
	Interval string
}

// boundView is a constraint with its values.
type boundView struct {
	Text   string // in the user's words
	Colour string // good, warn or bad
	Met    string
	Cells  []cell
	Notes  [][]word
	Gauge  *gauge // nil: no value
}

// gauge is the picture of a constraint: a scale with the bound and the values, in percent from the
// left.
type gauge struct {
	Bound     float64
	BoundText string
	From, To  float64      // the forbidden part
	Ticks     []chart.Tick // At in percent
	Dots      []dot
}

// dot is a value on a gauge, with an interval on held-out rows.
type dot struct {
	Split, Text string
	At          float64
	Interval    bool
	From, Width float64
}

// mostGauges is the largest number of constraints with a picture: those closest to their bounds.
const mostGauges = 12

// outcome adds the constraints and the objective to the view.
func (r *run) outcome(v *runView) {
	s, o := r.summary, r.summary.Outcome
	if o == nil {
		r.plainBounds(v)
		return
	}
	v.Constrained, v.OnSurrogates = len(o.Constraints) > 0, o.BoundsOn == rundir.OnSurrogate
	shown := o.Closest(mostGauges)
	for j := range o.Constraints {
		b := newBound(o, &o.Constraints[j])
		if slices.Contains(shown, j) {
			v.Bounds = append(v.Bounds, b)
		} else {
			v.MoreBounds = append(v.MoreBounds, b)
		}
	}
	held := slices.ContainsFunc(o.Constraints, func(c rundir.ConstraintOutcome) bool { return c.Interval != nil })
	v.BoundsNote = "All values are of counted decisions."
	if held {
		v.BoundsNote += " A range such as 0.02–0.08 is the 95% interval of the value on new rows, from held-out rows."
	}
	if v.OnSurrogates {
		v.BoundsNote += " The bounds are on surrogates: smooth functions of the scores of the training rows. Decisions may exceed a bound that its surrogate meets."
	} else if v.Constrained {
		v.BoundsNote += " A bound is met to one row if the training decisions exceed it by at most one row of the smaller group."
	}
	v.ObjectiveOf = o.Objective.Name
	v.Objective = cells(&o.Objective.SplitValues, rate, func(split rundir.Split) *[2]float64 {
		return heldOut(split, o.Objective.ValidationInterval, o.Objective.Interval, o.Objective.Test != nil)
	})
	if o.AcceptanceRate != nil {
		v.Accepted = cells(o.AcceptanceRate, rate, func(rundir.Split) *[2]float64 { return nil })
	}
	if o.Confidence > 0 {
		v.NewRows = words(promised(o))
	}
	if text := thresholdStep(o); text != "" && s.Status != "" {
		v.Threshold = words(text)
	}
}

// heldOut returns the interval of a split. last is the interval of the test rows, or of the
// validation rows without test rows.
func heldOut(split rundir.Split, validation, last *[2]float64, tested bool) *[2]float64 {
	switch {
	case split == rundir.Test && tested:
		return last
	case split == rundir.Validation && validation != nil:
		return validation
	case split == rundir.Validation && !tested:
		return last
	}
	return nil
}

// cells returns the values of all splits that have one. text formats a value.
func cells(v *rundir.SplitValues, text func(*float64) string, of func(rundir.Split) *[2]float64) (list []cell) {
	for _, split := range rundir.Splits() {
		if x := v.Of(split); x != nil {
			list = append(list, cell{string(split), split.Word(), text(x), interval(of(split))})
		}
	}
	return list
}

// colourOf returns the colour of a rating.
func colourOf(g rundir.Rating) string {
	return map[rundir.Rating]string{rundir.Unmet: "bad", rundir.TrainOnly: "warn", rundir.Good: "good"}[g]
}

// sentenceCase begins a text with a capital.
func sentenceCase(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// newBound describes one constraint.
func newBound(o *rundir.Outcome, c *rundir.ConstraintOutcome) boundView {
	s := o.Standing(c)
	b := boundView{Text: c.Constraint, Colour: colourOf(s.Rating()), Met: sentenceCase(s.String())}
	intervals := func(split rundir.Split) *[2]float64 {
		return heldOut(split, c.ValidationInterval, c.Interval, c.Test != nil)
	}
	b.Cells = cells(&c.SplitValues, c.Number, intervals)
	if text := o.Explain(c); text != "" {
		b.Notes = append(b.Notes, words(text))
	}
	if c.Surrogate != nil {
		b.Notes = append(b.Notes, words("The surrogate on the training rows is "+rate(c.Surrogate)+"."))
	}
	if p := c.Promise; p != nil {
		text := fmt.Sprintf("New rows: the bound is promised with %g%% confidence. The validation rows support %s.", 100*o.Confidence, rate(&p.Supported))
		if !p.Holds {
			text = fmt.Sprintf("New rows: the bound is not promised. The validation rows support %s with %g%% confidence.",
				rate(&p.Supported), 100*o.Confidence)
			if p.Needed > 0 {
				text += fmt.Sprintf(" The smallest set has %s; the bound needs %s.", plural(p.Rows, "validation row"), count(p.Needed))
			}
		}
		b.Notes = append(b.Notes, words(text))
	}
	const negligible = 1e-4
	if c.Multiplier > negligible && !strings.HasPrefix(c.Constraint, "ratio(") { // a ratio's bound multiplies a rate
		b.Notes = append(b.Notes, words(fmt.Sprintf("Relaxing the bound by 0.01 lowers the smooth objective by about %s.", chart.Number(0.01*c.Multiplier))))
	}
	b.Gauge = newGauge(c, intervals)
	return b
}

// newGauge draws the values of a constraint; nil without values.
func newGauge(c *rundir.ConstraintOutcome, intervals func(rundir.Split) *[2]float64) *gauge {
	lo, hi := c.Bound, c.Bound
	any := false
	for _, split := range rundir.Splits() {
		if v := c.Of(split); v != nil {
			any = true
			lo, hi = min(lo, *v), max(hi, *v)
			if i := intervals(split); i != nil {
				lo, hi = min(lo, i[0]), max(hi, i[1])
			}
		}
	}
	if !any || math.IsNaN(lo) || math.IsInf(hi, 0) {
		return nil
	}
	if lo >= 0 && lo < 0.5*hi {
		lo = 0
	}
	pad := 0.08 * max(hi-lo, 1e-6)
	if lo != 0 {
		lo -= pad
	}
	s := chart.Linear(lo, hi+pad, false)
	at := func(v float64) float64 { return math.Round(1000*s.Of(v)) / 10 }
	g := &gauge{Bound: at(c.Bound), BoundText: c.Relation() + " " + strconv.FormatFloat(c.Bound, 'g', -1, 64), From: at(c.Bound), To: 100}
	if c.AtLeast {
		g.From, g.To = 0, at(c.Bound)
	}
	for _, t := range s.Ticks {
		g.Ticks = append(g.Ticks, chart.Tick{At: math.Round(1000*t.At) / 10, Label: t.Label})
	}
	for _, split := range rundir.Splits() {
		v := c.Of(split)
		if v == nil {
			continue
		}
		d := dot{Split: string(split), At: at(*v), Text: split.Word() + " " + c.Number(v)}
		if i := intervals(split); i != nil {
			d.Interval, d.From, d.Width = true, at(i[0]), math.Round(10*(at(i[1])-at(i[0])))/10
			d.Text += ", 95% interval " + interval(i)
		}
		g.Dots = append(g.Dots, d)
	}
	return g
}

// plainBounds lists the smooth constraints of a run without counted decisions.
func (r *run) plainBounds(v *runView) {
	s := r.summary
	v.Constrained = len(s.Constraints) > 0
	v.BoundsNote = "The values are of the smooth constraints on the training rows."
	most := tolerance(r.setting("feasibility-tolerance"))
	for j, g := range s.Constraints {
		bound := 0.0
		if j < len(s.Bounds) {
			bound = s.Bounds[j]
		}
		value := g + bound
		c := &rundir.ConstraintOutcome{Constraint: r.boundedName(j), Bound: bound, SplitValues: rundir.SplitValues{Train: &value}, State: constraints.NotMet}
		if g <= most {
			c.State = constraints.Met
		}
		b := newBound(&rundir.Outcome{BoundsOn: rundir.OnDecisions}, c)
		if len(v.Bounds) < mostGauges {
			v.Bounds = append(v.Bounds, b)
		} else {
			v.MoreBounds = append(v.MoreBounds, b)
		}
	}
	v.ObjectiveOf = cmp.Or(r.details.Objective, "objective")
	v.Objective = []cell{{Split: "train", Word: "training", Value: chart.Number(s.Objective)}}
}

// constraintName returns the name of g_j.
func (r *run) constraintName(j int) string {
	switch {
	case j < len(r.details.Constraints):
		return r.details.Constraints[j]
	case r.model != nil && r.summary != nil && len(r.model.Constraints) == len(r.summary.Constraints):
		return r.model.Constraints[j]
	}
	return "constraint " + strconv.Itoa(j+1)
}

// promised returns the sentences about the bounds that hold on new rows.
func promised(o *rundir.Outcome) string {
	var kept []string
	for _, c := range o.Constraints {
		if c.Promise != nil && c.Promise.Holds {
			kept = append(kept, c.Constraint)
		}
	}
	with := fmt.Sprintf("with %g%% confidence", 100*o.Confidence)
	if len(kept) == 0 {
		return "No bound is promised for new rows " + with + ": see the warnings."
	}
	text := "On new rows from the same source, " + strings.Join(kept, " and ") + " holds " + with + "."
	if len(kept) < len(o.Constraints) {
		text += " The other bounds are not promised: see the warnings."
	}
	return text
}

// thresholdStep describes the step of the threshold after training, or returns "".
func thresholdStep(o *rundir.Outcome) string {
	if o.Threshold == 0 && o.Offsets == nil {
		return ""
	}
	text := "After training, the threshold moved by " + chart.Number(o.Threshold)
	if o.Offsets != nil {
		text = "After training, the threshold of each class moved"
	}
	change := math.Abs(o.ThresholdCost)
	switch cost := o.ThresholdCost; {
	case cost > 0:
		text += fmt.Sprintf(", so that the decisions meet the bounds. The step cost %s of %s on the training rows.", rate(&change), o.Objective.Name)
	case cost < 0:
		text += fmt.Sprintf(". The step gained %s of %s on the training rows.", rate(&change), o.Objective.Name)
	default:
		text += fmt.Sprintf(", without a change of %s on the training rows.", o.Objective.Name)
	}
	return text
}
