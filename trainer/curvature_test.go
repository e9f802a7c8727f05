package trainer

import (
	"math"
	"testing"
)

// edge is f = x on x >= 1, undefined below, in float32, from the edge: the probe shrinks until it rounds to x_0.
type edge struct{ *HostSpace[float32] }

func (edge) Dims() (n, m int) { return 1, 0 }

func (p edge) Forward([]float64) (float64, error) {
	if x := float64(p.Slice(Iterate)[0]); x >= 1 {
		return x, nil
	}
	return math.NaN(), nil
}

func (p edge) Backward(_ []float64, d Vector) error { p.Write(d, []float64{1}); return nil }

func newEdge() edge { return edge{NewHostSpace([]float32{1}, Regularizer{})} }

// Where no probe moves x the first curvature stays unknown, not 0/0.
func TestProbeThatDoesNotMove(t *testing.T) {
	p, at := newEdge(), &Point{}
	if err := at.forward(p); err != nil {
		t.Fatal(err)
	}
	c, d := newCurvature(p), p.NewVector()
	p.Write(d, []float64{1})
	if err := c.probe(p, at, d, direction{weights: []float64{1}}, 1); err != nil {
		t.Fatal(err)
	}
	if c.l != 0 || p.Slice(Iterate)[0] != 1 {
		t.Errorf("l = %v at x = %v after a probe that did not move, want 0 at 1", c.l, p.Slice(Iterate)[0])
	}
}

// A change of the gradient that overflows is skipped: l = +Inf would be a step of 0, NaN none for good.
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
