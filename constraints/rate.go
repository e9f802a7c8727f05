package constraints

import "slices"

// Rate is a rate of a model's decisions, such as the false positive rate of one group. It names
// classes and groups and holds no rows. The zero value is not a valid rate. Rates are comparable.
//
//	positive_rate  share of the rows that are decided positive
//	tpr, recall    share of the positive rows that are decided positive
//	fpr            share of the negative rows that are decided positive
//	tnr, fnr       1 - fpr, 1 - tpr
//	precision      share of the rows that are decided positive that are positive
//	error          share of the rows with a wrong decision
//	accuracy       1 - error
//	loss           mean logistic loss; with more than two classes the mean cross-entropy
//
// The positive class is the selected class or, without a selected class, the last of two classes.
// With more than two classes, positive_rate, tpr, fpr, tnr, fnr and precision need a class. Error,
// accuracy and loss of a class count the rows of that class only.
type Rate struct {
	kind rateKind
	of   string // the selectors in canonical text, separated by ", "
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
)

// rateKinds lists the kinds in the order of the documentation.
func rateKinds() []rateKind {
	return []rateKind{kindPositiveRate, kindTPR, kindRecall, kindFPR, kindTNR, kindFNR, kindPrecision, kindError, kindAccuracy, kindLoss}
}

// RateNames returns the names of the rates in the language, in alphabetical order.
func RateNames() []string {
	var names []string
	for _, k := range rateKinds() {
		names = append(names, string(k))
	}
	slices.Sort(names)
	return names
}

// PositiveRate returns the share of the rows that are decided positive. The selectors are the
// selectors of the language: a class's name, a value of an attribute, "attribute=value", or "*" and
// "attribute=*" for a rate of each class and of each group. The same holds for the other rates.
func PositiveRate(of ...string) Rate { return newRate(kindPositiveRate, of) }

// TPR returns the true positive rate, the recall.
func TPR(of ...string) Rate { return newRate(kindTPR, of) }

// Recall returns the true positive rate under the name recall, which reports show.
func Recall(of ...string) Rate { return newRate(kindRecall, of) }

// FPR returns the false positive rate.
func FPR(of ...string) Rate { return newRate(kindFPR, of) }

// TNR returns the true negative rate.
func TNR(of ...string) Rate { return newRate(kindTNR, of) }

// FNR returns the false negative rate.
func FNR(of ...string) Rate { return newRate(kindFNR, of) }

// Precision returns the share of the rows that are decided positive that are positive.
func Precision(of ...string) Rate { return newRate(kindPrecision, of) }

// Error returns the share of the rows with a wrong decision.
func Error(of ...string) Rate { return newRate(kindError, of) }

// Accuracy returns the share of the rows with a right decision.
func Accuracy(of ...string) Rate { return newRate(kindAccuracy, of) }

// Loss returns the mean logistic loss, or the mean cross-entropy of more than two classes.
func Loss(of ...string) Rate { return newRate(kindLoss, of) }

func newRate(kind rateKind, of []string) Rate {
	var list []selector
	for _, text := range of {
		list = append(list, readSelector(text))
	}
	return Rate{kind, formatSelectors(list)}
}

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
	if r.of == "" {
		return string(r.kind)
	}
	return string(r.kind) + "[" + r.of + "]"
}

// selectors returns the parts between the brackets.
func (r Rate) selectors() []selector {
	p := between(r.of)
	list, _ := p.selectors() // canonical text parses; without selectors there is no list
	return list
}
