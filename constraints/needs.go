package constraints

import (
	"fmt"
	"slices"
)

// Needs are what constraints need to know of the rows.
type Needs struct {
	Attributes []string // the attributes that they name
	Texts      []string // for each attribute, the first objective or constraint that names it
	Values     []string // values without an attribute: classes, or groups such as Female
	Files      []string // the files of earlier decisions
	L1         bool     // the l1 norm of the weights
}

// NeedsOf returns what an objective and constraints need. The order is that of the text.
func NeedsOf(minimize Rate, subject []Constraint) Needs {
	var n Needs
	add := func(list *[]string, name string) {
		if !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	attribute := func(name, text string) {
		if add(&n.Attributes, name); len(n.Texts) < len(n.Attributes) {
			n.Texts = append(n.Texts, text)
		}
	}
	rate := func(r Rate, text string) {
		for _, s := range r.selectors() {
			switch {
			case s.attribute != "" && s.attribute != className:
				attribute(s.attribute, text)
			case s.attribute == "" && !s.each:
				add(&n.Values, s.value)
			}
		}
	}
	rate(minimize, minimize.String())
	for _, c := range subject {
		rate(c.measure.rate, c.String())
		for _, name := range c.measure.attributeNames() {
			attribute(name, c.String())
		}
		if c.measure.form == formChurn {
			add(&n.Files, c.measure.file)
		}
		n.L1 = n.L1 || c.measure.form == formL1
	}
	return n
}

// UnknownAttribute returns the *SyntaxError for an attribute that the rows do not have: k is its
// index in Attributes, and the hint says which attributes there are.
func (n Needs) UnknownAttribute(k int, hint string) error {
	name := n.Attributes[k]
	return (&resolver{text: n.Texts[k]}).failed(name, fmt.Sprintf("there is no attribute %q", name), hint)
}
