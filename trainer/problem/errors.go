package problem

import (
	"errors"
	"fmt"
)

var (
	// ErrSettings marks a setting that is out of its range or does not fit the problem or the
	// method.
	ErrSettings = errors.New("invalid setting")
	// ErrOrder marks a call at the wrong time, such as a second training of a session.
	ErrOrder = errors.New("wrong order of calls")
	// ErrNonFinite marks a run that met an infinite value or NaN. The error is a *NonFiniteError.
	ErrNonFinite = errors.New("not finite")
)

// NonFiniteError reports a term that is infinite or not a number. The error ends the run.
type NonFiniteError struct {
	Term       string  // "objective", "constraint 2" (counted from 1), ...
	Iteration  int     // the iteration that evaluated the term
	Value      float64 // the term's value: infinite or NaN
	Constraint int     // the constraint's number in g, counted from 1; 0 for other terms
}

// Error names the term, its value and the iteration, and says how to fix the run.
func (e *NonFiniteError) Error() string {
	advice := "use a smaller step size or check the data"
	if e.Iteration == 0 {
		advice = "check the data and the initial weights" // no step was taken yet
	}
	return fmt.Sprintf("problem: the %s is %v at iteration %d: %s", e.Term, e.Value, e.Iteration, advice)
}

// Is reports whether target is ErrNonFinite.
func (e *NonFiniteError) Is(target error) bool { return target == ErrNonFinite }
