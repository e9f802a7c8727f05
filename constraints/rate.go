package constraints

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Rate is a rate of a model's decisions, such as the false positive rate of one group. It names
// classes and groups and holds no rows. The zero value is not a valid rate. Rates are comparable.
//
//	positive_rate  share of the rows that are decided positive
//	tpr, recall    share of the positive rows that are decided positive
//	fpr            share of the negative rows that are decided positive
//	tnr, fnr       1 - fpr, 1 - tpr
//	precision      share of the rows that are decided positive that are positive
//	error          share of the rows with a wrong decision
//	balanced_error (fpr + fnr) / 2
//	accuracy       1 - error
//	loss           mean logistic loss; with more than two classes the mean cross-entropy
//
// Other rates are about pairs of documents of one query, of which the first is more relevant. A
// pair is wrong if the first document has the lower score, and half wrong if the scores are equal.
// The rows of a group are those of the first document:
//
//	pair_error        share of the pairs that are wrong
//	cross_pair_error  the same, of the pairs whose other document is not in the group
//	own_pair_error    the same, of the pairs whose other document is in the group too
//	pair_loss         mean of log(1 + e^-(s_i - s_j)) of the pairs (i, j)
//
// The positive class is the selected class or, without a selected class, the last of two classes.
// With more than two classes, only error, accuracy and loss do not need a class. Error, accuracy
// and loss of a class count the rows of that class only.
//
// ParseObjective also returns sums of rates with coefficients, which only an objective can be.
type Rate struct {
	kind     rateKind
	selected string // the selectors in canonical text, separated by ", "; of kindSum the whole text
}

// rateKind is the name of a rate in the language; "" means no rate.
type rateKind string

const (
	kindPositiveRate rateKind = "positive_rate"
	kindTPR          rateKind = "tpr"
	kindRecall       rateKind = "recall" // another word for tpr
	kindFPR          rateKind = "fpr"
	kindTNR          rateKind = "tnr"
	kindFNR          rateKind = "fnr"
	kindPrecision    rateKind = "precision"
	kindError        rateKind = "error"
	kindAccuracy     rateKind = "accuracy"
	kindLoss         rateKind = "loss"
	kindPairError    rateKind = "pair_error"
	kindCrossPairs   rateKind = "cross_pair_error"
	kindOwnPairs     rateKind = "own_pair_error"
	kindPairLoss     rateKind = "pair_loss"
)

// definition defines a kind of rate by cells: constant + sum over the parts of coefficient times
// the rate of the cell. All uses of a rate follow from its entry in definitions.
type definition struct {
	kind     rateKind
	constant float64
	parts    []definedPart
	// quotient says that the rate is the first cell over the sum of the two cells instead.
	quotient bool
	// unclassed says that the rate does not need a positive class.
	unclassed bool
	// minimized says that the rate may be the objective. complement is the objective that equals 1
	// minus the rate; "": none.
	minimized  bool
	complement rateKind
	// larger says that larger values are better, and unbounded that values above 1 are possible.
	larger, unbounded bool
	// table is the rate of tables of rates that equals the rate or its complement; "": none.
	table rateKind
	// pairs says which pairs of documents the rate counts; the zero value: the rate counts rows.
	pairs pairKind
}

// definedPart is a cell with a coefficient. cell returns the cell for a selected class, or -1, and
// the positive class. The caller sets the conditions on the rows.
type definedPart struct {
	coefficient float64
	cell        func(selected, positive int) Cell
}

// definitions lists the rates in the order of the documentation.
func definitions() []definition {
	one := func(cell func(selected, positive int) Cell) []definedPart { return []definedPart{{1, cell}} }
	minus := func(cell func(selected, positive int) Cell) []definedPart { return []definedPart{{-1, cell}} }
	return []definition{
		{kind: kindPositiveRate, parts: one(accepted), table: kindPositiveRate},
		{kind: kindTPR, parts: one(acceptedPositives), complement: kindFNR, larger: true, table: kindRecall},
		{kind: kindRecall, parts: one(acceptedPositives), complement: kindFNR, larger: true, table: kindRecall},
		{kind: kindFPR, parts: one(acceptedNegatives), minimized: true, table: kindFPR},
		{kind: kindTNR, constant: 1, parts: minus(acceptedNegatives), complement: kindFPR, larger: true, table: kindFPR},
		{kind: kindFNR, constant: 1, parts: minus(acceptedPositives), minimized: true, table: kindRecall},
		{kind: kindPrecision, parts: []definedPart{{1, rightlyAccepted}, {1, wronglyAccepted}}, quotient: true, larger: true, table: kindPrecision},
		{kind: kindError, constant: 1, parts: minus(right), unclassed: true, minimized: true, table: kindError},
		{kind: "balanced_error", constant: 0.5, parts: []definedPart{{0.5, acceptedNegatives}, {-0.5, acceptedPositives}}, minimized: true},
		{kind: kindAccuracy, parts: one(right), unclassed: true, complement: kindError, larger: true, table: kindError},
		{kind: kindLoss, parts: one(lossOf), unclassed: true, minimized: true, unbounded: true},
		{kind: kindPairError, parts: one(pairs(allPairs)), unclassed: true, minimized: true, pairs: allPairs},
		{kind: kindCrossPairs, parts: one(pairs(crossPairs)), unclassed: true, pairs: crossPairs},
		{kind: kindOwnPairs, parts: one(pairs(ownPairs)), unclassed: true, pairs: ownPairs},
		{kind: kindPairLoss, parts: one(pairLoss), unclassed: true, minimized: true, unbounded: true, pairs: allPairs},
	}
}

// accepted counts the rows that are decided positive.
func accepted(_, positive int) Cell { return Cell{class: -1, target: positive} }

// acceptedPositives counts the positive rows that are decided positive.
func acceptedPositives(_, positive int) Cell { return Cell{class: positive, target: positive} }

// acceptedNegatives counts the negative rows that are decided positive.
func acceptedNegatives(_, positive int) Cell {
	return Cell{class: positive, not: true, target: positive}
}

// rightlyAccepted counts the rows that are positive and decided positive.
func rightlyAccepted(_, positive int) Cell {
	return Cell{class: -1, target: positive, joint: jointRight}
}

// wronglyAccepted counts the rows that are negative and decided positive.
func wronglyAccepted(_, positive int) Cell {
	return Cell{class: -1, target: positive, joint: jointWrong}
}

// right counts the rows of all classes, or of the selected class, with a right decision.
func right(selected, _ int) Cell {
	if selected >= 0 {
		return Cell{class: selected, target: selected} // the label of all these rows
	}
	return Cell{class: -1, target: ownClass}
}

// lossOf is the mean loss of the rows of all classes, or of the selected class.
func lossOf(selected, _ int) Cell { return Cell{class: selected, target: ownClass, loss: true} }

// pairs counts the wrong pairs of a kind.
func pairs(kind pairKind) func(_, _ int) Cell {
	return func(_, _ int) Cell { return Cell{class: -1, pairs: kind} }
}

// pairLoss is the mean loss of the pairs.
func pairLoss(_, _ int) Cell { return Cell{class: -1, pairs: allPairs, loss: true} }

// definition returns the definition of the kind. ok is false for an unknown kind.
func (k rateKind) definition() (d definition, ok bool) {
	for _, d := range definitions() {
		if d.kind == k {
			return d, true
		}
	}
	return d, false
}

// definition returns the definition of the rate's kind; the zero value has none.
func (r Rate) definition() definition {
	d, _ := r.kind.definition()
	return d
}

// RateNames returns the names of the rates in the language, in alphabetical order.
func RateNames() []string {
	var names []string
	for _, d := range definitions() {
		names = append(names, string(d.kind))
	}
	slices.Sort(names)
	return names
}

// PositiveRate returns the share of the rows that are decided positive. The selectors are the
// selectors of the language: a class's name, a value of an attribute, "attribute=value", or "*" and
// "attribute=*" for a rate of each class and of each group. The same holds for the other rates.
func PositiveRate(selectors ...string) Rate { return newRate(kindPositiveRate, selectors) }

// TPR returns the true positive rate, the recall.
func TPR(selectors ...string) Rate { return newRate(kindTPR, selectors) }

// Recall returns the true positive rate under the name recall, which reports show.
func Recall(selectors ...string) Rate { return newRate(kindRecall, selectors) }

// FPR returns the false positive rate.
func FPR(selectors ...string) Rate { return newRate(kindFPR, selectors) }

// TNR returns the true negative rate.
func TNR(selectors ...string) Rate { return newRate(kindTNR, selectors) }

// FNR returns the false negative rate.
func FNR(selectors ...string) Rate { return newRate(kindFNR, selectors) }

// Precision returns the share of the rows that are decided positive that are positive.
func Precision(selectors ...string) Rate { return newRate(kindPrecision, selectors) }

// Error returns the share of the rows with a wrong decision.
func Error(selectors ...string) Rate { return newRate(kindError, selectors) }

// Accuracy returns the share of the rows with a right decision.
func Accuracy(selectors ...string) Rate { return newRate(kindAccuracy, selectors) }

// Loss returns the mean logistic loss, or the mean cross-entropy of more than two classes.
func Loss(selectors ...string) Rate { return newRate(kindLoss, selectors) }

// PairError returns the share of the pairs of documents of one query that are in the wrong order:
// see Rate.
func PairError(selectors ...string) Rate { return newRate(kindPairError, selectors) }

// CrossPairError returns the share of wrong pairs whose less relevant document is in no selected
// group.
func CrossPairError(selectors ...string) Rate { return newRate(kindCrossPairs, selectors) }

// PairLoss returns the mean logistic loss of the pairs of documents.
func PairLoss(selectors ...string) Rate { return newRate(kindPairLoss, selectors) }

func newRate(kind rateKind, selectors []string) Rate {
	var list []selector
	for _, text := range selectors {
		list = append(list, readSelector(text))
	}
	return Rate{kind, formatSelectors(list)}
}

// OfPairs reports whether the rate counts pairs of documents.
func (r Rate) OfPairs() bool { return r.definition().pairs != noPairs }

// AtMost returns the constraint rate <= b.
func (r Rate) AtMost(b float64) Constraint { return r.measure().AtMost(b) }

// AtLeast returns the constraint rate >= b.
func (r Rate) AtLeast(b float64) Constraint { return r.measure().AtLeast(b) }

// measure returns the measure that consists of the rate.
func (r Rate) measure() Measure { return Measure{form: formRate, rate: r} }

// Name returns the kind of the rate without its selectors: "fpr".
func (r Rate) Name() string { return string(r.kind) }

// String returns the rate in the language: recall[shirt]. The zero value gives "".
func (r Rate) String() string {
	if r.kind == kindSum {
		return r.selected
	}
	if r.selected == "" {
		return string(r.kind)
	}
	return string(r.kind) + "[" + r.selected + "]"
}

// selectors returns the parts between the brackets.
func (r Rate) selectors() []selector {
	p := between(r.selected)
	list, _ := p.selectors() // canonical text parses; without selectors there is no list
	return list
}

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
			if minus := outside(term, '-'); len(minus) > 0 { // no rate's name has one
				err = &SyntaxError{Text: text, At: from + minus[0], Problem: `unexpected "-"`, Hint: "minimize a sum: add fnr instead of subtracting tpr"}
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
