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
	for k := DeltaPower; k <= DeltaHarmonic; k++ {
		if got, err := ParseDelta(k.String()); err != nil || got != k {
			t.Errorf("%v parses to %v, %v", k, got, err)
		}
	}
	_, b := step.Parse("newton")
	_, c := ParseDelta("constant")
	for _, err := range []error{b, c} {
		if !errors.Is(err, problem.ErrSettings) {
			t.Errorf("%v", err)
		}
	}
}
