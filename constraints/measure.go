package constraints

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Measure is a number that a constraint bounds: a rate, the gap or the ratio of a rate between
// groups, the excess or the distance of the groups' rates from the rate of all rows, the l1 norm of
// the weights, or the churn. Measures are comparable.
type Measure struct {
	form       form
	rate       Rate
	attributes string // attributes whose groups are compared, in canonical text: sex*race
	minimum    int    // the smallest number of rows of a group; 0 means 1
	file       string // file of earlier decisions, for churn
	only       string // the only value of the attribute that an excess is about; "": all values
}

// form is the kind of a measure.
type form uint8

const (
	formNone form = iota
	formRate
	formGap
	formRatio
	formExcess
	formDistance
	formL1
	formChurn
	formMeanExcess // no word of the language
)

// The names of the measures that are not rates.
const (
	wordGap      = "gap"
	wordRatio    = "ratio"
	wordExcess   = "excess"
	wordDistance = "distance"
	wordL1       = "l1"
	wordChurn    = "churn"
	wordMin      = "min"
	wordWeights  = "weights"
)

// Gap returns the largest minus the smallest rate over the values of an attribute. Several
// attributes give their intersections. The rate may have selectors of its own:
//
//	Gap(TPR, "sex")
//	Gap(TPR, "sex", "race").MinRows(100)
//	Gap(func(...string) Rate { return TPR("shirt") }, "sex")
func Gap(rate func(selectors ...string) Rate, attributes ...string) Measure {
	return Measure{form: formGap, rate: rate(), attributes: formatAttributes(attributes)}
}

// Ratio returns the smallest over the largest rate over the values of an attribute. Several
// attributes give their intersections.
func Ratio(rate func(selectors ...string) Rate, attributes ...string) Measure {
	return Measure{form: formRatio, rate: rate(), attributes: formatAttributes(attributes)}
}

// Excess returns the largest rate over the values of an attribute minus the rate of all rows. The
// groups of the values may overlap: see Population.Groups. The rows of the rate's own selectors
// are all rows of Excess(func(...string) Rate { return FNR("sex=Female") }, "race").
//
// With the error as the rate, the bound is intersectional fairness (Moon et al., "Intersectional
// Group Fairness on Neural Networks").
func Excess(rate func(selectors ...string) Rate, attributes ...string) Measure {
	return Measure{form: formExcess, rate: rate(), attributes: formatAttributes(attributes)}
}

// ExcessOf returns the rate of one value of an attribute minus the rate of all rows. The language
// has no text for this measure.
func ExcessOf(rate func(selectors ...string) Rate, attribute, value string) Measure {
	m := Excess(rate, attribute)
	m.only = value
	return m
}

// MeanExcess returns the mean of a rate over the values of an attribute, each with the same share,
// minus the rate of all rows. Differences of opposite sign cancel. The language has no text for
// this measure.
func MeanExcess(rate func(selectors ...string) Rate, attributes ...string) Measure {
	return Measure{form: formMeanExcess, rate: rate(), attributes: formatAttributes(attributes)}
}

// Distance returns the largest absolute difference between a rate over the values of an attribute
// and the rate of all rows. The moments of fairlearn bound this measure (Agarwal et al., "A
// Reductions Approach to Fair Classification", 2018, examples 1 and 2).
func Distance(rate func(selectors ...string) Rate, attributes ...string) Measure {
	return Measure{form: formDistance, rate: rate(), attributes: formatAttributes(attributes)}
}

// L1 returns the sum of the absolute values of the model's weights, without the biases. The weights
// multiply prepared features.
func L1() Measure { return Measure{form: formL1} }

// Churn returns the share of the rows whose decision differs from the earlier decision in the file.
// Rows without an earlier decision do not count.
func Churn(file string) Measure { return Measure{form: formChurn, file: file} }

// MinRows leaves out the groups in which the rate counts fewer than n training rows. The default
// is 1.
func (m Measure) MinRows(n int) Measure {
	m.minimum = max(0, n)
	if m.minimum == 1 {
		m.minimum = 0
	}
	return m
}

// AtMost returns the constraint measure <= b.
func (m Measure) AtMost(b float64) Constraint { return Constraint{measure: m, bound: b} }

// AtLeast returns the constraint measure >= b.
func (m Measure) AtLeast(b float64) Constraint {
	return Constraint{measure: m, atLeast: true, bound: b}
}

// OfPairs reports whether the measure is about a rate of pairs of documents.
func (m Measure) OfPairs() bool { return m.rate.OfPairs() }

// Unit returns what the measure counts: "pair" for pairs of documents, else "row".
func (m Measure) Unit() string {
	if m.OfPairs() {
		return "pair"
	}
	return "row"
}

// IsGap reports whether the measure is a gap.
func (m Measure) IsGap() bool { return m.form == formGap }

// IsDistance reports whether the measure is a distance.
func (m Measure) IsDistance() bool { return m.form == formDistance }

// IsMean reports whether the measure is the mean of the groups' excesses.
func (m Measure) IsMean() bool { return m.form == formMeanExcess }

// IsRatio reports whether the measure is a ratio.
func (m Measure) IsRatio() bool { return m.form == formRatio }

// IsL1 reports whether the measure is the l1 norm of the weights.
func (m Measure) IsL1() bool { return m.form == formL1 }

// IsChurn reports whether the measure is a churn.
func (m Measure) IsChurn() bool { return m.form == formChurn }

// LargerIsBetter reports whether the measure is usually bounded from below: a ratio, a true rate, a
// precision or an accuracy.
func (m Measure) LargerIsBetter() bool {
	return m.IsRatio() || m.form == formRate && m.rate.definition().larger
}

// Compares reports whether the measure compares a rate of groups: a gap, a ratio, an excess or a
// distance.
func (m Measure) Compares() bool { return m.IsGap() || m.IsRatio() || m.WithAll() }

// WithAll reports whether the measure compares groups with all rows: an excess, a mean of excesses
// or a distance.
func (m Measure) WithAll() bool { return m.form == formExcess || m.IsMean() || m.IsDistance() }

// String returns the measure in the language: gap(tpr, sex*race, min 100).
func (m Measure) String() string {
	switch m.form {
	case formRate:
		if m.minimum == 0 {
			return m.rate.String()
		}
		return fmt.Sprintf("%s[%s, %s %d]", m.rate.kind, m.rate.selected, wordMin, m.minimum)
	case formGap, formRatio, formExcess, formDistance, formMeanExcess:
		parts := []string{m.rate.String(), m.attributes}
		if m.only != "" {
			parts[1] += "=" + quoted(m.only)
		}
		if m.minimum > 0 {
			parts = append(parts, wordMin+" "+strconv.Itoa(m.minimum))
		}
		return m.form.word() + "(" + strings.Join(parts, ", ") + ")"
	case formL1:
		return wordL1 + "(" + wordWeights + ")"
	case formChurn:
		return wordChurn + "(" + quoted(m.file) + ")"
	}
	return ""
}

// word returns the name of a measure that is not a rate.
func (f form) word() string {
	if f == formMeanExcess {
		return "mean_" + wordExcess
	}
	return otherMeasures()[f-formGap]
}

// Attributes returns the attributes whose groups the measure compares.
func (m Measure) Attributes() []string {
	p := between(m.attributes)
	list, _ := p.attributes() // canonical text parses; without attributes there is no list
	return list
}

// ParseAttributes reads attributes as comparisons name them: sex*race. The error is a *SyntaxError.
func ParseAttributes(text string) ([]string, error) {
	p := between(text)
	list, err := p.attributes()
	if err == nil {
		err = p.end()
	}
	return list, err
}

// formatAttributes returns attribute names from a Go program in the constraint language: sex*race.
func formatAttributes(names []string) string {
	var list []string
	for _, text := range names {
		p := between(text)
		if read, err := p.attributes(); err == nil && p.end() == nil {
			list = append(list, read...)
		} else {
			list = append(list, text)
		}
	}
	return formatNames(list)
}

// Constraint bounds a measure from above or from below. The zero value is not a valid constraint.
type Constraint struct {
	measure Measure
	atLeast bool
	bound   float64
}

// Measure returns the measure that the constraint bounds.
func (c Constraint) Measure() Measure { return c.measure }

// Bound returns the bound.
func (c Constraint) Bound() float64 { return c.bound }

// IsAtLeast reports whether the bound is a lower bound.
func (c Constraint) IsAtLeast() bool { return c.atLeast }

// WithBound returns the constraint with another bound.
func (c Constraint) WithBound(b float64) Constraint { c.bound = b; return c }

// NameValues returns the names of the constraints' values among the measures of a run. The name is
// the measure of the constraint. If an earlier constraint bounds the same measure from the other
// side, the name is the whole constraint, because the values of a measure of several rates differ:
// <= bounds the largest rate, and >= bounds the smallest.
func NameValues(list []Constraint) (names []string) {
	for j, c := range list {
		name := c.measure.String()
		if slices.ContainsFunc(list[:j], func(o Constraint) bool { return o.atLeast != c.atLeast && o.measure == c.measure }) {
			name = c.String()
		}
		names = append(names, name)
	}
	return names
}

// String returns the constraint in the language: gap(tpr, sex) <= 0.02.
func (c Constraint) String() string {
	sense := " <= "
	if c.atLeast {
		sense = " >= "
	}
	return c.measure.String() + sense + strconv.FormatFloat(c.bound, 'g', -1, 64)
}

// Vacuous reports whether every model meets the bound, because the bound is the smallest or largest
// possible value of the measure.
func (c Constraint) Vacuous() bool {
	return c.atLeast && c.bound <= 0 || !c.atLeast && c.measure.atMostOne() && c.bound >= 1
}

// atMostOne reports whether no value of the measure is above 1. A loss, a difference of losses and
// the l1 norm can be larger.
func (m Measure) atMostOne() bool {
	return m.form == formRatio || m.form != formL1 && !m.rate.definition().unbounded
}

// bound parses a decimal number. With percent, the number is a percentage.
func bound(text string, percent bool) (float64, error) {
	if strings.Trim(text, "+-.0123456789eE") != "" {
		return 0, strconv.ErrSyntax // reject names such as Inf, and other notations
	}
	if percent && !strings.ContainsAny(text, "eE") {
		text += "e-2" // the exponent divides by 100 with a single rounding
		percent = false
	}
	b, err := strconv.ParseFloat(text, 64)
	if percent {
		b /= 100
	}
	if b == 0 {
		b = 0 // replace negative zero
	}
	return b, err
}

// checkBound returns the problem of an invalid bound, or "". A surrogate may be more than 1.
func (c Constraint) checkBound(surrogate bool) (problem, hint string) {
	name, b := c.measure.String(), strconv.FormatFloat(c.bound, 'g', -1, 64)
	switch {
	case c.bound-c.bound != 0:
		return fmt.Sprintf("the bound %s is not a finite number", b), "give a number such as 0.05 or 5%"
	case c.bound < 0 && c.measure.form == formExcess:
		return fmt.Sprintf("the bound %s is negative", b), "if the groups cover the rows, the rate of one group is at least the rate of all rows"
	case c.bound < 0:
		return fmt.Sprintf("the bound %s is negative", b), name + " is never negative"
	case c.bound > 1 && c.measure.atMostOne() && !surrogate:
		hint = "give a share such as 0.05 or 5%"
		if c.bound <= 100 {
			hint = fmt.Sprintf("did you mean %s%%?", b)
		}
		return fmt.Sprintf("the bound %s is more than 1, the largest value of %s", b, name), hint
	case c.atLeast && c.measure.Compares() && c.measure.form != formRatio:
		return article(c.measure.form.word()) + " cannot be bounded from below", "use <="
	case c.atLeast && c.measure.form == formL1:
		return "l1(weights) cannot be bounded from below", "use <="
	case !c.atLeast && c.measure.form == formRatio:
		return "a ratio cannot be bounded from above", "use >=: the ratio is the smallest rate over the largest"
	}
	return "", ""
}
