package datasets

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ppal/internal/option"
)

// mostClasses is the largest number of classes of a label.
const mostClasses = 100

// mostNumberedClasses is the largest number of classes of a label whose values are all numbers. A
// column with more numbers is probably a quantity.
const mostNumberedClasses = 20

// outside is the label of the rows of a class that TableOptions.Classes leaves out.
const outside = -2

// labelClasses says how the values of the label's column give the classes.
type labelClasses struct {
	positive string   // the value of class +1; the other values are class -1
	several  []string // the value of each class; nil: positive decides
	others   []string // the values that TableOptions.Classes leaves out
}

// classes sets the design's classes. With a condition, the label's column becomes two categories.
func (t *ownTable) classes(d *design, s *sheet) error {
	label := s.column(t.label)
	if t.when == nil {
		c, err := t.labelClasses(label.values)
		switch {
		case err != nil:
			return err
		case c.several != nil:
			d.several, d.others, d.classes = c.several, c.others, c.several
			return nil
		}
		negative := without(label.values, c.positive)
		d.positive, d.classes = c.positive, []string{t.label + "=" + listed(negative, 3), t.label + "=" + c.positive}
		return nil
	}
	meets, err := t.when.test(label)
	if err != nil {
		return err
	}
	codes := make([]int32, s.rows)
	for i := range codes {
		if meets(i) {
			codes[i] = 1
		}
	}
	*label = column{name: t.label, codes: codes, values: []string{t.when.negation(), t.when.text}}
	d.positive, d.classes = t.when.text, []string{t.when.negation(), t.when.text}
	return nil
}

// labelClasses returns the classes of a label with the given values: the classes that
// TableOptions.Classes names; or two classes, of which +1 is the value that the user gave, the
// larger of two numbers, or the word that means yes; or a class for each of three or more values,
// in the order of numbers, else of the alphabet.
func (t *ownTable) labelClasses(values []string) (labelClasses, error) {
	switch {
	case len(values) == 1 && (t.positive == "" || t.positive == values[0]):
		return labelClasses{}, fmt.Errorf("%w: all values are %s, want at least two values", ErrLabel, values[0])
	case t.positive != "":
		positive, err := givenClass(values, t.positive)
		return labelClasses{positive: positive}, err
	case t.opts.Classes != nil:
		several, err := chosenClasses(values, t.opts.Classes)
		others := slices.DeleteFunc(slices.Clone(values), func(v string) bool { return slices.Contains(several, v) })
		return labelClasses{several: several, others: others}, err
	}
	values = slices.Sorted(slices.Values(values))
	if len(values) == 2 {
		positive, err := t.positiveClass(values)
		return labelClasses{positive: positive}, err
	}
	numbers := !slices.ContainsFunc(values, func(v string) bool { return !looksNumeric(v) })
	as := "--label '" + t.label + "=VALUE'"
	if numbers {
		as += " or --label '" + t.label + ">=NUMBER'"
	}
	switch {
	case numbers && len(values) > mostNumberedClasses && !slices.Contains(t.opts.Categorical, t.label):
		return labelClasses{}, fmt.Errorf("%w: it holds %s different numbers (%s), so it is probably a quantity; want a condition for class +1, as in %s, "+
			"or --categorical %s for a class of each number", ErrLabel, upTo(len(values), maxCategories), listed(values, 5), as, option.ShellWord(t.label))
	case len(values) > mostClasses:
		return labelClasses{}, fmt.Errorf("%w: it has %s values (%s), want at most %d classes, or a condition for class +1, as in %s",
			ErrLabel, upTo(len(values), maxCategories), listed(values, 5), mostClasses, as)
	}
	return labelClasses{several: orderedClasses(values)}, nil
}

// orderedClasses sorts values in the order of their texts by number, if all of them are numbers.
func orderedClasses(values []string) []string {
	if slices.ContainsFunc(values, func(v string) bool { _, ok := number([]byte(v)); return !ok }) {
		return values
	}
	slices.SortFunc(values, func(a, b string) int {
		x, _ := number([]byte(a))
		y, _ := number([]byte(b))
		return cmp.Compare(x, y)
	})
	return values
}

// chosenClasses returns the values of the label that the user's names mean, in the user's order.
func chosenClasses(values, names []string) (several []string, err error) {
	if len(names) < 2 {
		return nil, fmt.Errorf("%w: --classes names %d, want at least two classes", ErrClass, len(names))
	}
	if len(names) > mostClasses {
		return nil, fmt.Errorf("%w: --classes names %d, want at most %d classes", ErrClass, len(names), mostClasses)
	}
	for _, name := range names {
		v, err := givenClass(values, name)
		if err != nil {
			return nil, fmt.Errorf("%w: --classes: there is no %q%s", ErrClass, name, nearestClass(name, values))
		}
		if slices.Contains(several, v) {
			return nil, fmt.Errorf("%w: --classes names %q twice", ErrClass, v)
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
	return "; the classes are " + listed(slices.Sorted(slices.Values(names)), 20)
}

// positiveClass returns the label of class +1 of two values: the larger of two numbers, or the word
// that means yes.
func (t *ownTable) positiveClass(values []string) (string, error) {
	first, ok := number([]byte(values[0]))
	second, both := number([]byte(values[1]))
	yes := func(v string) bool { return slices.Contains([]string{"yes", "true", "y", "t"}, strings.ToLower(v)) }
	switch {
	case ok && both && first < second, yes(values[1]) && !yes(values[0]):
		return values[1], nil
	case ok && both && second < first, yes(values[0]) && !yes(values[1]):
		return values[0], nil
	}
	return "", fmt.Errorf("%w: is %q or %q the class +1? specify it, as in --label '%s=%s'", ErrLabel, values[0], values[1], t.label, values[1])
}

// givenClass returns the value of the column that equals the user's text, or the only value that
// equals the user's number.
func givenClass(values []string, given string) (string, error) {
	if slices.Contains(values, given) {
		return given, nil
	}
	var equal []string
	if x, ok := number([]byte(given)); ok {
		for _, v := range values {
			if y, ok := number([]byte(v)); ok && x == y {
				equal = append(equal, v)
			}
		}
	}
	if len(equal) == 1 {
		return equal[0], nil
	}
	return "", fmt.Errorf("%w: it is never %q, it is one of %s", ErrLabel, given, listed(values, 20))
}
