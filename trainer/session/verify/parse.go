package verify

import (
	"fmt"
	"strconv"
	"strings"
)

// measure is a measure in the constraint language, as its canonical text states it. The check reads
// the text itself, so that no other code decides which rows a constraint counts.
type measure struct {
	form       string // rate, gap, ratio, excess, mean_excess, distance, l1 or churn
	rate       string // error, fpr, ...
	selectors  []selector
	attributes []string // whose groups are compared
	least      int      // the smallest number of training rows of a group; 0: 1
	file       string   // of earlier decisions, for churn
	only       string   // the only value of the attribute that is compared; "": all values
}

// meanExcess is the form of a mean of excesses.
const meanExcess = "mean_excess"

// selector restricts a rate to a class or to a value of an attribute.
type selector struct {
	attribute, value string // no attribute: a class, or a value of some attribute
	each             bool   // each class, or each value of the attribute
}

// compares reports whether the measure compares groups.
func (m *measure) compares() bool { return len(m.attributes) > 0 }

// withAll reports whether the measure compares groups with all rows.
func (m *measure) withAll() bool {
	return m.form == "excess" || m.form == meanExcess || m.form == "distance"
}

// token is a name or one of the symbols ( ) [ ] , * =
type token struct {
	text   string
	symbol bool
}

// tokens splits a measure's text. A name in quotes has \" and \\ for a quote and a backslash. An
// equals sign after <, > or ! belongs to a name such as age<=25.
func tokens(text string) (list []token) {
	for len(text) > 0 {
		switch c := text[0]; {
		case c == ' ':
			text = text[1:]
		case strings.IndexByte("()[],*=", c) >= 0:
			list, text = append(list, token{text[:1], true}), text[1:]
		case c == '"':
			name, k := "", 1
			for ; k < len(text) && text[k] != '"'; k++ {
				if text[k] == '\\' && k+1 < len(text) {
					k++
				}
				name += text[k : k+1]
			}
			list, text = append(list, token{text: name}), text[min(k+1, len(text)):]
		default:
			k := 1
			for k < len(text) && strings.IndexByte(" ()[],*\"", text[k]) < 0 && (text[k] != '=' || strings.IndexByte("<>!", text[k-1]) >= 0) {
				k++
			}
			list, text = append(list, token{text: text[:k]}), text[k:]
		}
	}
	return list
}

// reader takes tokens from the front.
type reader struct{ left []token }

// take returns the next token, empty at the end.
func (r *reader) take() (t token) {
	if len(r.left) > 0 {
		t, r.left = r.left[0], r.left[1:]
	}
	return t
}

// skip takes the next token if it is the symbol.
func (r *reader) skip(symbol string) bool {
	if len(r.left) > 0 && r.left[0] == (token{symbol, true}) {
		r.left = r.left[1:]
		return true
	}
	return false
}

// summand is a term of a sum of rates.
type summand struct {
	coefficient float64
	text        string
}

// sumOf splits the canonical text of an objective, such as 5*fnr + fpr[a], at the plus signs
// outside brackets and quotes.
func sumOf(text string) (list []summand) {
	depth, quote, from := 0, false, 0
	add := func(to int) {
		s := summand{1, strings.TrimSpace(text[from:to])}
		if number, rate, ok := strings.Cut(s.text, "*"); ok {
			if x, err := strconv.ParseFloat(number, 64); err == nil {
				s = summand{x, rate}
			}
		}
		list, from = append(list, s), to+1
	}
	for at := 0; at < len(text); at++ {
		switch c := text[at]; {
		case c == '\\' && quote:
			at++
		case c == '"':
			quote = !quote
		case quote:
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == '+' && depth == 0:
			add(at)
		}
	}
	add(len(text))
	return list
}

// measureOf reads the canonical text of a measure:
//
//	RATE[SELECTOR, ..., min N]   gap(RATE[...], ATTRIBUTE*..., min N)   l1(weights)   churn(FILE)
//	excess(RATE, ATTRIBUTE=VALUE)
func measureOf(text string) (m measure, err error) {
	r := &reader{tokens(text)}
	switch head := r.take().text; head {
	case "gap", "ratio", "excess", meanExcess, "distance":
		m.form = head
		r.skip("(")
		m.rate = r.take().text
		m.read(r)
		for r.skip(",") {
			if !m.minimum(r) {
				for m.attributes = append(m.attributes, r.take().text); r.skip("*"); {
					m.attributes = append(m.attributes, r.take().text)
				}
				if r.skip("=") {
					m.only = r.take().text
				}
			}
		}
		r.skip(")")
	case "l1":
		return measure{form: "l1"}, nil
	case "churn":
		r.skip("(")
		m.form, m.file = head, r.take().text
		r.skip(")")
	default:
		m.form, m.rate = "rate", head
		m.read(r)
	}
	if len(r.left) > 0 {
		return m, fmt.Errorf("verify: the measure %q has %q after its end", text, r.left[0].text)
	}
	return m, nil
}

// read reads the selectors of a rate, if any.
func (m *measure) read(r *reader) {
	if !r.skip("[") {
		return
	}
	for !r.skip("]") && len(r.left) > 0 {
		switch {
		case r.skip(","), m.minimum(r):
		case r.skip("*"):
			m.selectors = append(m.selectors, selector{each: true})
		default:
			s := selector{value: r.take().text}
			if r.skip("=") {
				if s.attribute, s.each = s.value, r.skip("*"); !s.each {
					s.value = r.take().text
				}
			}
			m.selectors = append(m.selectors, s)
		}
	}
}

// minimum reads "min N". A class or a value named min is in quotes and followed by no number.
func (m *measure) minimum(r *reader) bool {
	if len(r.left) < 2 || r.left[0] != (token{text: "min"}) {
		return false
	}
	n, err := strconv.Atoi(r.left[1].text)
	if err == nil {
		m.least, r.left = n, r.left[2:]
	}
	return err == nil
}
