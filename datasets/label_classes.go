package datasets

import (
	"fmt"
	"slices"
)

// Classes returns the classes of labels in new rows, as indices into Values; -1 for the labels in
// Others. A number may have another spelling than in the table: "1.0" equals "1". Errors wrap
// ErrLabel, ErrNumber or ErrGroup, and name the row from 1.
func (l *Label) Classes(texts []string) ([]int, error) {
	of := l.class
	if l.Condition != "" {
		c, err := parseCondition(l.Condition, []string{l.Column})
		if err != nil {
			return nil, err
		}
		compareTexts := l.Text
		if _, isNumber := localNumber([]byte(c.value), l.Decimal); c.value != "" && !isNumber {
			compareTexts = true // a number never equals such a value
		}
		of = func(text string) (int, error) {
			of := &column{name: l.Column, decimal: l.Decimal, codes: []int32{0}, values: []string{text, c.value}}
			if !compareTexts {
				x, ok := localNumber([]byte(text), l.Decimal)
				if !ok {
					return 0, fmt.Errorf("%s is %w", quoted([]byte(text)), ErrNumber)
				}
				of = &column{name: l.Column, decimal: l.Decimal, numbers: []float64{x}}
			}
			meets, err := c.test(of)
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
			if class, err = of(text); err != nil {
				return nil, fmt.Errorf("datasets: label of row %d: %w", i+1, err)
			}
			known[text] = class
		}
		classes[i] = class
	}
	return classes, nil
}

// class returns the class of one label.
func (l *Label) class(text string) (int, error) {
	x, isNumber := number([]byte(text))
	same := func(label string) bool {
		y, ok := number([]byte(label))
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
	return 0, fmt.Errorf("%w: %s, want one of %s", ErrLabel, quoted([]byte(text)), listed(known, 20))
}
