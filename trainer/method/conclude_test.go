package method

import (
	"strings"
	"testing"

	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/problem"
)

// The violation is owed by mu only where mu is far from lambda and delta so small that it stays
// there.
func TestOwedByMu(t *testing.T) {
	for _, test := range []struct {
		name      string
		set       Perturbation
		lambda    float64
		delta     float64
		violation float64
		want      string // "": no warning
	}{
		{"power", Perturbation{}, 1, 0.01, 0.2, "a smaller DeltaP"},
		{"harmonic", Perturbation{Delta: DeltaHarmonic}, 1, 0.01, 0.2, "a larger Delta0"},
		{"mu still moves", Perturbation{}, 1, 0.5, 0.2, ""},
		{"mu is at lambda", Perturbation{}, 0.1, 0.01, 0.2, ""},
		{"met", Perturbation{}, 1, 0.01, 1e-4, ""},
	} {
		d := perturbed{set: test.set, rho: 5, k: 10, delta: test.delta, lambda: []float64{test.lambda}, mu: []float64{0}}
		warnings, _ := d.conclude(&problem.Point{Constraints: []float64{test.violation}},
			certify.Certificate{Infeasibility: test.violation, Epsilon: test.violation}, trainer.DefaultFeasibilityTolerance)
		if text := strings.Join(warnings, "\n"); test.want == "" && text != "" || !strings.Contains(text, test.want) {
			t.Errorf("%s: warnings %q, want %q", test.name, warnings, test.want)
		}
	}
}
