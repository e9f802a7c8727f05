package load

import "ppal/trainer/problem"

// ErrOptions is the error of invalid session options. session.ErrOptions is the same value.
var ErrOptions error = invalidOptions{}

// invalidOptions is the type of ErrOptions.
type invalidOptions struct{}

func (invalidOptions) Error() string { return "invalid session options" }

// Is reports that ErrOptions is also problem.ErrSettings.
func (invalidOptions) Is(target error) bool { return target == problem.ErrSettings }
