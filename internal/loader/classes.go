package loader

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ppal/datasets/dataerr"
	"ppal/internal/columnar"
	"ppal/internal/option"
	"ppal/internal/textvalue"
)

// MostClasses is the largest number of classes of a label.
const MostClasses = 100

// MostNumberedClasses is the largest number of classes of a label whose values are all numbers. A
// column with more numbers is probably a quantity.
const MostNumberedClasses = 20

// Outside is the label of the rows of a class that TableOptions.Classes leaves out.
const Outside = -2

// labelClasses says how the values of the label's column give the classes.
type labelClasses struct {
	positive string   // the value of class +1; the other values are class -1
	Several  []string // the value of each class; nil: positive decides
	others   []string // the values that TableOptions.Classes leaves out
}

// classes sets the design's classes. With a condition, the label's column becomes two categories.
func (t *UserTable) classes(d *Design, s *columnar.Sheet) error {
	label := s.Column(t.Label)
	if t.When == nil {
		c, err := t.LabelClasses(label.Values)
		switch {
		case err != nil:
			return err
		case c.Several != nil:
			d.several, d.others, d.Classes = c.Several, c.others, c.Several
			return nil
		}
		negative := textvalue.Without(label.Values, c.positive)
		d.Positive, d.Classes = c.positive, []string{t.Label + "=" + textvalue.Listed(negative, 3), t.Label + "=" + c.positive}
		return nil
	}
	meets, err := t.When.Test(label)
	if err != nil {
		return err
	}
	codes := make([]int32, s.Rows)
	for i := range codes {
		if meets(i) {
			codes[i] = 1
		}
	}
	*label = columnar.Column{Name: t.Label, Codes: codes, Values: []string{t.When.Negation(), t.When.Text}}
	d.Positive, d.Classes = t.When.Text, []string{t.When.Negation(), t.When.Text}
	return nil
}

// LabelClasses returns the classes of a label with the given values: the classes that
// TableOptions.Classes names; or two classes, of which +1 is the value that the user gave, the
// larger of two numbers, or the word that means yes; or a class for each of three or more values,
// in the order of numbers, else of the alphabet.
func (t *UserTable) LabelClasses(values []string) (labelClasses, error) {
	switch {
	case len(values) == 1 && (t.Positive == "" || t.Positive == values[0]):
		return labelClasses{}, fmt.Errorf("%w: all values are %s, want at least two values", dataerr.ErrLabel, values[0])
	case t.Positive != "":
		positive, err := GivenClass(values, t.Positive)
		return labelClasses{positive: positive}, err
	case t.Opts.Classes != nil:
		several, err := ChosenClasses(values, t.Opts.Classes)
		others := slices.DeleteFunc(slices.Clone(values), func(v string) bool { return slices.Contains(several, v) })
		return labelClasses{Several: several, others: others}, err
	}
	values = slices.Sorted(slices.Values(values))
	if len(values) == 2 {
		positive, err := t.PositiveClass(values)
		return labelClasses{positive: positive}, err
	}
	numbers := !slices.ContainsFunc(values, func(v string) bool { return !columnar.LooksNumeric(v) })
	as := "--label '" + t.Label + "=VALUE'"
	if numbers {
		as += " or --label '" + t.Label + ">=NUMBER'"
	}
	switch {
	case numbers && len(values) > MostNumberedClasses && !slices.Contains(t.Opts.Categorical, t.Label):
		return labelClasses{}, fmt.Errorf("%w: it holds %s different numbers (%s), so it is probably a quantity; want a condition for class +1, as in %s, "+
			"or --categorical %s for a class of each number", dataerr.ErrLabel, textvalue.UpTo(len(values), columnar.MaxCategories), textvalue.Listed(values, 5), as, option.ShellWord(t.Label))
	case len(values) > MostClasses:
		return labelClasses{}, fmt.Errorf("%w: it has %s values (%s), want at most %d classes, or a condition for class +1, as in %s",
			dataerr.ErrLabel, textvalue.UpTo(len(values), columnar.MaxCategories), textvalue.Listed(values, 5), MostClasses, as)
	}
	return labelClasses{Several: orderedClasses(values)}, nil
}

// orderedClasses sorts values in the order of their texts by number, if all of them are numbers.
func orderedClasses(values []string) []string {
	if slices.ContainsFunc(values, func(v string) bool { _, ok := textvalue.Number([]byte(v)); return !ok }) {
		return values
	}
	slices.SortFunc(values, func(a, b string) int {
		x, _ := textvalue.Number([]byte(a))
		y, _ := textvalue.Number([]byte(b))
		return cmp.Compare(x, y)
	})
	return values
}

// ChosenClasses returns the values of the label that the user's names mean, in the user's order.
func ChosenClasses(values, names []string) (several []string, err error) {
	if len(names) < 2 {
		return nil, fmt.Errorf("%w: --classes names %d, want at least two classes", dataerr.ErrClass, len(names))
	}
	if len(names) > MostClasses {
		return nil, fmt.Errorf("%w: --classes names %d, want at most %d classes", dataerr.ErrClass, len(names), MostClasses)
	}
	for _, name := range names {
		v, err := GivenClass(values, name)
		if err != nil {
			return nil, fmt.Errorf("%w: --classes: there is no %q%s", dataerr.ErrClass, name, nearestClass(name, values))
		}
		if slices.Contains(several, v) {
			return nil, fmt.Errorf("%w: --classes names %q twice", dataerr.ErrClass, v)
		}
		several = append(several, v)
	}
	return several, nil
}

// nearestClass returns "; did you mean NAME?" for the most similar name, else a list of the names.
func nearestClass(name string, names []string) string {
	lower := make([]string, len(names))
	for i, n := range names {
		lower[i] = strings.ToLower(n)
	}
	if near := option.Nearest(strings.ToLower(name), lower); near != "" {
		return "; did you mean " + names[slices.Index(lower, near)] + "?"
	}
	return "; the classes are " + textvalue.Listed(slices.Sorted(slices.Values(names)), 20)
}

// PositiveClass returns the label of class +1 of two values: the larger of two numbers, or the word
// that means yes.
func (t *UserTable) PositiveClass(values []string) (string, error) {
	first, ok := textvalue.Number([]byte(values[0]))
	second, both := textvalue.Number([]byte(values[1]))
	yes := func(v string) bool { return slices.Contains([]string{"yes", "true", "y", "t"}, strings.ToLower(v)) }
	switch {
	case ok && both && first < second, yes(values[1]) && !yes(values[0]):
		return values[1], nil
	case ok && both && second < first, yes(values[0]) && !yes(values[1]):
		return values[0], nil
	}
	return "", fmt.Errorf("%w: is %q or %q the class +1? specify it, as in --label '%s=%s'", dataerr.ErrLabel, values[0], values[1], t.Label, values[1])
}

// GivenClass returns the value of the column that equals the user's text, or the only value that
// equals the user's number.
func GivenClass(values []string, given string) (string, error) {
	if slices.Contains(values, given) {
		return given, nil
	}
	var equal []string
	if x, ok := textvalue.Number([]byte(given)); ok {
		for _, v := range values {
			if y, ok := textvalue.Number([]byte(v)); ok && x == y {
				equal = append(equal, v)
			}
		}
	}
	if len(equal) == 1 {
		return equal[0], nil
	}
	return "", fmt.Errorf("%w: it is never %q, it is one of %s", dataerr.ErrLabel, given, textvalue.Listed(values, 20))
}

// remarkSpelling adds warnings about the values of the label and of groups that differ in spelling
// only, and notes about numbers with several spellings and values with blanks around them.
func (t *UserTable) remarkSpelling() {
	compared := map[string]bool{t.Label: true}
	for _, text := range slices.Concat(t.Opts.Groups, t.Opts.Attributes) {
		if c, err := columnar.ParseCondition(text, t.Header); err == nil && (c.Each || c.Value != "") {
			compared[c.Column] = true
		}
	}
	for _, c := range t.Columns {
		if !compared[c.Name] || c.Label && t.When != nil && c.Kind == numberKind {
			continue
		}
		for _, s := range c.Profile.Padded() {
			t.notes = append(t.notes, fmt.Sprintf("The column %q holds %s: they are one value, because blanks around a value do not count.", c.Name, s))
		}
		for _, s := range c.Profile.Alike() {
			switch {
			case c.Kind == CategoryKind:
				t.warnings = append(t.warnings, fmt.Sprintf("The column %q holds %v: they differ in spelling only, and count as different values. "+
					"If they are one value, write it in one way.", c.Name, s))
			case s.Number:
				t.notes = append(t.notes, fmt.Sprintf("The column %q holds %v: they are one number, and one group.", c.Name, s))
			}
		}
	}
}
