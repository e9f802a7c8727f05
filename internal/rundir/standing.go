package rundir

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ppal/constraints"
	"ppal/internal/option"
)

// Rating is the worth of a result in three steps, which tables, pages and sweeps share.
type Rating int

// The ratings, from the worst to the best.
const (
	Unmet     Rating = iota // a constraint is not met, not promised, or cannot be judged
	TrainOnly               // met on the training rows, and exceeded on held-out rows
	Good                    // met, and not contradicted by the held-out rows
)

// Standing says how a constraint stands after a run.
type Standing struct {
	// State is the judgement on the training decisions, or on the surrogate if the bounds are on
	// surrogates.
	State constraints.State
	// Beyond lists the splits whose decisions are beyond the bound: held-out rows, and with bounds on
	// surrogates also the training rows.
	Beyond []Split
	// Unpromised says that the run has a confidence and does not promise the bound.
	Unpromised bool

	surrogate bool
}

// Holds reports whether the constraint counts as met, and is promised if the run has a confidence.
func (s Standing) Holds() bool { return s.State.Holds() && !s.Unpromised }

// Rating returns the rating of the constraint.
func (s Standing) Rating() Rating {
	switch {
	case !s.Holds():
		return Unmet
	case s.Beyond != nil:
		return TrainOnly
	}
	return Good
}

// String describes the standing in a few words.
func (s Standing) String() string {
	text := string(s.State)
	switch {
	case s.Unpromised && s.State.Holds():
		return "not promised for new rows"
	case s.surrogate:
		text = "surrogate " + text
	case s.State == constraints.MetToOneRow:
		text = "met " + text
	}
	if s.Rating() == TrainOnly && !s.surrogate {
		text = strings.Replace(text+" on the training rows only", "row on", "row, on", 1)
	}
	return text
}

// Standing returns the standing of a constraint of the outcome.
func (o *Outcome) Standing(c *ConstraintOutcome) Standing {
	s := Standing{State: c.state(), Unpromised: c.Promise != nil && !c.Promise.Holds}
	splits := []Split{Validation, Test}
	if o.BoundsOn == OnSurrogate && c.SurrogateMet != nil {
		s.surrogate, s.State = true, constraints.NotMet
		if splits = Splits(); *c.SurrogateMet {
			s.State = constraints.Met
		}
	}
	if c.measured().IsL1() { // the norm does not depend on rows
		return s
	}
	for _, split := range splits {
		if v := c.Of(split); v != nil && c.Over(*v) > Rounding {
			s.Beyond = append(s.Beyond, split)
		}
	}
	return s
}

// state returns the judgement on the training decisions. Summaries of earlier versions have only
// Met.
func (c *ConstraintOutcome) state() constraints.State {
	switch {
	case c.State != "":
		return c.State
	case !c.Met:
		return constraints.NotMet
	case c.Train != nil && c.Over(*c.Train) > Rounding:
		return constraints.MetToOneRow
	}
	return constraints.Met
}

// Rounding bounds the rounding errors of a difference of rates; one row of 100 million weighs more.
const Rounding = 1e-9

// Over returns the amount by which a value is beyond the bound.
func (c *ConstraintOutcome) Over(v float64) float64 {
	if c.AtLeast {
		return c.Bound - v
	}
	return v - c.Bound
}

// MostShown is the largest number of constraints that tables, pages and pictures show.
const MostShown = 12

// Closest returns the indices of the constraints to show, in order: all, or the MostShown closest
// to their bounds.
func (o *Outcome) Closest() []int {
	return Largest(len(o.Constraints), func(j int) float64 {
		c := &o.Constraints[j]
		if v := cmp.Or(c.Surrogate, c.Train); v != nil {
			return c.Over(*v)
		}
		return math.Inf(-1)
	})
}

// Largest returns the indices of n values, in order: all, or the MostShown of the largest values.
func Largest(n int, value func(j int) float64) []int {
	all := make([]int, n)
	for j := range all {
		all[j] = j
	}
	if n <= MostShown {
		return all
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(value(b), value(a)) })
	all = all[:MostShown]
	slices.Sort(all)
	return all
}

// Rating returns the rating of the outcome: the worst of its constraints.
func (o *Outcome) Rating() Rating {
	worst := Good
	for j := range o.Constraints {
		worst = min(worst, o.Standing(&o.Constraints[j]).Rating())
	}
	return worst
}

// Explain says in a sentence what the table cannot say in a word: why a constraint cannot be judged
// and what to do, which groups exceed the bound, or on which held-out rows the decisions are beyond
// the bound. Otherwise it returns "".
func (o *Outcome) Explain(c *ConstraintOutcome) string {
	s := o.Standing(c)
	switch {
	case s.State == constraints.NotJudged && c.Exceeded == nil:
		return c.Constraint + " cannot be judged: there are no rows to count."
	case s.State == constraints.NotJudged:
		return c.Constraint + " " + c.Exceeded.Unjudged() + "."
	case s.surrogate:
		return ""
	case s.State == constraints.NotMet && c.Exceeded != nil && len(c.Exceeded.Groups) > 0 && c.Exceeded.Groups[0] != constraints.AllRows:
		var list []string
		for k, g := range c.Exceeded.Groups {
			list = append(list, fmt.Sprintf("%s (%s of %s)", g, Number(c.Exceeded.Values[k], 4), option.Counted(c.Exceeded.Rows[k], "row")))
		}
		return c.Constraint + " is exceeded by " + strings.Join(list, " and ") + "."
	case s.Rating() == TrainOnly:
		met, list := string(s.State), []string(nil)
		if s.State == constraints.MetToOneRow {
			met = "met " + met
		}
		for _, split := range s.Beyond {
			list = append(list, fmt.Sprintf("%s rows (%s)", split.Word(), c.Number(c.Of(split))))
		}
		return c.Constraint + " is " + met + " on the training rows, and exceeded on the " + strings.Join(list, " and the ") + "."
	}
	return ""
}

// Number formats a value of the constraint with four decimals, and with more where fewer would put
// the value on the other side of the bound; "" for nil.
func (c *ConstraintOutcome) Number(v *float64) string {
	if v == nil {
		return ""
	}
	beyond := c.Over(*v) > Rounding
	for digits := 4; ; digits++ {
		text := Number(*v, digits)
		if shown, err := strconv.ParseFloat(text, 64); err != nil || digits > 12 || beyond == (c.Over(shown) > Rounding) {
			return text
		}
	}
}

// Number formats a rate, a gap or a loss with the given number of decimals. A value outside -10..10
// has as many digits instead, and a value that would be shown as 0 has two digits.
func Number(v float64, decimals int) string {
	if math.Abs(v) >= 10 {
		return strconv.FormatFloat(v, 'g', decimals, 64)
	}
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if shown, err := strconv.ParseFloat(text, 64); err == nil && shown == 0 && v != 0 {
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	return text
}

// IntervalDecimals returns the number of decimals with which to show an interval: three, and more
// for small numbers.
func IntervalDecimals(i [2]float64) int {
	digits := 3
	for width := i[1] - i[0]; width > 0 && width < 0.01 && digits < 6; width *= 10 {
		digits++
	}
	return digits
}
