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
	// Decimal says how numbers in the column are written, as Encoding.Decimal does.
	Decimal string `json:"decimal,omitempty"`
}

// Values returns the label of class -1 and the label of class +1. If class -1 has several labels,
// its text is "not" and the label of class +1.
func (l *Label) Values() [2]string {
	switch {
	case l.Condition != "":
		return [2]string{l.Otherwise, l.Condition}
	case len(l.Negative) == 1:
		return [2]string{l.Negative[0], l.Positive}
	}
	return [2]string{"not " + l.Positive, l.Positive}
}

// Classes returns the classes of labels in new rows: 0 for class -1, and 1 for class +1. A number
// may have another spelling than in the table: "1.0" equals "1". Errors wrap ErrLabel, ErrNumber or
// ErrGroup, and name the row from 1.
func (l *Label) Classes(texts []string) ([]int, error) {
	of := l.class
	if l.Condition != "" {
		c, err := parseCondition(l.Condition, []string{l.Column})
		if err != nil {
			return nil, err
		}
		of = func(text string) (int, error) {
			of := &column{name: l.Column, codes: []int32{0}, values: []string{text}}
			x, ok := localNumber([]byte(text), l.Decimal)
			switch _, isNumber := number([]byte(c.value)); {
			case ok && (c.value == "" || isNumber):
				of = &column{name: l.Column, numbers: []float64{x}}
			case c.value == "":
				return 0, fmt.Errorf("%s is %w", quoted([]byte(text)), ErrNumber)
			case text != c.value: // the column needs both categories
				of.values = append(of.values, c.value)
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
	switch {
	case same(l.Positive):
		return 1, nil
	case slices.ContainsFunc(l.Negative, same):
		return 0, nil
	}
	return 0, fmt.Errorf("%w: %s, want one of %s", ErrLabel, quoted([]byte(text)), listed(append([]string{l.Positive}, l.Negative...), 20))
}

// without returns the values except one.
func without(values []string, one string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == one })
}
