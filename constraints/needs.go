package constraints

import (
	"fmt"
	"slices"
)

// Needs lists the properties of the rows that an objective and constraints use.
type Needs struct {
	Attributes []string // the attributes that the objective and the constraints name
	Texts      []string // for each attribute, the first objective or constraint that names it
	Values     []string // values without an attribute: classes, or groups such as Female
	Files      []string // the files of earlier decisions
	L1         bool     // a constraint bounds the l1 norm of the weights
}

// Groups reports whether an objective or a constraint names the attribute "groups".
func (n Needs) Groups() bool { return slices.Contains(n.Attributes, GroupsName) }

// NeedsOf returns the needs of an objective and constraints. The lists are in order of first use.
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

// UnknownAttribute returns the *SyntaxError for an attribute that the rows do not have. k is the
// attribute's index in Attributes. The hint lists the attributes of the rows.
func (n Needs) UnknownAttribute(k int, hint string) error {
	name := n.Attributes[k]
	return (&resolver{text: n.Texts[k]}).failed(name, fmt.Sprintf("there is no attribute %q", name), hint)
}
