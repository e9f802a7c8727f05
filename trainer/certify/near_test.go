package certify_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/internal/testproblems"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// evaluated returns a point with f and g at the iterate of p.
func evaluated(t testing.TB, p problem.Problem) *problem.Point {
	t.Helper()
	_, m := p.Dims()
	at := &problem.Point{Constraints: make([]float64, m)}
	var err error
	if at.Objective, err = p.Forward(at.Constraints); err != nil {
		t.Fatal(err)
	}
	return at
}

// The problem is min (y-3)^2/2 s.t. y <= 1 with rho^ = 1. From x, the proximal point y^ minimises
// (y-3)^2/2 + (y-x)^2/2 s.t. y - 1 + (y-x)^2/2 <= 0. For x <= 3/2 the largest feasible point is y =
// x - 1 + sqrt(3 - 2x).
func TestNearStationarityByHand(t *testing.T) {
	for _, test := range []struct {
		x, want float64
		reason  string
	}{
		{0, math.Sqrt(3) - 1, ""},
		{-5, math.Sqrt(13) - 1, ""},
		{1, 0, ""},                        // the solution of the problem itself
		{1.4, 1 - math.Sqrt(0.2), ""},     // x is infeasible, the proximal problem is feasible
		{2, 0, "maximum is at least 0."},  // the minimum of y - 1 + (y-2)^2/2 is 1/2
		{11, 0, "maximum is at least 9."}, // 9.5
	} {
		for form, make := range map[string]func(testing.TB, problem.Functions, []float64) problem.Problem{
			"float64": testkit.New, "float32": testkit.NewNarrow} {
			p := make(t, testkit.Line(), []float64{test.x})
			at := evaluated(t, p)
			n := require.Value(certify.MeasureNear(t.Context(), p, at, certify.NearSettings{RhoHat: 1, Modulus: 0.25}))(t)
			if test.reason != "" {
				if !math.IsNaN(n.Distance) || !strings.Contains(n.Reason, test.reason) {
					t.Errorf("%s, x = %v: distance %v, reason %q, want %q", form, test.x, n.Distance, n.Reason, test.reason)
				}
				continue
			}
			if d := math.Abs(n.Distance - test.want); n.Reason != "" || d > n.Error+p.Space().Roundoff() || d > 1e-4 || form == "float64" && d > 1e-6 {
				t.Errorf("%s, x = %v: distance %v with error %v, reason %q, want %v", form, test.x, n.Distance, n.Error, n.Reason, test.want)
			}
		}
	}
}

// The constraint is |h| <= eps for h = x_1 + x_2, in a ball. From x = (2, 2) with f = 0, the
// proximal point is the nearest point with h + ||y - x||^2 <= eps.
func TestNearStationarityOfKinksInABall(t *testing.T) {
	fn := problem.Functions{N: 2, M: 1, Pieces: problem.Abs(5), Regularizer: problem.Regularizer{Kind: problem.Ball, Radius: 1},
		F: func([]float64) float64 { return 0 }, Gradient: func(dst, _ []float64) { clear(dst) },
		G:         func(dst, x []float64) { dst[0] = x[0] + x[1] },
		JacobianT: func(dst, _, w []float64) { dst[0], dst[1] = w[0], w[0] }}
	p := testkit.Start(t, fn, 2, 2)
	n := require.Value(certify.MeasureNear(t.Context(), p, evaluated(t, p), certify.NearSettings{RhoHat: 0.4}))(t)
	if want := 2*math.Sqrt2 - 1; n.Reason != "" || math.Abs(n.Distance-want) > 1e-6 {
		t.Errorf("distance %v, reason %q, want %v to the ball", n.Distance, n.Reason, want)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	n = require.Value(certify.MeasureNear(cancelled, p, evaluated(t, p), certify.NearSettings{RhoHat: 0.4}))(t)
	if !strings.Contains(n.Reason, "not solved") || n.Iterations != 0 {
		t.Errorf("cancelled: %+v", n)
	}
}

// A KKT point is its own proximal point. Every problem of the library has a published KKT point.
func TestNearStationarityAtKKTPoints(t *testing.T) {
	solved := 0
	for _, tp := range testproblems.All() {
		if tp.BadlyScaled || !tp.MFCQ {
			continue
		}
		p := testkit.ProblemOf(t, tp)
		p.Space().Write(problem.Iterate, tp.Optimum)
		n := require.Value(certify.MeasureNear(t.Context(), p, evaluated(t, p), certify.NearSettings{}))(t)
		if n.Reason == "" && n.Distance > math.Min(n.Error+1e-7, 1e-3) {
			t.Errorf("%s: distance %v with error %v", tp.Name, n.Distance, n.Error)
		}
		if n.Reason == "" {
			solved++
		} else {
			t.Logf("%s: %s", tp.Name, n.Reason)
		}
	}
	if solved < 50 {
		t.Errorf("%d problems solved, want at least 50", solved)
	}
}

// counting is a space that counts the vectors in use.
type counting struct {
	problem.Problem
	space problem.Space
	used  *countedVectors
}

type countedVectors struct {
	problem.Vectors
	count int
}

func newCounting(p problem.Problem) *counting {
	used := &countedVectors{Vectors: p.Space().Vectors}
	return &counting{p, problem.Space{Vectors: used, Regularizer: p.Space().Regularizer}, used}
}

func (c *counting) Space() *problem.Space { return &c.space }

func (c *countedVectors) New() problem.Vector { c.count++; return c.Vectors.New() }

func (c *countedVectors) Free(v problem.Vector) { c.count--; c.Vectors.Free(v) }

// The measurement does not change the iterate, the forward pass, the number of gradients and the
// number of vectors in use.
func TestNearStationarityLeavesNoTrace(t *testing.T) {
	for _, x := range []float64{0, 2} { // solved, infeasible
		p := newCounting(testkit.Start(t, testkit.Line(), x))
		at := evaluated(t, p)
		before := *at
		require.Value(certify.MeasureNear(t.Context(), p, at, certify.NearSettings{}))(t)
		if p.used.count != 0 {
			t.Errorf("%d vectors not given back", p.used.count)
		}
		d := p.Space().New()
		require.NoError(t, p.Backward([]float64{1, 0}, d))
		if got := p.Space().Dot(d, d); testkit.Iterate(p)[0] != x || got != (x-3)*(x-3) || at.Objective != before.Objective ||
			at.GradientEvaluations != 0 || at.Constraints[0] != x-1 {
			t.Errorf("left at %v with ||grad f||^2 = %v, f = %v, g = %v, %d gradients",
				testkit.Iterate(p), got, at.Objective, at.Constraints, at.GradientEvaluations)
		}
	}
}

func TestNearStationaritySettingsAreRefused(t *testing.T) {
	p := testkit.Start(t, testkit.Line(), 0)
	for name, s := range map[string]certify.NearSettings{
		"rho": {RhoHat: -1}, "modulus": {RhoHat: 1, Modulus: 1}, "tolerance": {Tolerance: math.NaN()}, "iterations": {Iterations: -1}} {
		_, err := certify.MeasureNear(t.Context(), p, evaluated(t, p), s)
		if !errors.Is(err, problem.ErrSettings) {
			t.Errorf("%s: error %v, want ErrSettings", name, err)
		}
		testkit.Refused(t, p, &method.GDA{}, trainer.Settings{Near: s})
	}
}

// restless returns a method whose steps never come to rest.
func restless() trainer.Method { return &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}} }

func TestNearStationarityInRecords(t *testing.T) {
	settings := func(iterations int, l *testkit.Journal) trainer.Settings {
		return trainer.Settings{Iterations: iterations, RecordEvery: 5, NearEvery: 2, Recorder: l}
	}
	l := &testkit.Journal{}
	whole := require.Value(trainer.Train(context.Background(), testkit.Start(t, testkit.Line(), 0), restless(), settings(35, l)))(t)
	for _, r := range l.Records {
		if due := r.Iteration%10 == 0 || r.Iteration == 35; due != (r.NearStationarity != nil) {
			t.Errorf("iteration %d: near stationarity %v", r.Iteration, r.NearStationarity)
		}
	}
	first, last := l.Records[0].NearStationarity, l.Records[len(l.Records)-1].NearStationarity
	if first.RhoHat != last.RhoHat || !(last.Distance < first.Distance/4) {
		t.Errorf("from %+v to %+v", first, last)
	}
	plain := &testkit.Journal{}
	without := require.Value(trainer.Train(context.Background(), testkit.Start(t, testkit.Line(), 0), restless(),
		trainer.Settings{Iterations: 35, RecordEvery: 5, Recorder: plain}))(t)
	if without.Objective != whole.Objective || plain.Records[7].GradientEvaluations != l.Records[7].GradientEvaluations {
		t.Error("the measurement changed the run")
	}
	// A resumed run measures with the same rho^.
	half := require.Value(trainer.Train(context.Background(), testkit.Start(t, testkit.Line(), 0), restless(), settings(20, &testkit.Journal{})))(t)
	rest := &testkit.Journal{}
	set := settings(35, rest)
	set.Resume, set.ResumeAt = half.State, half.Point
	require.Value(trainer.Train(context.Background(), testkit.Start(t, testkit.Line(), 0), restless(), set))(t)
	if got := rest.Records[len(rest.Records)-1].NearStationarity; got.Distance != last.Distance || got.RhoHat != last.RhoHat {
		t.Errorf("resumed %+v, whole %+v", got, last)
	}
}
