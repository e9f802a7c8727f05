package constraints

import "slices"

// Needs are what constraints need to know of the rows.
type Needs struct {
	Attributes []string // the attributes that they name
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
	rate := func(r Rate) {
		for _, s := range r.selectors() {
			switch {
			case s.attribute != "" && s.attribute != className:
				add(&n.Attributes, s.attribute)
			case s.attribute == "" && !s.each:
				add(&n.Values, s.value)
			}
		}
	}
	rate(minimize)
	for _, c := range subject {
		rate(c.measure.rate)
		for _, name := range c.measure.attributeNames() {
			add(&n.Attributes, name)
		}
		if c.measure.form == formChurn {
			add(&n.Files, c.measure.file)
		}
		n.L1 = n.L1 || c.measure.form == formL1
	}
	return n
}
