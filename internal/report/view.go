package report

import (
	"fmt"
	"math"
	"strconv"

	"ppal/constraints"
	"ppal/internal/option"
	"ppal/trainer/session/results"
)

// View is the outcome of a run for a renderer.
type View struct {
	// Rows are the constraints closest to their bounds, and More the others.
	Rows, More []Row
	// Objective is the minimised rate, and Positive the share of positive decisions; its values are
	// nil without two classes.
	Objective, Positive Row
	// OnSurrogates says that the bounds are on smooth functions of the scores.
	OnSurrogates bool
	// Sentences explain the outcome, in order.
	Sentences []Sentence
}

// Sentence is a text with the name of its subject; "" continues the subject before.
type Sentence struct{ Name, Text string }

// Row is a constraint, or a rate without a bound, with its values.
type Row struct {
	Name     string
	Bound    string // with its direction; "" without a bound
	Values   []Value
	Interval *[2]float64 // of the last held-out rows; nil: none
	Standing results.Standing
	// Constraint is nil without a bound.
	Constraint *results.ConstraintOutcome
	// Cell says in a word or two how the constraint stands.
	Cell string
	// Notes are sentences about the constraint.
	Notes []string
}

// Value is the value on a split.
type Value struct {
	Split    results.Split
	Text     string
	Interval *[2]float64 // on held-out rows; nil: none
}

// Of returns the text of the value on a split; "" if there is none.
func (r *Row) Of(split results.Split) string {
	for _, v := range r.Values {
		if v.Split == split {
			return v.Text
		}
	}
	return ""
}

// rateTables are the rates of decisions on the splits; nil: none.
type rateTables = map[results.Split]*results.RateTable

// IntervalOf returns the interval of the value on a split; nil if there is none.
func (r *Row) IntervalOf(split results.Split) *[2]float64 {
	for _, v := range r.Values {
		if v.Split == split {
			return v.Interval
		}
	}
	return nil
}

// NewView returns the view of an outcome.
func NewView(o *results.Outcome, counted rateTables) *View {
	v := &View{OnSurrogates: o.BoundsOn == constraints.OnSurrogate}
	shown := map[int]bool{}
	for _, j := range closest(o) {
		shown[j] = true
	}
	for j := range o.Constraints {
		if row := NewRow(o, &o.Constraints[j]); shown[j] {
			v.Rows = append(v.Rows, row)
		} else {
			v.More = append(v.More, row)
		}
	}
	v.Objective = ObjectiveRow(o)
	v.Positive = Row{Name: "positive decisions", Values: values(o.AcceptanceRate, Number, nil, nil)}
	v.Sentences = v.sentences(o, counted)
	return v
}

// NewRow returns the row of a constraint.
func NewRow(o *results.Outcome, c *results.ConstraintOutcome) Row {
	bound := strconv.FormatFloat(c.Bound, 'g', -1, 64)
	if o.BoundsOn != constraints.OnSurrogate { // on surrogates all bounds are upper bounds
		bound = c.Relation() + " " + bound
	}
	return Row{Name: c.Measure(), Bound: bound, Values: values(&c.SplitValues, c.Number, c.ValidationInterval, c.Interval), Interval: c.Interval,
		Standing: o.Standing(c), Constraint: c, Cell: CellText(o, c), Notes: notes(o, c)}
}

// ObjectiveRow returns the row of the minimised rate. The row has no interval of its own: see its
// values.
func ObjectiveRow(o *results.Outcome) Row {
	return Row{Name: o.Objective.Name, Values: values(&o.Objective.SplitValues, Number, o.Objective.ValidationInterval, o.Objective.Interval)}
}

// values returns the values of all splits that have one. last is the interval of the test rows, or
// of the validation rows without test rows.
func values(v *results.SplitValues, text func(*float64) string, validation, last *[2]float64) (list []Value) {
	for _, split := range results.Splits() {
		x := v.Of(split)
		if x == nil {
			continue
		}
		own := Value{Split: split, Text: text(x)}
		switch {
		case split == results.Test:
			own.Interval = last
		case split == results.Validation && (validation != nil || v.Test != nil):
			own.Interval = validation
		case split == results.Validation:
			own.Interval = last
		}
		list = append(list, own)
	}
	return list
}

// CellText says in a word or two how a constraint stands.
func CellText(o *results.Outcome, c *results.ConstraintOutcome) string {
	s := o.Standing(c)
	switch {
	case o.BoundsOn == constraints.OnSurrogate && c.SurrogateMet != nil:
		return s.String()
	case s.State == constraints.NotMet:
		return "no"
	case s.State == constraints.Met && s.Beyond != nil:
		return "training only"
	case s.State == constraints.Met:
		return "yes"
	}
	return string(s.State)
}

// negligible is the largest multiplier without a note.
const negligible = 1e-4

// notes returns sentences about a constraint: what its cell cannot say, its surrogate, its promise
// for new rows, and the price of the bound.
func notes(o *results.Outcome, c *results.ConstraintOutcome) (list []string) {
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if text := o.Explain(c); text != "" {
		add("%s", text)
	}
	if c.Surrogate != nil {
		add("The surrogate on the training rows is %s.", Number(c.Surrogate))
	}
	if p := c.Promise; p != nil {
		switch supported := Number(&p.Supported); {
		case p.Holds:
			add("New rows: the bound is promised with %g%% confidence. The validation rows support %s.", 100*o.Confidence, supported)
		case p.Needed > 0:
			add("New rows: the bound is not promised. The validation rows support %s with %g%% confidence. The smallest set has %s; the bound needs %s.",
				supported, 100*o.Confidence, option.Counted(p.Rows, "validation row"), rowCount(p.Needed))
		default:
			add("New rows: the bound is not promised. The validation rows support %s with %g%% confidence.", supported, 100*o.Confidence)
		}
	}
	if c.Multiplier > negligible && !c.IsRatio() { // a ratio's bound multiplies a rate
		add("Trade-off: relaxing the bound by 0.01 lowers the smooth objective by about %s.", strconv.FormatFloat(0.01*c.Multiplier, 'g', 4, 64))
	}
	return list
}

// Number formats a rate, a gap or a loss with four decimals; "" for nil.
func Number(x *float64) string {
	if x == nil {
		return ""
	}
	return results.Number(*x, 4)
}

// Span formats an interval with three decimals, and small numbers with more; "" for nil.
func Span(i *[2]float64) string {
	if i == nil {
		return ""
	}
	digits := intervalDecimals(*i)
	return fmt.Sprintf("%.*f to %.*f", digits, i[0], digits, i[1])
}

// rowCount formats a number of rows with separators of thousands.
func rowCount(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// weightText formats a weight of rows: a whole number as rowCount does, else three digits or a
// decimal.
func weightText(v float64) string {
	switch whole, part := math.Modf(v); {
	case part == 0:
		return rowCount(int(whole))
	case v < 100:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	text := strconv.FormatFloat(v, 'f', 1, 64)
	whole, _ := strconv.Atoi(text[:len(text)-2])
	return rowCount(whole) + text[len(text)-2:]
}

// intervalDecimals returns the number of decimals with which to show an interval: three, and more
// for small numbers.
func intervalDecimals(i [2]float64) int {
	digits := 3
	for width := i[1] - i[0]; width > 0 && width < 0.01 && digits < 6; width *= 10 {
		digits++
	}
	return digits
}
