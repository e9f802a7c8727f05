package config

import (
	"testing"

	"ppal/internal/require"
	"ppal/trainer/session"
)

// Bounds on decisions need a ridge: without a ridge the scores saturate (session.DefaultRidge).
func TestDecisionsHaveARidge(t *testing.T) {
	for _, problem := range []string{"dp", "eo", "if"} {
		for boundsOn, kind := range map[string]string{"decisions": "l2", "surrogate": "none"} {
			cfg := require.Value(Resolve(Values{"problem": problem, "bounds-on": boundsOn}, nil))(t)
			if got := cfg.Problem.Regularizer; got.Kind.String() != kind || kind == "l2" && got.Weight != session.DefaultRidge {
				t.Errorf("%s, bounds on %s: %+v, want %s", problem, boundsOn, got, kind)
			}
		}
	}
}
