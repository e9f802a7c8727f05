package dataerr

import "fmt"

// UnknownColumn is the error of a column that a table does not have. It wraps ErrColumn.
type UnknownColumn struct {
	Name string
	Hint string // which columns the table has
}

// Error returns one line.
func (e *UnknownColumn) Error() string {
	return fmt.Sprintf("%v: no column %q; %s", ErrColumn, e.Name, e.Hint)
}

// Unwrap returns ErrColumn.
func (e *UnknownColumn) Unwrap() error { return ErrColumn }

// UnknownAs returns the error in the tree of err about the unknown column of the name, or nil.
func UnknownAs(err error, name string) *UnknownColumn {
	if e, ok := err.(*UnknownColumn); ok && e.Name == name {
		return e
	}
	var parts []error
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		parts = []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		parts = e.Unwrap()
	}
	for _, part := range parts {
		if e := UnknownAs(part, name); e != nil {
			return e
		}
	}
	return nil
}

// Condition is the error of a condition that does not define groups. It wraps ErrGroup and Err.
type Condition struct {
	Text string // the condition
	Err  error  // what is wrong
}

// Error returns one line.
func (e *Condition) Error() string { return fmt.Sprintf("%v %q: %v", ErrGroup, e.Text, e.Err) }

// Unwrap returns ErrGroup and what is wrong.
func (e *Condition) Unwrap() []error { return []error{ErrGroup, e.Err} }

// NewCondition returns the error of the condition with the formatted problem, whose %w it wraps.
func NewCondition(text, format string, args ...any) error {
	return &Condition{text, fmt.Errorf(format, args...)}
}
