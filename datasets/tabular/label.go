package tabular

import (
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
	// Grades says that the values are grades of documents: other numbers are refused.
	Grades bool `json:"grades,omitempty"`
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

// Values returns the label of each class. Two classes are in the order -1, +1. If class -1 has
// several labels, its text is "not" and the label of class +1.
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
