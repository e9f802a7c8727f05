package constraints

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// kindSum is the kind of a sum of rates with positive coefficients, which only an objective can be.
const kindSum rateKind = "sum"

// IsSum reports whether the rate is a sum of ParseObjective.
func (r Rate) IsSum() bool { return r.kind == kindSum }

// weightedRate is a rate with a coefficient.
type weightedRate struct {
	coefficient float64
	rate        Rate
}

// terms returns the terms of the sum, or the rate with the coefficient 1.
func (r Rate) terms() []weightedRate {
	if r.kind != kindSum {
		return []weightedRate{{1, r}}
	}
	list, _ := parseSum(r.selected) // canonical text parses
	return list
}

// ParseObjective reads an objective: a rate, or a sum of rates with positive coefficients, such as
// 5*fnr + fpr[Female]. The error is a *SyntaxError. The rates of a sum can be minimised, and are
// all losses or all rates of decisions of rows.
func ParseObjective(text string) (Rate, error) {
	list, err := parseSum(text)
	switch {
	case err != nil:
		return Rate{}, err
	case len(list) == 1 && list[0].coefficient == 1:
		return list[0].rate, nil
	case len(list) == 1:
		return Rate{}, &SyntaxError{Text: text, Problem: "a single rate needs no coefficient", Hint: "minimize " + list[0].rate.String()}
	}
	var words []string
	for k, t := range list {
		problem, hint := "", ""
		switch d := t.rate.definition(); {
		case !d.minimized || d.pairs != noPairs:
			problem, hint = t.rate.String()+" cannot be a part of an objective", "add error, balanced_error, fpr, fnr or loss"
		case d.unbounded != list[0].rate.definition().unbounded:
			problem, hint = "a loss and a rate of decisions cannot be added", "use losses only, or none"
		case slices.ContainsFunc(list[:k], func(before weightedRate) bool { return before.rate == t.rate }):
			problem, hint = t.rate.String()+" is given twice", "add its coefficients"
		}
		if problem != "" {
			return Rate{}, &SyntaxError{Text: text, Problem: problem, Hint: hint}
		}
		words = append(words, t.String())
	}
	return Rate{kindSum, strings.Join(words, " + ")}, nil
}

// String returns the term in the language: 5*fnr.
func (t weightedRate) String() string {
	if t.coefficient == 1 {
		return t.rate.String()
	}
	return strconv.FormatFloat(t.coefficient, 'f', -1, 64) + "*" + t.rate.String()
}

// parseSum reads the terms of a sum. Its errors have the text and the places of the sum.
func parseSum(text string) (list []weightedRate, err error) {
	from := 0
	for _, at := range append(outside(text, '+'), len(text)) {
		term, own := text[from:at], weightedRate{coefficient: 1}
		if stars := outside(term, '*'); len(stars) > 0 {
			number := strings.TrimSpace(term[:stars[0]])
			own.coefficient, err = strconv.ParseFloat(number, 64)
			if err != nil || !(own.coefficient > 0) || own.coefficient > maxCoefficient {
				return nil, &SyntaxError{Text: text, At: from, Problem: fmt.Sprintf("the coefficient %q is not a number above 0, at most %.0f", number, maxCoefficient), Hint: "as in 5*fnr + fpr"}
			}
			from, term = from+stars[0]+1, term[stars[0]+1:]
		}
		if own.rate, err = ParseRate(term); err != nil {
			var e *SyntaxError
			if errors.As(err, &e) && e.Text == term {
				err = &SyntaxError{Text: text, At: from + e.At, Problem: e.Problem, Hint: e.Hint}
			}
			return nil, err
		}
		list, from = append(list, own), at+1
	}
	return list, nil
}

// maxCoefficient is the largest coefficient of a sum.
const maxCoefficient = 1e6

// outside returns the places of a symbol outside brackets and quotes.
func outside(text string, symbol byte) (places []int) {
	depth := 0
	for at := 0; at < len(text); at++ {
		switch c := text[at]; {
		case c == '"':
			_, length := unquote(text[at:])
			at += max(length, 1) - 1
		case c == '[' || c == '(':
			depth++
		case c == ']' || c == ')':
			depth--
		case c == symbol && depth == 0:
			places = append(places, at)
		}
	}
	return places
}
