package datasets

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// condition defines a group of rows:
//
//	race=Caucasian    rows with this category, or this number
//	age<25            likewise <=, >, >=
//	race!=Caucasian   rows with another category, or another number
//	25<=age<60        rows within both bounds
//	race              one group for each value of the column
type condition struct {
	text   string
	column string
	value  string // the text after = or !=; if empty, the bounds apply
	not    bool   // !=
	lower  bound
	upper  bound
	each   bool // a column name only: one group for each value
}

// bound is one end of an interval.
type bound struct {
	set, strict bool
	at          float64
}

// maxGroups is the largest number of groups that a column's values can make.
const maxGroups = 100

// parseCondition parses a condition on one of the columns. It first tries the whole text as a name,
// because a column's name may contain an operator.
func parseCondition(text string, columns []string) (condition, error) {
	text = strings.TrimSpace(text)
	c := condition{text: text}
	for _, name := range []string{text, unquoted(text)} {
		if slices.Contains(columns, name) {
			c.column, c.each = name, true
			return c, nil
		}
	}
	left, op, right := cutOperator(text)
	var err error
	if at, ok := number([]byte(left)); ok && strings.HasPrefix(op, "<") { // 25<=age...
		c.lower = bound{set: true, strict: op == "<", at: at}
		left, op, right = cutOperator(right)
		if op == "=" || op == "!=" || strings.HasPrefix(op, ">") {
			return c, fmt.Errorf("%w %q: want an interval, as in 25<=age<60", ErrGroup, text)
		}
	}
	if c.column = left; !slices.Contains(columns, left) {
		return c, fmt.Errorf("%w %q: %w", ErrGroup, text, noColumn(left, columns))
	}
	switch {
	case op == "": // 25<=age
	case op != "=" && op != "!=":
		if err = c.setBound(op, right); c.lower.set && c.upper.set && c.lower.at >= c.upper.at {
			err = fmt.Errorf("%w %q: the interval is empty", ErrGroup, text)
		}
	case right == "":
		err = fmt.Errorf("%w %q: want a value after %s", ErrGroup, text, op)
	default:
		c.value, c.not = right, op == "!="
	}
	return c, err
}

// Comparison reports whether the text compares a column with a number: age<45, 25<=age<60.
func Comparison(text string) bool {
	left, op, right := cutOperator(strings.TrimSpace(text))
	if _, ok := number([]byte(left)); ok && strings.HasPrefix(op, "<") { // 25<=age...
		left, op, right = cutOperator(right)
	}
	_, ok := number([]byte(right))
	return left != "" && op != "" && op != "=" && op != "!=" && ok
}

// setBound sets the bound that an operator and the number after it specify.
func (c *condition) setBound(op, text string) error {
	at, ok := number([]byte(text))
	if !ok {
		return fmt.Errorf("%w %q: %q is %w", ErrGroup, c.text, text, ErrNumber)
	}
	b := bound{set: true, strict: len(op) == 1, at: at}
	if op[0] == '<' {
		c.upper = b
	} else {
		c.lower = b
	}
	return nil
}

// unquoted returns a text without quotes around it. A quote in the text is doubled.
func unquoted(text string) string {
	text = strings.TrimSpace(text)
	if len(text) < 2 || text[0] != '"' || text[len(text)-1] != '"' {
		return text
	}
	return strings.ReplaceAll(text[1:len(text)-1], `""`, `"`)
}

// cutOperator splits a text at its first operator. The text may begin with the name of a column in
// quotes: "age, years"<30.
func cutOperator(text string) (left, op, right string) {
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

// groupsBy makes the groups of conditions on the sheet's columns. One condition makes two groups:
// the rows that meet the condition, and the rest. Several conditions make one group each. A column
// name makes one group for each value of the column.
func groupsBy(s *sheet, conditions []condition) ([]Group, error) {
	var groups []Group
	for _, c := range conditions {
		col := c.flagged(s.column(c.column), s.flag)
		if row := col.firstMissing(); row >= 0 && !s.flag {
			return nil, fmt.Errorf("%w %q: row %d has no %s", ErrGroup, c.text, s.number(row)+1, c.column)
		}
		own, err := c.groups(s, col)
		if err != nil {
			return nil, err
		}
		if !c.each && len(conditions) > 1 {
			own = own[:1]
		}
		groups = append(groups, own...)
	}
	return groups, nil
}

// groups makes the groups of one condition.
func (c *condition) groups(s *sheet, col *column) ([]Group, error) {
	if c.each {
		return groupsOfValues(s, col)
	}
	meets, err := c.test(col)
	if err != nil {
		return nil, err
	}
	groups := []Group{{Name: c.text, Conditions: []string{c.text}}, {Name: theRest, Conditions: []string{}}}
	in := 0
	for i := range s.rows {
		in += indicator(meets(i))
	}
	for k, n := range []int{in, s.rows - in} {
		if n > 0 {
			groups[k].Rows = make([]int, 0, n)
		}
	}
	for i := range s.rows {
		k := 1
		if meets(i) {
			k = 0
		}
		groups[k].Rows = append(groups[k].Rows, i)
	}
	return groups, nil
}

// theRest is the name of the group of rows that do not meet the only condition.
const theRest = "the rest"

// negation describes the rows that do not meet the condition.
func (c *condition) negation() string {
	switch {
	case c.not:
		return c.column + "=" + c.value
	case c.value != "":
		return c.column + "!=" + c.value
	case c.lower.set && c.upper.set:
		return "not " + c.text
	case c.lower.strict:
		return c.column + "<=" + formatNumber(c.lower.at)
	case c.lower.set:
		return c.column + "<" + formatNumber(c.lower.at)
	case c.upper.strict:
		return c.column + ">=" + formatNumber(c.upper.at)
	}
	return c.column + ">" + formatNumber(c.upper.at)
}

// flagged returns the column with the category "missing" if the condition may name it and flag says
// that missing values have one.
func (c *condition) flagged(col *column, flag bool) *column {
	if flag && (c.each || c.value == theMissing && !c.not) {
		return col.flagged()
	}
	return col
}

// test returns the function that tests a row.
func (c *condition) test(col *column) (func(row int) bool, error) {
	switch {
	case col.codes != nil && c.value == "":
		return nil, fmt.Errorf("%w %q: %s holds text, want %s=VALUE with one of %s",
			ErrGroup, c.text, col.name, col.name, listed(col.values, 20))
	case col.codes != nil:
		code := slices.Index(col.values, c.value)
		if code < 0 {
			return nil, fmt.Errorf("%w %q: %s is never %q, it is one of %s", ErrGroup, c.text, col.name, c.value, listed(col.values, 20))
		}
		return func(row int) bool { return col.codes[row] != -1 && (int(col.codes[row]) == code) != c.not }, nil
	case c.value != "":
		at, ok := localNumber([]byte(c.value), col.decimal)
		if !ok {
			at, ok = number([]byte(c.value))
		}
		if !ok {
			return nil, fmt.Errorf("%w %q: %s holds numbers and %q is %w", ErrGroup, c.text, col.name, c.value, ErrNumber)
		}
		at = col.exactly(at)
		return func(row int) bool { return !math.IsNaN(col.numbers[row]) && (col.numbers[row] == at) != c.not }, nil
	}
	lower, upper := col.exactly(c.lower.at), col.exactly(c.upper.at)
	return func(row int) bool {
		x := col.numbers[row]
		return !math.IsNaN(x) && !(c.lower.set && (x < lower || c.lower.strict && x == lower) ||
			c.upper.set && (x > upper || c.upper.strict && x == upper))
	}, nil
}

// groupsOfValues makes one group for each value of the column, in order.
func groupsOfValues(s *sheet, col *column) ([]Group, error) {
	values, err := col.distinct()
	if err != nil {
		return nil, err
	}
	sizes, place := map[string]int{}, map[string]int{}
	for i := range s.rows {
		sizes[col.text(i)]++
	}
	groups := make([]Group, len(values))
	for k, v := range values {
		name := col.name + "=" + v
		place[v], groups[k] = k, Group{Name: name, Conditions: []string{name}, Rows: make([]int, 0, sizes[v])}
	}
	for i := range s.rows {
		if k, ok := place[col.text(i)]; ok {
			groups[k].Rows = append(groups[k].Rows, i)
		}
	}
	return groups, nil
}

// distinct returns the values that rows have, in order. It returns ErrGroup if the column has more
// than maxGroups values.
func (c *column) distinct() ([]string, error) {
	var values []string
	if c.codes != nil {
		used := make([]bool, len(c.values)) // an allowed category may have no rows
		for _, code := range c.codes {
			if code >= 0 {
				used[code] = true
			}
		}
		for k, v := range c.values {
			if used[k] {
				values = append(values, v)
			}
		}
	} else {
		numbers := slices.DeleteFunc(slices.Clone(c.numbers), math.IsNaN)
		slices.Sort(numbers)
		for _, x := range slices.Compact(numbers) {
			values = append(values, c.spelling(x))
		}
	}
	if len(values) > maxGroups {
		return nil, fmt.Errorf("%w %q: it has %d values, want a condition, as in %s=VALUE or %s<NUMBER",
			ErrGroup, c.name, len(values), c.name, c.name)
	}
	return values, nil
}
