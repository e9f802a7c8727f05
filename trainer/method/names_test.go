package method

import (
	"errors"
	"testing"

	"ppal/trainer/problem"
	"ppal/trainer/step"
)

func TestNamesParse(t *testing.T) {
	for k := step.Nesterov; k <= step.Adam; k++ {
		if got, err := step.Parse(k.String()); err != nil || got != k {
			t.Errorf("%v parses to %v, %v", k, got, err)
		}
	}
	if _, err := step.Parse("newton"); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("%v", err)
	}
}
