package certify_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer/certify"
	"ppal/trainer/problem"
)

// better returns Better's certificate of the iterate x, and the number of gradients of constraints
// that it used.
func better(t *testing.T, fn problem.Functions, x, nu, other []float64) (c certify.Certificate, gradients int) {
	t.Helper()
	jacobian := fn.JacobianT
	fn.JacobianT = func(dst, x, w []float64) {
		gradients++
		jacobian(dst, x, w)
	}
	p := testkit.New(t, fn, x)
	at := problem.NewPoint(p)
	require.NoError(t, at.Forward(p))
	c = require.Value(certify.Better(p, &at, nu, other, certify.Settings{}))(t)
	return c, gradients
}

// Better keeps the multiplier with the smaller epsilon. At x = 0.9 of min (x - 3)^2/2 s.t. x <= 1,
// a multiplier of nu has the stationarity |nu - 2.1| and the complementarity nu/10.
func TestBetter(t *testing.T) {
	x := []float64{0.9}
	c, _ := better(t, testkit.Line(), x, []float64{20}, nil)
	if want := 2.1 / (1 + 0.01); math.Abs(c.Nu[0]-want) > 1e-12 || c.Own == nil || math.Abs(c.Own.Epsilon-17.9) > 1e-12 ||
		c.Own.Stationarity != c.Own.Epsilon || math.Abs(c.Own.Complementarity-2) > 1e-12 || !slices.Equal(c.MethodNu(), []float64{20}) {
		t.Errorf("a multiplier that is too large: %+v, own %+v, want nu = %v", c, c.Own, want)
	}
	if c, _ := better(t, testkit.Line(), x, []float64{20}, []float64{3}); c.Nu[0] != 3 || c.Own == nil {
		t.Errorf("the other multiplier is 3: %+v", c)
	}
	for _, other := range [][]float64{{20}, {1.95}} {
		if c, _ := better(t, testkit.Line(), x, []float64{1.95}, other); c.Own != nil || c.Nu[0] != 1.95 || !slices.Equal(c.MethodNu(), c.Nu) {
			t.Errorf("the method's own multiplier is not worse than %v: %+v", other, c)
		}
	}
	if c, _ := better(t, testkit.Line(), x, nil, nil); c.Own != nil {
		t.Errorf("no own multiplier: %+v", c)
	}
	// At x = 2 the infeasibility is 1 and nu = 1 has no other residual above 1.
	if c, n := better(t, testkit.Line(), []float64{2}, []float64{1}, nil); c.Own != nil || c.Epsilon != 1 || n != 1 {
		t.Errorf("the infeasibility is the largest residual: %+v after %d gradients, want 1", c, n)
	}
}

// Together changes no certificate, and takes one call for all gradients.
func TestBetterTogether(t *testing.T) {
	for _, nu := range [][]float64{{20}, {1.95}} {
		var found [2]certify.Certificate
		for i, together := range []bool{false, true} {
			p := &joint{Problem: testkit.New(t, testkit.Line(), []float64{0.9})}
			at := problem.NewPoint(p)
			require.NoError(t, at.Forward(p))
			var err error
			if found[i], err = certify.Better(p, &at, nu, nil, certify.Settings{Together: together}); err != nil {
				t.Fatal(err)
			}
			if together && (p.passes != 0 || p.several != 1) {
				t.Errorf("%d single passes, %d common ones", p.passes, p.several)
			}
		}
		if diff := cmp.Diff(found[0], found[1], cmpopts.EquateApprox(1e-12, 1e-14)); diff != "" {
			t.Errorf("own multiplier %v: %s", nu, diff)
		}
	}
}

// joint counts the passes of a problem that computes several gradients in one pass.
type joint struct {
	problem.Problem
	passes, several int
}

func (j *joint) Backward(coefficients []float64, d problem.Vector) error {
	j.passes++
	return j.Problem.Backward(coefficients, d)
}

func (j *joint) BackwardSeveral(coefficients [][]float64, d []problem.Vector) error {
	j.several++
	for i, c := range coefficients {
		if err := j.Problem.Backward(c, d[i]); err != nil {
			return err
		}
	}
	return nil
}

// Better computes the gradients of two given multipliers in one pass, also through the map of an
// affine problem, and its certificates are those of Measure.
func TestBetterTakesOnePass(t *testing.T) {
	j := &joint{Problem: testkit.New(t, testkit.Line(), []float64{0.9})}
	m := require.Value(problem.NewAffineMap(1, []problem.AffineRow{{Coefficients: []float64{2}}}))(t)
	p := require.Value(problem.NewAffine(j, m))(t)
	at := problem.NewPoint(p)
	require.NoError(t, at.Forward(p))
	for _, tc := range [][2][]float64{{{20}, {1}}, {{1}, {20}}} {
		own := require.Value(certify.Measure(p, &at, tc[0], certify.Settings{}))(t)
		other := require.Value(certify.Measure(p, &at, tc[1], certify.Settings{}))(t)
		j.passes, j.several = 0, 0
		c := require.Value(certify.Better(p, &at, tc[0], tc[1], certify.Settings{}))(t)
		if j.passes != 0 || j.several != 1 {
			t.Errorf("%d passes with one gradient and %d with several, want 1 with several", j.passes, j.several)
		}
		if c.Epsilon != min(own.Epsilon, other.Epsilon) {
			t.Errorf("epsilon %v, want the smaller of %v and %v", c.Epsilon, own.Epsilon, other.Epsilon)
		}
		if (c.Own != nil) != (other.Epsilon < own.Epsilon) || c.Own != nil && c.Own.Stationarity != own.Stationarity {
			t.Errorf("the own multiplier is %+v, Measure gives %+v", c.Own, own)
		}
	}
}
