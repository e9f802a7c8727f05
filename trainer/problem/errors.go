package problem

import (
	"errors"
	"fmt"
)

var (
	// ErrSettings marks a setting that is out of its range or does not fit the problem or the method.
	ErrSettings = errors.New("invalid setting")
	// ErrNonFinite marks a run that met an infinite or undefined value; the error is a
	// *NonFiniteError.
	ErrNonFinite = errors.New("not finite")
)

// NonFiniteError reports a term that is infinite or not a number. The error ends the run.
type NonFiniteError struct {
	Term       string // "objective", "constraint 2" (counted from 1), ...
	Iteration  int
	Value      float64
	Constraint int // the constraint's number in g, counted from 1; 0 for other terms
}

// Error names the term, the iteration and what to do.
func (e *NonFiniteError) Error() string {
	return fmt.Sprintf("problem: the %s is %v at iteration %d: use a smaller step size or check the data", e.Term, e.Value, e.Iteration)
}

// Is reports whether target is ErrNonFinite.
func (e *NonFiniteError) Is(target error) bool { return target == ErrNonFinite }
