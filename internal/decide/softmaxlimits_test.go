package decide

import (
	"errors"
	"math"
	"slices"
	"testing"

	"ppal/trainer/problem"
)

// TestSoftmaxTolerance checks the end of the fit: no step if the largest derivative is below
// 1e-10 for each row, and a step above.
func TestSoftmaxTolerance(t *testing.T) {
	f := smallFit()
	x := f.start()
	for range 20 {
		if step, _, ok := f.newton(x); ok {
			for k, v := range step {
				x[k] += v
			}
		}
	}
	if _, _, ok := f.newton(x); ok {
		t.Fatal("no solution after 20 steps")
	}
	// Along an intercept the derivatives change by (H_01, H_11, H_12) for each unit.
	const d = 1e-4
	largest := 0.0
	for k := range 3 {
		at := func(a, b float64) float64 {
			y := slices.Clone(x)
			y[k] += a
			y[1] += b
			return f.loss(y)
		}
		largest = max(largest, math.Abs(at(d, d)-at(d, -d)-at(-d, d)+at(-d, -d))/(4*d*d))
	}
	for share, want := range map[float64]bool{0.9: false, 1.1: true} {
		y := slices.Clone(x)
		y[1] += share * 3 * 1e-10 / largest
		if _, _, ok := f.newton(y); ok != want {
			t.Errorf("derivatives of %v times the tolerance: step %v, want %v", share, ok, want)
		}
	}
}

// TestSoftmaxLargeScores checks probabilities of scores whose exponentials overflow or vanish.
func TestSoftmaxLargeScores(t *testing.T) {
	for _, shift := range []float64{0, 5000, -5000} {
		p := make([]float64, 2)
		Softmax{2, []float64{0, math.Log(3)}}.Probabilities(p, []float64{shift, shift})
		if !(math.Abs(p[0]-0.25) < 1e-9 && math.Abs(p[1]-0.75) < 1e-9) {
			t.Errorf("scores of %v: %v, want 1/4 and 3/4", shift, p)
		}
	}
}

// TestFitSoftmaxRefuses checks numbers of classes below 2, a slope of exactly 0, and scores that
// are not finite or too small for a finite slope.
func TestFitSoftmaxRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		scores  []float64
		labels  []int
		classes int
		want    error
	}{
		"no class":       {nil, []int{0, 0}, 0, problem.ErrSettings},
		"one class":      {[]float64{1, 2}, []int{0, 0}, 1, problem.ErrSettings},
		"no information": {[]float64{1, 1, 1, 1}, []int{0, 1}, 2, ErrNoProbabilities},
		"infinite":       {[]float64{0, math.Inf(1), 0, -1}, []int{1, 0}, 2, ErrNoProbabilities},
		"no number":      {[]float64{0, math.NaN(), 0, -1}, []int{1, 0}, 2, ErrNoProbabilities},
		"tiny":           {[]float64{0, 5e-324, 0, -5e-324}, []int{1, 0}, 2, ErrNoProbabilities},
	} {
		if p, err := FitSoftmax(tc.scores, tc.labels, tc.classes, nil); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
}

// TestPlattByHand fits one row of each class with the scores 1 and -1. Both targets are 2/3 and
// 1/3, so that the intercept is 0 and the slope log 2.
func TestPlattByHand(t *testing.T) {
	p, err := FitPlatt([]float64{1, -1}, []bool{true, false}, nil)
	if err != nil || math.Abs(p.Slope-math.Ln2) > 1e-8 || math.Abs(p.Intercept) > 1e-8 {
		t.Errorf("%+v, %v; want the slope %v", p, err, math.Ln2)
	}
	if got := p.Probability(2); math.Abs(got-0.8) > 1e-8 {
		t.Errorf("the probability at 2 is %v, want 4/5", got)
	}
}

// TestSoftmaxSearchFollowsTheSlope refuses a short step uphill that the slope calls downhill.
func TestSoftmaxSearchFollowsTheSlope(t *testing.T) {
	f := smallFit()
	x := []float64{2, 0.3, -0.2}
	step, slope, ok := f.newton(x)
	if !ok {
		t.Fatal("no step")
	}
	for k := range step {
		step[k] *= -1e-6
	}
	if next, _ := f.search(x, step, f.loss(x), slope); next != nil {
		t.Errorf("from %v to %v, and the loss from %v to %v", x, next, f.loss(x), f.loss(next))
	}
}
