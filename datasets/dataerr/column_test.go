package dataerr

import (
	"errors"
	"fmt"
	"testing"
)

// An unknown column is found by its name in any tree of errors, and so is a condition.
func TestUnknownAs(t *testing.T) {
	age, sex := &UnknownColumn{"age", "the columns are x"}, &UnknownColumn{"sex", "the columns are y"}
	tree := fmt.Errorf("outer: %w", &Problems{Path: "a.csv", List: []*FileError{{Err: age}, {Err: fmt.Errorf("group: %w", sex)}}})
	for _, want := range []*UnknownColumn{age, sex} {
		if got := UnknownAs(tree, want.Name); got != want || !errors.Is(got, ErrColumn) {
			t.Errorf("%s: %v", want.Name, got)
		}
	}
	if got := UnknownAs(tree, "x"); got != nil || UnknownAs(nil, "age") != nil {
		t.Errorf("found %v", got)
	}
	if got := sex.Error(); got != `invalid column: no column "sex"; the columns are y` {
		t.Error(got)
	}
	err := fmt.Errorf("outer: %w", NewCondition("age<x", "%q is %w", "x", ErrNumber))
	var c *Condition
	if !errors.As(err, &c) || c.Text != "age<x" || !errors.Is(err, ErrGroup) || !errors.Is(err, ErrNumber) ||
		err.Error() != `outer: invalid group "age<x": "x" is not a finite number` {
		t.Errorf("%v", err)
	}
}
