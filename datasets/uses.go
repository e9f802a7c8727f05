package datasets

import (
	"fmt"
	"slices"
	"strings"
)

// describe records the use of every column of the file, in the order of the file.
func (t *ownTable) describe(s *sheet) {
	ignored, places := t.uses, names{}
	t.uses = nil
	for field, name := range t.header {
		c := t.column(name)
		if c != nil && c.field != field {
			t.uses = append(t.uses, ColumnUse{Name: name, Became: "ignored", Detail: "has the name of an earlier column"})
			continue
		}
		if c == nil {
			u := ColumnUse{Name: name, Became: "ignored"}
			if i := places.find(name, len(ignored), func(i int) string { return ignored[i].Name }); i >= 0 {
				u = ignored[i]
			}
			t.uses = append(t.uses, u)
			continue
		}
		t.uses = append(t.uses, c.use(t, s))
	}
}

// use returns the use of one column.
func (c *ownColumn) use(t *ownTable, s *sheet) ColumnUse {
	u := ColumnUse{Name: c.name, Missing: c.profile.missing}
	var roles, details []string
	for _, role := range []struct {
		has  bool
		name string
	}{{c.label, "label"}, {c.split, "split"}, {c.group, "group"}, {c.attribute, "attribute"}} {
		if role.has {
			roles = append(roles, role.name)
		}
	}
	if c.feature {
		u.Became = [...]string{"number", "category", "date"}[c.kind]
		details = roles
	} else {
		u.Became, details = roles[0], roles[1:]
	}
	if col := s.column(c.name); col != nil {
		u.Levels = len(col.values)
	}
	switch {
	case c.kind == dateKind:
		details = append(details, "as "+strings.Join(dateParts(c.layout), ", "))
	case c.decimal == commaDecimals:
		details = append(details, "with decimal commas")
	case c.decimal == pointDecimals:
		details = append(details, "with separators of thousands")
	case c.kind == categoryKind && c.feature && c.profile.plain > 0:
		because := "because of texts such as " + quoted([]byte(c.profile.example))
		if first := c.profile.text; first != nil { // nil: all texts are numbers in some notation
			because += fmt.Sprintf(" in line %d", first.Line)
		}
		details = append(details, because)
	}
	u.Detail = strings.Join(details, ", ")
	return u
}

// uses returns the uses of the columns of a published table.
func (d *design) uses(s *sheet, p *Preparation) []ColumnUse {
	var uses []ColumnUse
	features := p.of()
	for _, col := range s.columns {
		u := ColumnUse{Name: col.name, Became: "ignored", Levels: len(col.values), Missing: col.countMissing()}
		s.pages.Touch(8 * s.rows)
		feature := features[col.name]
		switch {
		case col.name == d.label:
			u.Became = "label"
		case feature && col.codes == nil:
			u.Became = "number"
		case feature:
			u.Became = "category"
		}
		uses = append(uses, u)
	}
	return uses
}

// add adds the reading of a column of a sheet, once.
func (r *Reading) add(c *column) {
	if !slices.ContainsFunc(r.Columns, func(other ColumnReading) bool { return other.Column == c.name }) {
		r.Columns = append(r.Columns, ColumnReading{Column: c.name, Number: c.codes == nil, Decimal: c.decimal})
	}
}
