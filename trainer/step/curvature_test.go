package step

import (
	"math"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// edge is f = x on x >= 1, and NaN below, in float32. At the start x_0 = 1, the probe shrinks until
// it rounds to x_0.
type edge struct{ *problem.HostSpace[float32] }

func (edge) Dims() (n, m int) { return 1, 0 }

func (p edge) Forward([]float64) (float64, error) {
	if x := float64(p.Slice(problem.Iterate)[0]); x >= 1 {
		return x, nil
	}
	return math.NaN(), nil
}

func (p edge) Backward(_ []float64, d problem.Vector) error { p.Write(d, []float64{1}); return nil }

func newEdge() edge { return edge{problem.NewHostSpace([]float32{1}, problem.Regularizer{})} }

// If no probe moves x, the first curvature stays unknown. It is not 0/0.
func TestProbeThatDoesNotMove(t *testing.T) {
	p, at := newEdge(), &problem.Point{}
	require.NoError(t, at.Forward(p))
	c, d := newCurvature(p), p.New()
	p.Write(d, []float64{1})
	require.NoError(t, c.probe(p, at, d, Direction{Coefficients: []float64{1}}, 1))
	if c.l != 0 || p.Slice(problem.Iterate)[0] != 1 {
		t.Errorf("l = %v at x = %v after a probe that did not move, want 0 at 1", c.l, p.Slice(problem.Iterate)[0])
	}
}

// The rule skips a change of the gradient that overflows. With l = +Inf the step would be 0, and l
// = NaN would never recover.
func TestCurvatureSkipsWhatIsNotFinite(t *testing.T) {
	p := newEdge()
	c := newCurvature(p)
	c.l, c.distance = 2, 1
	for _, change := range []float64{math.Inf(1), math.NaN()} {
		c.measure(1000, change, 1)
		if !(c.l > 1.9 && c.l <= 2) {
			t.Errorf("l = %v after a change of %v, want 2 and a decay", c.l, change)
		}
	}
	c.measure(1000, 7, 1)
	if c.l != 7 {
		t.Errorf("l = %v after a change of 7 over 1", c.l)
	}
}

// The geometric growth at the beginning of a swing raises l before the curvature reaches it. A
// single jump, a growth far below l, and methods without the alert do not raise l.
func TestCurvatureRaisedWhereASwingBegins(t *testing.T) {
	const k = 1000 // l falls by 0.5 % in an iteration
	for name, test := range map[string]struct {
		seen   []float64
		alert  bool
		raised bool
	}{
		"growth":        {[]float64{0.02, 0.03, 0.04, 0.06}, true, true},
		"not concerned": {[]float64{0.02, 0.03, 0.04, 0.06}, false, false},
		"slow growth":   {[]float64{0.05, 0.06, 0.07, 0.08}, true, false},
		"a jump":        {[]float64{0.02, 0.02, 0.02, 0.9}, true, false},
		"far below":     {[]float64{0.005, 0.01, 0.015, 0.02}, true, false},
		"two steps":     {[]float64{0.1, 0.1, 0.2, 0.3}, true, false},
		"interrupted":   {[]float64{0.1, 0.2, 0.2, 0.3, 0.4}, true, false},
	} {
		c := newCurvature(newEdge())
		c.l, c.peak, c.seen, c.distance, c.alert = 1, 3, 1, 1, test.alert
		for _, seen := range test.seen {
			c.measure(k, seen, 1)
		}
		want := math.Pow(curvatureDecay, float64(len(test.seen)))
		if test.raised {
			want *= 2
		}
		if math.Abs(c.l-want) > 1e-12 {
			t.Errorf("%s: l = %v, want %v", name, c.l, want)
		}
	}
	c := newCurvature(newEdge())
	c.l, c.peak, c.seen, c.distance, c.alert = 1, 1.2, 0, 1, true
	for _, seen := range []float64{0.05, 0.1, 0.2} {
		c.measure(k, seen, 1)
	}
	if most := 1.2 * math.Pow(1-peakDecay/(k+40), 3); math.Abs(c.l-most) > 1e-12 {
		t.Errorf("l = %v, want the largest curvature seen, %v", c.l, most)
	}
}
