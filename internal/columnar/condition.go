package columnar

import (
	"math"
	"slices"
	"strings"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/recordio"
	"ppal/internal/textvalue"
)

// Condition defines a group of rows:
//
//	race=Caucasian    rows with this category, or this number
//	age<25            likewise <=, >, >=
//	race!=Caucasian   rows with another category, or another number
//	25<=age<60        rows within both bounds
//	race              one group for each value of the column
type Condition struct {
	Text   string
	Column string
	Value  string // the text after = or !=; if empty, the bounds apply
	not    bool   // !=
	lower  bound
	upper  bound
	Each   bool // a column name only: one group for each value
}

// bound is one end of an interval.
type bound struct {
	set, strict bool
	at          float64
}

// MaxGroups is the largest number of groups that a column's values can make.
const MaxGroups = 100

// ParseCondition parses a condition on one of the columns. It first tries the whole text as a name,
// because a column's name may contain an operator.
func ParseCondition(text string, columns []string) (Condition, error) {
	text = strings.TrimSpace(text)
	c := Condition{Text: text}
	for _, name := range []string{text, unquoted(text)} {
		if slices.Contains(columns, name) {
			c.Column, c.Each = name, true
			return c, nil
		}
	}
	left, op, right := CutOperator(text)
	var err error
	if at, ok := textvalue.Number([]byte(left)); ok && strings.HasPrefix(op, "<") { // 25<=age...
		c.lower = bound{set: true, strict: op == "<", at: at}
		left, op, right = CutOperator(right)
		if op == "=" || op == "!=" || strings.HasPrefix(op, ">") {
			return c, dataerr.NewCondition(text, "want an interval, as in 25<=age<60")
		}
	}
	if c.Column = left; !slices.Contains(columns, left) {
		return c, dataerr.NewCondition(text, "%w", recordio.NoColumn(left, columns))
	}
	switch {
	case op == "": // 25<=age
	case op != "=" && op != "!=":
		if err = c.setBound(op, right); c.lower.set && c.upper.set && c.lower.at >= c.upper.at {
			err = dataerr.NewCondition(text, "the interval is empty")
		}
	case right == "":
		err = dataerr.NewCondition(text, "want a value after %s", op)
	default:
		c.Value, c.not = right, op == "!="
	}
	return c, err
}

// Comparison reports whether the text compares a column with a number: age<45, 25<=age<60.
func Comparison(text string) bool {
	left, op, right := CutOperator(strings.TrimSpace(text))
	if _, ok := textvalue.Number([]byte(left)); ok && strings.HasPrefix(op, "<") { // 25<=age...
		left, op, right = CutOperator(right)
	}
	_, ok := textvalue.Number([]byte(right))
	return left != "" && op != "" && op != "=" && op != "!=" && ok
}

// setBound sets the bound that an operator and the number after it specify.
func (c *Condition) setBound(op, text string) error {
	at, ok := textvalue.Number([]byte(text))
	if !ok {
		return dataerr.NewCondition(c.Text, "%q is %w", text, dataerr.ErrNumber)
	}
	b := bound{set: true, strict: len(op) == 1, at: at}
	if op[0] == '<' {
		c.upper = b
	} else {
		c.lower = b
	}
	return nil
}

// unquoted removes the quotes around a text. In the quotes, two quotes stand for one.
func unquoted(text string) string {
	text = strings.TrimSpace(text)
	if len(text) < 2 || text[0] != '"' || text[len(text)-1] != '"' {
		return text
	}
	return strings.ReplaceAll(text[1:len(text)-1], `""`, `"`)
}

// CutOperator splits a text at its first operator. The text may begin with the name of a column in
// quotes: "age, years"<30.
func CutOperator(text string) (left, op, right string) {
	quoted := strings.HasPrefix(text, `"`)
	within := false
	at := strings.IndexFunc(text, func(r rune) bool {
		within = quoted && within != (r == '"')
		return !within && strings.ContainsRune("<>=", r)
	})
	if at < 0 {
		return unquoted(text), "", ""
	}
	op = text[at : at+1]
	if op == "=" && at > 0 && text[at-1] == '!' {
		at--
		op = "!="
		return unquoted(text[:at]), op, strings.TrimSpace(text[at+len(op):])
	}
	if op != "=" && strings.HasPrefix(text[at+1:], "=") {
		op += "="
	}
	return unquoted(text[:at]), op, strings.TrimSpace(text[at+len(op):])
}

// GroupsBy makes the groups of conditions on the sheet's columns. One condition makes two groups:
// the rows that meet the condition, and the rest. Several conditions make one group each. A column
// name makes one group for each value of the column.
func GroupsBy(s *Sheet, conditions []Condition) ([]tabular.Group, error) {
	var groups []tabular.Group
	for _, c := range conditions {
		col := s.Column(c.Column)
		if row := col.FirstMissing(); row >= 0 && !s.Flag {
			return nil, dataerr.NewCondition(c.Text, "row %d has no %s", s.Number(row)+1, c.Column)
		}
		a, err := AttributeOf(&c, col, s.Flag)
		if err != nil {
			return nil, err
		}
		own := a.Groups()
		for k, v := range a.Values {
			own[k].Name = v
			if c.Each {
				own[k].Name = c.Column + "=" + v
			}
			own[k].Conditions = []string{own[k].Name}
		}
		if !c.Each {
			own[1].Conditions = []string{}
		}
		if !c.Each && len(conditions) > 1 {
			own = own[:1]
		}
		groups = append(groups, own...)
	}
	return groups, nil
}

// AttributeOf returns the attribute that the condition defines on the column.
func AttributeOf(c *Condition, col *Column, flag bool) (tabular.Attribute, error) {
	col = c.Flagged(col, flag)
	rows := max(len(col.Codes), len(col.Numbers))
	a := tabular.Attribute{Name: c.Text, Of: make([]int, rows)}
	if !c.Each {
		meets, err := c.Test(col)
		if err != nil {
			return a, err
		}
		a.Values = []string{c.Text, TheRest}
		for i := range a.Of {
			switch {
			case !flag && col.Missing(i):
				a.Of[i] = -1
			case !meets(i):
				a.Of[i] = 1
			}
		}
		return a, nil
	}
	var err error
	if a.Values, err = col.Distinct(); err != nil {
		return a, err
	}
	place := make(map[string]int, len(a.Values))
	for k, v := range a.Values {
		place[v] = k
	}
	for i := range a.Of {
		if a.Of[i] = -1; !col.Missing(i) {
			a.Of[i] = place[col.Text(i)]
		}
	}
	return a, nil
}

// TheRest is the name of the group of rows that do not meet the only condition.
const TheRest = "the rest"

// Negation describes the rows that do not meet the condition.
func (c *Condition) Negation() string {
	switch {
	case c.not:
		return c.Column + "=" + c.Value
	case c.Value != "":
		return c.Column + "!=" + c.Value
	case c.lower.set && c.upper.set:
		return "not " + c.Text
	case c.lower.strict:
		return c.Column + "<=" + textvalue.FormatNumber(c.lower.at)
	case c.lower.set:
		return c.Column + "<" + textvalue.FormatNumber(c.lower.at)
	case c.upper.strict:
		return c.Column + ">=" + textvalue.FormatNumber(c.upper.at)
	}
	return c.Column + ">" + textvalue.FormatNumber(c.upper.at)
}

// Flagged returns the column with the category "missing" if the condition may name it and flag says
// that missing values have one.
func (c *Condition) Flagged(col *Column, flag bool) *Column {
	if flag && (c.Each || c.Value == TheMissing && !c.not) {
		return col.Flagged()
	}
	return col
}

// Test returns the function that tests a row.
func (c *Condition) Test(col *Column) (func(row int) bool, error) {
	switch {
	case col.Codes != nil && c.Value == "":
		return nil, dataerr.NewCondition(c.Text, "%s holds text, want %s=VALUE with one of %s", col.Name, col.Name, textvalue.Listed(col.Values, 20))
	case col.Codes != nil:
		code := slices.Index(col.Values, c.Value)
		if code < 0 {
			return nil, dataerr.NewCondition(c.Text, "%s is never %q, it is one of %s", col.Name, c.Value, textvalue.Listed(col.Values, 20))
		}
		return func(row int) bool { return col.Codes[row] != -1 && (int(col.Codes[row]) == code) != c.not }, nil
	case c.Value != "":
		at, ok := textvalue.LocalNumber([]byte(c.Value), col.Decimal)
		if !ok {
			at, ok = textvalue.Number([]byte(c.Value))
		}
		if !ok {
			return nil, dataerr.NewCondition(c.Text, "%s holds numbers and %q is %w", col.Name, c.Value, dataerr.ErrNumber)
		}
		at = col.exactly(at)
		return func(row int) bool { return !math.IsNaN(col.Numbers[row]) && (col.Numbers[row] == at) != c.not }, nil
	}
	lower, upper := col.exactly(c.lower.at), col.exactly(c.upper.at)
	return func(row int) bool {
		x := col.Numbers[row]
		return !math.IsNaN(x) && !(c.lower.set && (x < lower || c.lower.strict && x == lower) ||
			c.upper.set && (x > upper || c.upper.strict && x == upper))
	}, nil
}

// Distinct returns the values that rows have, in order. It returns ErrGroup if the column has more
// than MaxGroups values.
func (c *Column) Distinct() ([]string, error) {
	var values []string
	if c.Codes != nil {
		used := make([]bool, len(c.Values)) // an allowed category may have no rows
		for _, code := range c.Codes {
			if code >= 0 {
				used[code] = true
			}
		}
		for k, v := range c.Values {
			if used[k] {
				values = append(values, v)
			}
		}
	} else {
		numbers := slices.DeleteFunc(slices.Clone(c.Numbers), math.IsNaN)
		slices.Sort(numbers)
		for _, x := range slices.Compact(numbers) {
			values = append(values, c.spelling(x))
		}
	}
	if len(values) > MaxGroups {
		return nil, dataerr.NewCondition(c.Name, "it has %d values, want a condition, as in %s=VALUE or %s<NUMBER", len(values), c.Name, c.Name)
	}
	return values, nil
}
