package decide_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"ppal/internal/decide"
	"ppal/trainer/problem"
)

// TestTargetRefusesNumbers checks that a search refuses coefficients, constants and bounds that are
// not finite, at each place.
func TestTargetRefusesNumbers(t *testing.T) {
	b := &binary{labels: []int{0, 1, 0, 1}, groups: []int{0, 0, 1, 1}, count: 2, scores: []float64{-1, 1, -2, 2}}
	rates := b.rates(t)
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for name, change := range map[string]func(r *problem.AffineRow){
			"the first coefficient": func(r *problem.AffineRow) { r.Coefficients[0] = v },
			"the last coefficient":  func(r *problem.AffineRow) { r.Coefficients[len(r.Coefficients)-1] = v },
			"the constant":          func(r *problem.AffineRow) { r.Constant = v },
			"the bound":             func(r *problem.AffineRow) { r.Bound = v },
		} {
			target := b.gap(0.1, 0)
			change(&target.Bounds[0].AffineRow)
			_, err := decide.Offsets(rates, target, b.scores, 0)
			if !errors.Is(err, problem.ErrSettings) || !strings.Contains(err.Error(), "bound 1 (0 is the objective)") {
				t.Errorf("%s is %v: %v", name, v, err)
			}
		}
	}
}
