package method

import (
	"strings"
	"testing"

	"ppal/trainer"
	"ppal/trainer/problem"
)

// The warning about the lag of mu appears only if mu is far from lambda and delta_k is too small
// for mu to catch up.
func TestLagOfMu(t *testing.T) {
	for _, test := range []struct {
		name      string
		set       Perturbation
		lambda    float64
		delta     float64
		violation float64
		want      string // "": no warning
	}{
		{"power", Perturbation{}, 1, 0.01, 0.2, "lower --delta-p"},
		{"harmonic", Perturbation{Delta: DeltaHarmonic}, 1, 0.01, 0.2, "raise --delta0"},
		{"mu still moves", Perturbation{}, 1, 0.5, 0.2, ""},
		{"mu is at lambda", Perturbation{}, 0.1, 0.01, 0.2, ""},
		{"met", Perturbation{}, 1, 0.01, 1e-4, ""},
	} {
		d := perturbed{set: test.set, rho: 5, k: 10, delta: test.delta, lambda: []float64{test.lambda}, mu: []float64{0}}
		warnings, _ := d.conclude(&problem.Point{Constraints: []float64{test.violation}}, trainer.DefaultFeasibilityTolerance)
		if text := strings.Join(warnings, "\n"); test.want == "" && text != "" || !strings.Contains(text, test.want) {
			t.Errorf("%s: warnings %q, want %q", test.name, warnings, test.want)
		}
	}
}
