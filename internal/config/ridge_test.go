package config

import (
	"testing"

	"ppal/trainer/session"
)

// Bounds on decisions need a ridge: without a ridge the scores saturate (session.DefaultRidge).
func TestDecisionsHaveARidge(t *testing.T) {
	for _, problem := range []string{"dp", "eo", "if"} {
		for boundsOn, kind := range map[string]string{"decisions": "l2", "surrogate": "none"} {
			cfg, err := Resolve(Values{"problem": problem, "bounds-on": boundsOn}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := cfg.Regularizer.String(); got != kind || kind == "l2" && cfg.RegularizerWeight != session.DefaultRidge {
				t.Errorf("%s, bounds on %s: %s with weight %v, want %s", problem, boundsOn, got, cfg.RegularizerWeight, kind)
			}
		}
	}
}
