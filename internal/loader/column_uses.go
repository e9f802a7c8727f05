package loader

import (
	"fmt"
	"slices"
	"strings"

	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/recordio"
	"ppal/internal/textvalue"
)

// describe records the use of every column of the file, in the order of the file.
func (t *UserTable) describe(s *columnar.Sheet) {
	ignored, places := t.uses, recordio.Names{}
	t.uses = nil
	for field, name := range t.Header {
		c := t.column(name)
		if c != nil && c.Field != field {
			t.uses = append(t.uses, tabular.ColumnUse{Name: name, Became: "ignored", Detail: "has the name of an earlier column"})
			continue
		}
		if c == nil {
			u := tabular.ColumnUse{Name: name, Became: "ignored"}
			if i := places.Find(name, len(ignored), func(i int) string { return ignored[i].Name }); i >= 0 {
				u = ignored[i]
			}
			t.uses = append(t.uses, u)
			continue
		}
		t.uses = append(t.uses, c.use(s))
	}
}

// use returns the use of one column.
func (c *UserColumn) use(s *columnar.Sheet) tabular.ColumnUse {
	u := tabular.ColumnUse{Name: c.Name, Missing: c.Profile.Missing}
	var roles, details []string
	for _, role := range []struct {
		has  bool
		name string
	}{{c.Label, "label"}, {c.Split, "split"}, {c.Query, "query"}, {c.Weight, "weight"}, {c.picture, "picture"}, {c.Group, "group"}, {c.Attribute, "attribute"}} {
		if role.has {
			roles = append(roles, role.name)
		}
	}
	if c.Feature {
		u.Became = [...]string{"number", "category", "date"}[c.Kind]
		details = roles
	} else {
		u.Became, details = roles[0], roles[1:]
	}
	if col := s.Column(c.Name); col != nil && !c.picture {
		u.Levels = len(col.Values)
	}
	switch {
	case c.Kind == dateKind:
		details = append(details, "as "+strings.Join(textvalue.DateParts(c.layout), ", "))
	case c.decimal == textvalue.CommaDecimals:
		details = append(details, "with decimal commas")
	case c.decimal == textvalue.PointDecimals:
		details = append(details, "with separators of thousands")
	case c.Kind == CategoryKind && c.Feature && c.Profile.Plain > 0:
		because := "because of texts such as " + textvalue.Quoted([]byte(c.Profile.Example))
		if first := c.Profile.Text; first != nil { // nil: all texts are numbers in some notation
			because += fmt.Sprintf(" in line %d", first.Line)
		}
		details = append(details, because)
	}
	u.Detail = strings.Join(details, ", ")
	return u
}

// Uses returns the uses of the columns of a published table.
func (d *Design) Uses(s *columnar.Sheet, p *tabular.Preparation) []tabular.ColumnUse {
	var uses []tabular.ColumnUse
	features := featureColumns(p)
	for _, col := range s.Columns {
		u := tabular.ColumnUse{Name: col.Name, Became: "ignored", Levels: len(col.Values), Missing: col.CountMissing()}
		feature := features[col.Name]
		switch {
		case col.Name == d.Label:
			u.Became = "label"
		case feature && col.Codes == nil:
			u.Became = "number"
		case feature:
			u.Became = "category"
		}
		uses = append(uses, u)
	}
	return uses
}

// addReading adds the reading of a column of a sheet, once.
func addReading(r *tabular.Reading, c *columnar.Column) {
	if !slices.ContainsFunc(r.Columns, func(other tabular.ColumnReading) bool { return other.Column == c.Name }) {
		r.Columns = append(r.Columns, tabular.ColumnReading{Column: c.Name, Number: c.Codes == nil, Decimal: c.Decimal})
	}
}
