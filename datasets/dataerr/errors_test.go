package dataerr

import (
	"errors"
	"fmt"
	"testing"
)

// An error is one line: path, place, error, advice. The place is that which applies.
func TestFileError(t *testing.T) {
	for want, e := range map[string]FileError{
		"datasets: a.csv: line 3, column 2: not a finite number; correct it": {Path: "a.csv", Offset: -1, Line: 3, Column: 2, Err: ErrNumber, Advice: "correct it"},
		"datasets: x.npy: row 7, column 1: missing value":                    {Path: "x.npy", Offset: 9, Row: 7, Column: 1, Err: ErrMissing},
		"datasets: t.idx: byte 0: truncated":                                 {Path: "t.idx", Column: 4, Err: ErrTruncated},
		"datasets: b.csv: no rows":                                           {Path: "b.csv", Offset: -1, Err: ErrEmpty},
	} {
		if got := e.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Advise sets the advice of an error without one, also inside another error.
func TestAdvise(t *testing.T) {
	bare, own := &FileError{Path: "a", Err: ErrFormat}, &FileError{Path: "b", Err: ErrFormat, Advice: "own"}
	if err := Advise(fmt.Errorf("outer: %w", bare), "new"); bare.Advice != "new" || !errors.Is(err, ErrFormat) {
		t.Errorf("%v, advice %q", err, bare.Advice)
	}
	if Advise(own, "new"); own.Advice != "own" {
		t.Errorf("advice %q", own.Advice)
	}
}

// One problem is a line; several have a head, a line each without the path, and the common advice.
func TestProblems(t *testing.T) {
	p := &Problems{Path: "a.csv"}
	if err := p.Found([]string{"--ignore x"}); err != nil {
		t.Errorf("no problems: %v", err)
	}
	p.Add(&FileError{Path: "a.csv", Offset: -1, Line: 2, Err: ErrNumber})
	if got, want := p.Found(nil).Error(), "datasets: a.csv: line 2: not a finite number"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.Add(&FileError{Path: "a.csv", Offset: -1, Err: ErrCategory})
	err := p.Found([]string{"--ignore x", "--missing y"})
	want := "datasets: a.csv: 2 problems:\n  line 2: not a finite number\n  unknown category\n  for all of them: --ignore x --missing y"
	if err.Error() != want || !errors.Is(err, ErrNumber) || !errors.Is(err, ErrCategory) || errors.Is(err, ErrLabel) {
		t.Errorf("%q, want %q", err, want)
	}
}
