package datasets

import (
	"fmt"
	"slices"
)

// Label describes how the label of a row gives the class of the row.
type Label struct {
	// Column is the label's column; "": the first field of a row in LIBSVM's format.
	Column string `json:"column"`
	// Positive is the label of class +1, and Negative are the other labels.
	Positive string   `json:"positive,omitempty"`
	Negative []string `json:"negative,omitempty"`
	// Condition is a condition on the column, such as age>=40, that the rows of class +1 meet. It
	// replaces Positive and Negative. Otherwise is the text for the rows of class -1.
	Condition string `json:"condition,omitempty"`
	Otherwise string `json:"otherwise,omitempty"`
	// Text says that the condition compares texts; otherwise it compares numbers, written as Decimal
	// says.
	Text bool `json:"text,omitempty"`
	// Several has the label of each class, in the order of the classes, if the label gives three or
	// more classes or TableOptions.Classes names the classes. It replaces Positive and Negative.
	// Others has the labels of rows that belong to none of the classes.
	Several []string `json:"several,omitempty"`
	Others  []string `json:"others,omitempty"`
	// Decimal says how numbers in the column are written, as Encoding.Decimal does.
	Decimal string `json:"decimal,omitempty"`
}

// Known reports whether the label describes the classes.
func (l *Label) Known() bool { return l.Positive != "" || l.Condition != "" || l.Several != nil }

// Values returns the label of each class; with two classes of class -1 and of class +1. If class -1
// has several labels, its text is "not" and the label of class +1.
func (l *Label) Values() []string {
	switch {
	case l.Several != nil:
		return slices.Clone(l.Several)
	case l.Condition != "":
		return []string{l.Otherwise, l.Condition}
	case len(l.Negative) == 1:
		return []string{l.Negative[0], l.Positive}
	}
	return []string{"not " + l.Positive, l.Positive}
}

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

// without returns the values except one.
func without(values []string, one string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == one })
}
