package constraints

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ppal/internal/option"
)

// The grammar of the constraint language:
//
//	constraint = measure ( "<=" | ">=" ) number
//	measure    = rate
//	           | comparison "(" rate "," attributes [ "," "min" integer ] ")"
//	           | "l1" "(" "weights" ")"
//	           | "churn" "(" file ")"
//	comparison = "gap" | "ratio" | "excess" | "distance"
//	rate       = name [ "[" selector { "," selector } [ "," "min" integer ] "]" ]
//	selector   = "*" | value | attribute "=" ( value | "*" )
//	attributes = attribute { "*" attribute }
//	number     = decimal [ "%" ]
//
// Adjacent words form one name: recall[ankle boot]. A name in double quotes may hold any character.

// Parse reads a constraint. The error is a *SyntaxError.
func Parse(text string) (Constraint, error) {
	p := newParser(text)
	m, err := p.measure()
	if err != nil {
		return Constraint{}, err
	}
	return p.compared(m)
}

// ParseRate reads a rate, such as fpr[Female]. The error is a *SyntaxError.
func ParseRate(text string) (Rate, error) {
	p := newParser(text)
	first := p.peek()
	if w := strings.ToLower(first.text); first.kind == tokenWord && slices.Contains(otherMeasures(), w) {
		return Rate{}, p.failed(first, w+" is not a rate", "give a rate: "+strings.Join(RateNames(), ", "))
	}
	m, err := p.measure()
	if err == nil {
		err = p.end()
	}
	if err == nil && m.minimum > 0 {
		err = p.failed(first, "min is for a constraint on each group", "leave it out")
	}
	if err != nil {
		return Rate{}, err
	}
	return m.rate, nil
}

// ParseMeasure reads a measure, the part of a constraint before its bound. The error is a
// *SyntaxError.
func ParseMeasure(text string) (Measure, error) {
	p := newParser(text)
	m, err := p.measure()
	if err == nil {
		err = p.end()
	}
	if err != nil {
		return Measure{}, err
	}
	return m, nil
}

// otherMeasures lists the names of the measures that are not rates, in the order of their forms.
func otherMeasures() []string {
	return []string{wordGap, wordRatio, wordExcess, wordDistance, wordL1, wordChurn}
}

// parser parses the tokens of one text.
type parser struct {
	text   string
	tokens []token
	next   int
	depth  int // 1 inside brackets
}

func newParser(text string) *parser {
	p := &parser{text: text}
	p.lex()
	return p
}

// between returns a parser for the text between brackets.
func between(text string) *parser {
	p := &parser{text: text, depth: 1}
	p.lex()
	return p
}

func (p *parser) peek() token { return p.tokens[p.next] }

// take returns the next token, which is not the end, and consumes the token.
func (p *parser) take() token {
	t := p.tokens[p.next]
	p.next++
	return t
}

// symbol consumes the next token if the token is the given symbol, and reports whether it did.
func (p *parser) symbol(s string) bool {
	if t := p.peek(); t.kind == tokenSymbol && t.text == s {
		p.next++
		return true
	}
	return false
}

func (p *parser) failed(at token, problem, hint string) error {
	return &SyntaxError{Text: p.text, At: at.at, Problem: problem, Hint: hint}
}

// unexpected returns the error for a token in the wrong place: it names the found and the expected
// token.
func (p *parser) unexpected(want string) error {
	switch t := p.peek(); t.kind {
	case tokenEnd:
		return p.failed(t, "the text ends", want)
	case tokenBad:
		return p.failed(t, "the quote does not end", `add a closing "`)
	default:
		return p.failed(t, fmt.Sprintf("unexpected %q", t.text), want)
	}
}

func (p *parser) end() error {
	if p.peek().kind != tokenEnd {
		return p.unexpected("nothing may follow here")
	}
	return nil
}

// measure reads a rate or one of otherMeasures.
func (p *parser) measure() (Measure, error) {
	t := p.peek()
	if t.kind != tokenWord {
		return Measure{}, p.unexpected("begin with a rate such as fpr, or with " + option.List(otherMeasures(), "or"))
	}
	word := strings.ToLower(t.text)
	k := slices.Index(otherMeasures(), word)
	if k < 0 {
		return p.rate(true)
	}
	p.take()
	if !p.symbol("(") {
		return Measure{}, p.unexpected("write " + usageOf(word))
	}
	m := Measure{form: formGap + form(k)}
	var err error
	switch m.form {
	case formL1:
		if w := p.peek(); w.kind != tokenWord || w.text != wordWeights {
			return Measure{}, p.unexpected("write l1(weights)")
		}
		p.take()
	case formChurn:
		m.file, err = p.name("give the file of the earlier decisions, as in churn(old.csv)")
	default:
		err = p.compare(&m, word)
	}
	if err != nil {
		return Measure{}, err
	}
	if !p.symbol(")") {
		return Measure{}, p.unexpected("close with ), as in " + usageOf(word))
	}
	return m, nil
}

// article returns the word with its indefinite article.
func article(word string) string {
	if word == wordExcess {
		return "an " + word
	}
	return "a " + word
}

// usageOf returns an example of a measure.
func usageOf(word string) string {
	switch word {
	case wordL1:
		return "l1(weights)"
	case wordChurn:
		return "churn(old.csv)"
	}
	return word + "(tpr, sex)"
}

// compare reads a rate, attributes and a minimum size between the parentheses of a measure that
// compares groups.
func (p *parser) compare(m *Measure, word string) error {
	at := p.peek()
	if w := strings.ToLower(at.text); at.kind == tokenWord && slices.Contains(otherMeasures(), w) {
		return p.failed(at, w+" is not a rate", article(word)+" compares a rate, as in "+usageOf(word))
	}
	rate, err := p.rate(false)
	if err != nil {
		return err
	}
	m.rate = rate.rate
	if !p.symbol(",") {
		return p.unexpected("add the attribute whose groups are compared, as in " + word + "(" + rate.String() + ", sex)")
	}
	names, err := p.attributes()
	if err != nil {
		return err
	}
	m.attributes = formatNames(names)
	if p.symbol(",") {
		least, err := p.minimum()
		if err != nil {
			return err
		}
		*m = m.MinRows(least)
	}
	return nil
}

// rate reads a rate's name and selectors. It accepts a minimum size only if sized is true.
func (p *parser) rate(sized bool) (Measure, error) {
	t := p.peek()
	if t.kind != tokenWord {
		return Measure{}, p.unexpected("give a rate: " + strings.Join(RateNames(), ", "))
	}
	kind, err := p.kindOf(t, sized)
	if err != nil {
		return Measure{}, err
	}
	p.take()
	m := Measure{form: formRate, rate: Rate{kind: kind}}
	if !p.symbol("[") {
		return m, nil
	}
	list, err := p.selectors()
	if err != nil {
		return Measure{}, err
	}
	m.rate.selected = formatSelectors(list)
	if p.minimumFollows() {
		at := p.peek()
		least, err := p.minimum()
		switch {
		case err != nil:
			return Measure{}, err
		case !sized:
			return Measure{}, p.failed(at, "min stands with the attributes", "as in gap(tpr, sex*race, min 100)")
		}
		m = m.MinRows(least)
	}
	if !p.symbol("]") {
		return Measure{}, p.unexpected("close with ], or add another selector after a comma")
	}
	return m, nil
}

// otherNames has advice about names of other programs and papers.
var otherNames = map[string]string{
	"demographic_parity":  "demographic parity is the gap of the positive rate, as in gap(positive_rate, sex) <= 0.05",
	"statistical_parity":  "statistical parity is the gap of the positive rate, as in gap(positive_rate, sex) <= 0.05",
	"disparate_impact":    "disparate impact is the ratio of the positive rate, as in ratio(positive_rate, sex) >= 0.8",
	"equalized_odds":      "equalized odds are two constraints, as in gap(tpr, sex) <= 0.05 and gap(fpr, sex) <= 0.05",
	"equalised_odds":      "equalized odds are two constraints, as in gap(tpr, sex) <= 0.05 and gap(fpr, sex) <= 0.05",
	"equal_opportunity":   "equal opportunity is the gap of the true positive rate, as in gap(tpr, sex) <= 0.05",
	"predictive_equality": "predictive equality is the gap of the false positive rate, as in gap(fpr, sex) <= 0.05",
	"auc":                 "the area under a curve is not a rate of decisions; bound one point of the curve, as in fpr <= 0.05 with --minimize fnr",
	"roc_auc":             "the area under a curve is not a rate of decisions; bound one point of the curve, as in fpr <= 0.05 with --minimize fnr",
	"f1":                  "the F1 score is not a rate; bound precision and recall, as in precision >= 0.8",
	"f1_score":            "the F1 score is not a rate; bound precision and recall, as in precision >= 0.8",
	"sensitivity":         "sensitivity is tpr",
	"true_positive_rate":  "it is tpr",
	"false_positive_rate": "it is fpr",
	"false_negative_rate": "it is fnr",
	"true_negative_rate":  "it is tnr",
	"specificity":         "specificity is tnr",
	"fdr":                 "the false discovery rate is 1 - precision: bound precision",
	"selection_rate":      "the selection rate is positive_rate",
	"acceptance_rate":     "the acceptance rate is positive_rate",
	"misclassification":   "it is error",
	"balanced_accuracy":   "it is 1 - balanced_error: bound balanced_error",
	"ppv":                 "the positive predictive value is precision",
}

// kindOf returns the kind of rate that a token names. With measures, the error also lists the other
// measures.
func (p *parser) kindOf(t token, measures bool) (rateKind, error) {
	word := strings.ToLower(t.text)
	if d, ok := rateKind(word).definition(); ok {
		return d.kind, nil
	}
	names := RateNames()
	if measures {
		names = append(names, otherMeasures()...)
	}
	hint := "the rates are " + strings.Join(RateNames(), ", ")
	if advice := otherNames[strings.NewReplacer("-", "_", " ", "_").Replace(word)]; advice != "" {
		hint = advice
	} else if near := option.Nearest(word, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	return "", p.failed(t, fmt.Sprintf("unknown rate %q", t.text), hint)
}

// minimumFollows consumes the comma before a minimum size, and reports whether it found a comma.
func (p *parser) minimumFollows() bool {
	if t := p.peek(); t.kind != tokenSymbol || t.text != "," {
		return false
	}
	p.take()
	return true
}

// isMinimum reports whether the next tokens are the word min and one number.
func (p *parser) isMinimum() bool {
	t := p.peek()
	if t.kind != tokenWord || !strings.EqualFold(t.text, wordMin) {
		return false
	}
	n := p.tokens[p.next+1]
	return n.kind == tokenWord && strings.Trim(n.text, "0123456789") == ""
}

// minimum reads a minimum size such as "min 100".
func (p *parser) minimum() (int, error) {
	if !p.isMinimum() {
		return 0, p.unexpected("only min and a number of rows may follow, as in min 100")
	}
	p.take()
	t := p.take()
	n, err := strconv.ParseUint(t.text, 10, 31)
	if err != nil || n == 0 {
		return 0, p.failed(t, fmt.Sprintf("%s is not a number of rows", t.text), "give a whole number of at least 1")
	}
	return int(n), nil
}

// name reads one name: a quoted name, or adjacent words. A condition may follow a quoted name, as
// in "age, years"<25.
func (p *parser) name(want string) (string, error) {
	t := p.peek()
	switch t.kind {
	case tokenQuoted:
		p.take()
		if t.text == "" {
			return "", p.failed(t, "the name is empty", want)
		}
		text := t.text
		if next := p.peek(); next.kind == tokenWord && strings.ContainsAny(next.text[:1], "<>!") {
			text += p.take().text
			for p.peek().kind == tokenWord {
				text += " " + p.take().text
			}
		}
		return text, nil
	case tokenWord:
		words := []string{p.take().text}
		for p.peek().kind == tokenWord {
			words = append(words, p.take().text)
		}
		return strings.Join(words, " "), nil
	}
	return "", p.unexpected(want)
}

// attributes reads attribute names with * between the names.
func (p *parser) attributes() ([]string, error) {
	var list []string
	for {
		at := p.peek()
		name, err := p.name("give an attribute, such as sex")
		if err != nil {
			return nil, err
		}
		if slices.Contains(list, name) {
			return nil, p.failed(at, fmt.Sprintf("the attribute %s is given twice", name), "give each attribute once")
		}
		list = append(list, name)
		if !p.symbol("*") {
			return list, nil
		}
	}
}

// compared reads the comparison and the bound of a constraint on the measure m.
func (p *parser) compared(m Measure) (Constraint, error) {
	t := p.peek()
	if t.kind != tokenCompare {
		return Constraint{}, p.unexpected("compare with a bound: <= 0.05 or >= 0.9")
	}
	c := Constraint{measure: m}
	switch t.text {
	case "<=", "≤":
	case ">=", "≥":
		c.atLeast = true
	case "<":
		return Constraint{}, p.failed(t, "a constraint cannot be strict", "write <=")
	case ">":
		return Constraint{}, p.failed(t, "a constraint cannot be strict", "write >=")
	default:
		return Constraint{}, p.failed(t, fmt.Sprintf("unknown comparison %q", t.text), "write <= or >=")
	}
	p.take()
	at := p.peek()
	if at.kind != tokenWord {
		return Constraint{}, p.unexpected("give the bound, such as 0.05 or 5%")
	}
	p.take()
	percent := p.symbol("%")
	b, err := bound(at.text, percent)
	if err != nil {
		return Constraint{}, p.failed(at, fmt.Sprintf("%q is not a bound", at.text), "give a number such as 0.05 or 5%")
	}
	c.bound = b
	if problem, hint := c.checkBound(false); problem != "" {
		return Constraint{}, p.failed(at, problem, hint)
	}
	return c, p.end()
}
