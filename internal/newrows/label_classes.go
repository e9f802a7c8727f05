package newrows

import (
	"cmp"
	"fmt"
	"slices"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/textvalue"
)

// LabelClasses returns the classes of labels in new rows, as indices into Values; -1 for the labels
// in Others. A number may have another spelling than in the table: "1.0" equals "1". Errors wrap
// ErrLabel, ErrNumber or ErrGroup, and name the row from 1.
func LabelClasses(l *tabular.Label, texts []string) ([]int, error) {
	classOf := func(text string) (int, error) { return labelClass(l, text) }
	if l.Condition != "" {
		c, err := columnar.ParseCondition(l.Condition, []string{cmp.Or(l.Column, tabular.GradeName)})
		if err != nil {
			return nil, err
		}
		compareTexts := l.Text
		if _, isNumber := textvalue.LocalNumber([]byte(c.Value), l.Decimal); c.Value != "" && !isNumber {
			compareTexts = true // a number never equals such a value
		}
		classOf = func(text string) (int, error) {
			both := &columnar.Column{Name: l.Column, Decimal: l.Decimal, Codes: []int32{0}, Values: []string{text, c.Value}}
			if !compareTexts {
				x, ok := textvalue.LocalNumber([]byte(text), l.Decimal)
				if !ok {
					return 0, fmt.Errorf("%s is %w", textvalue.Quoted([]byte(text)), dataerr.ErrNumber)
				}
				if l.Grades {
					if _, err := tabular.Grade(x); err != nil {
						return 0, err
					}
				}
				both = &columnar.Column{Name: l.Column, Decimal: l.Decimal, Numbers: []float64{x}}
			}
			meets, err := c.Test(both)
			if err != nil || !meets(0) {
				return 0, err
			}
			return 1, nil
		}
	}
	known := map[string]int{}
	classes := make([]int, len(texts))
	for i, text := range texts {
		class, ok := known[text]
		if !ok {
			var err error
			if class, err = classOf(text); err != nil {
				return nil, fmt.Errorf("datasets: label of row %d: %w", i+1, err)
			}
			known[text] = class
		}
		classes[i] = class
	}
	return classes, nil
}

// labelClass returns the class of one label.
func labelClass(l *tabular.Label, text string) (int, error) {
	x, isNumber := textvalue.Number([]byte(text))
	same := func(label string) bool {
		y, ok := textvalue.Number([]byte(label))
		return label == text || isNumber && ok && x == y
	}
	known := append([]string{l.Positive}, l.Negative...)
	if l.Several != nil {
		known = l.Several
		if slices.Contains(l.Others, text) {
			return -1, nil
		}
		if k := slices.IndexFunc(l.Several, same); k >= 0 {
			return k, nil
		}
	} else {
		switch {
		case same(l.Positive):
			return 1, nil
		case slices.ContainsFunc(l.Negative, same):
			return 0, nil
		}
	}
	return 0, fmt.Errorf("%w: %s, want one of %s", dataerr.ErrLabel, textvalue.Quoted([]byte(text)), textvalue.Listed(known, 20))
}
