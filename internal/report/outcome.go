package report

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"ppal/constraints"
	"ppal/internal/chart"
	"ppal/trainer/session/results"
)

// Cell is a value on a split.
type Cell struct {
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
	Cells  []Cell
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

// outcome adds the constraints and the objective to the view.
func (r *run) outcome(v *runView) {
	s, o := r.summary, r.summary.Outcome
	if o == nil {
		r.plainBounds(v)
		return
	}
	e := NewView(o, s.Rates)
	v.Constrained, v.OnSurrogates = len(o.Constraints) > 0, e.OnSurrogates
	for i := range e.Rows {
		v.Bounds = append(v.Bounds, newBound(&e.Rows[i]))
	}
	for i := range e.More {
		v.MoreBounds = append(v.MoreBounds, newBound(&e.More[i]))
	}
	held := slices.ContainsFunc(o.Constraints, func(c results.ConstraintOutcome) bool { return c.Interval != nil })
	v.BoundsNote = "All values are of counted decisions."
	if held {
		v.BoundsNote += " A range such as 0.02 to 0.08 is the 95% interval of the value on new rows, from held-out rows."
	}
	if v.OnSurrogates {
		v.BoundsNote += " The bounds are on surrogates: smooth functions of the scores of the training rows. Decisions may miss a bound that its surrogate meets."
	} else if v.Constrained {
		v.BoundsNote += " " + nearly(o)
	}
	v.ObjectiveOf, v.Objective, v.Accepted = e.Objective.Name, Cells(e.Objective.Values), Cells(e.Positive.Values)
	for _, name := range []string{"new rows", "threshold"} {
		if text := e.Text(name); text != "" {
			v.Sentences = append(v.Sentences, words(sentence(sentenceCase(name)+": "+text)))
		}
	}
}

// Cells returns the values for the page.
func Cells(values []Value) (list []Cell) {
	for _, v := range values {
		list = append(list, Cell{string(v.Split), v.Split.Word(), v.Text, Span(v.Interval)})
	}
	return list
}

// sentenceCase begins a text with a capital.
func sentenceCase(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// newBound describes one constraint.
func newBound(row *Row) boundView {
	b := boundView{Text: row.Constraint.Constraint, Colour: kindOf(row.Standing.Rating()), Met: sentenceCase(row.Standing.String()),
		Cells: Cells(row.Values), Gauge: newGauge(row)}
	for _, n := range row.Notes {
		b.Notes = append(b.Notes, words(n))
	}
	return b
}

// newGauge draws the values of a constraint; nil without values.
func newGauge(row *Row) *gauge {
	c := row.Constraint
	lo, hi := c.Bound, c.Bound
	for _, v := range row.Values {
		x := *c.Of(v.Split)
		lo, hi = min(lo, x), max(hi, x)
		if i := v.Interval; i != nil {
			lo, hi = min(lo, i[0]), max(hi, i[1])
		}
	}
	if row.Values == nil || math.IsNaN(lo) || math.IsInf(hi, 0) {
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
	for _, v := range row.Values {
		d := dot{Split: string(v.Split), At: at(*c.Of(v.Split)), Text: v.Split.Word() + " " + v.Text}
		if i := v.Interval; i != nil {
			d.Interval, d.From, d.Width = true, at(i[0]), math.Round(10*(at(i[1])-at(i[0])))/10
			d.Text += ", 95% interval " + Span(i)
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
	o := &results.Outcome{BoundsOn: constraints.OnDecisions}
	for j, g := range s.Constraints {
		bound := 0.0
		if j < len(s.Bounds) {
			bound = s.Bounds[j]
		}
		value := g + bound
		c := results.ConstraintOutcome{Constraint: r.boundedName(j), Bound: bound, SplitValues: results.SplitValues{Train: &value}, State: constraints.NotMet}
		if g <= r.tolerance() {
			c.State = constraints.Met
		}
		o.Constraints = append(o.Constraints, c)
	}
	e := NewView(o, nil)
	for i := range e.Rows {
		v.Bounds = append(v.Bounds, newBound(&e.Rows[i]))
	}
	for i := range e.More {
		v.MoreBounds = append(v.MoreBounds, newBound(&e.More[i]))
	}
	v.ObjectiveOf = cmp.Or(r.details.Objective, "objective")
	v.Objective = []Cell{{Split: "train", Word: "training", Value: chart.Number(s.Objective)}}
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
