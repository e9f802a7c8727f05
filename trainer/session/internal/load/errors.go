package load

import "ppal/trainer/problem"

// ErrOptions is session.ErrOptions.
var ErrOptions error = invalidOptions{}

type invalidOptions struct{}

func (invalidOptions) Error() string { return "invalid session options" }

func (invalidOptions) Is(target error) bool { return target == problem.ErrSettings }
