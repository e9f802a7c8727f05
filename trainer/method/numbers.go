package method

import (
	"fmt"

	"ppal/internal/option"
	"ppal/trainer/problem"
)

// number is a setting with its name.
type number struct {
	name string
	x    float64
}

// checkNumbers returns an error for the first setting that is neither a positive finite number nor
// 0. The value 0 means the default. The error wraps problem.ErrSettings.
func checkNumbers(numbers ...number) error {
	for _, n := range numbers {
		if !option.IsSize(n.x) {
			return fmt.Errorf("method: %w: %s is %v, want a positive number", problem.ErrSettings, n.name, n.x)
		}
	}
	return nil
}
