package method_test

import (
	"context"
	"math"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
)

// handWorst returns the larger of the two constraints and its index.
func handWorst(x [2]float64) (float64, int) {
	h := testkit.HandH(x)
	if h[1] > h[0] {
		return h[1], 1
	}
	return h[0], 0
}

func TestSSGStepsByHand(t *testing.T) {
	const tol, steps = 0.1, 12
	for _, test := range []struct {
		name   string
		m      method.SSG
		onF    func(count float64) float64
		onG    func(count, g, size2 float64) float64
		repair int // least number of steps on g for the test to be meaningful
	}{
		{"polyak", method.SSG{Step: 0.2}, func(n float64) float64 { return 0.2 / math.Sqrt(n) },
			func(_, g, size2 float64) float64 { return g / size2 }, 2},
		{"constant", method.SSG{Step: 0.2, StepRule: method.StepConstant, ViolationRule: method.StepConstant, ViolationStep: 0.15},
			func(float64) float64 { return 0.2 }, func(_, _, _ float64) float64 { return 0.15 }, 4},
		{"decay", method.SSG{Step: 0.2, StepRule: method.StepDecay, ViolationRule: method.StepDecay, ViolationStep: 0.3},
			func(n float64) float64 { return 0.2 / math.Sqrt(n) }, func(n, _, _ float64) float64 { return 0.3 / math.Sqrt(n) }, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, onF, onG := test.m, 0.0, 0.0
			m.Tolerance = tol
			compare(t, handProblem(t, testkit.HandFunctions()), &m, steps, func(x [2]float64) ([2]float64, []float64) {
				g, j := handWorst(x)
				d, step := testkit.HandGradient(x), 0.0
				if g <= tol {
					onF++
					step = test.onF(onF)
				} else {
					onG++
					d = testkit.HandRows(x)[j]
					step = test.onG(onG, g, d[0]*d[0]+d[1]*d[1])
				}
				return [2]float64{x[0] - step*d[0], x[1] - step*d[1]}, nil
			})
			if int(onG) < test.repair || int(onF) < 2 {
				t.Errorf("%v steps on g and %v on f", onG, onF)
			}
		})
	}
}

// The default step starts at 2/L: f = 2 x^2 + x y + y^2 has L = 3 + sqrt 2.
func TestSSGMeasuresItsStep(t *testing.T) {
	fn := problem.Functions{N: 2,
		F:        func(x []float64) float64 { return 2*x[0]*x[0] + x[0]*x[1] + x[1]*x[1] },
		Gradient: func(dst, x []float64) { dst[0], dst[1] = 4*x[0]+x[1], x[0]+2*x[1] }}
	m, l := &method.SSG{}, 3+math.Sqrt2
	r := require.Value(trainer.Train(context.Background(), testkit.Start(t, fn, 1, 1), m, trainer.Settings{Iterations: 4}))(t)
	if got, want := m.Report().StepSize, 2/l/2; math.Abs(got-want) > 1e-7*want {
		t.Errorf("the fourth step is %v, want %v", got, want)
	}
	// One gradient for the step along the negative gradient; at both points, one gradient plus one for
	// each of the 2 directions.
	if r.Point.GradientEvaluations != 4+1+2*3 {
		t.Errorf("%d gradients, want 4 and 7 of the measurement", r.Point.GradientEvaluations)
	}
}

// If the gradient of g is zero at a point with g > tol, x does not change and no division by zero
// occurs.
func TestSSGAtAStationaryViolation(t *testing.T) {
	fn := testkit.Line()
	fn.G = func(dst, _ []float64) { dst[0] = 1 }
	fn.JacobianT = func(dst, _, _ []float64) { dst[0] = 0 }
	p := testkit.Start(t, fn, 0.5)
	require.Value(trainer.Train(context.Background(), p, &method.SSG{}, trainer.Settings{Iterations: 3}))(t)
	if x := testkit.Iterate(p)[0]; x != 0.5 {
		t.Errorf("x = %v, want 0.5", x)
	}
}

// A step on g projects on the domain of r. It does not shrink x by r, because r is not a part of g.
func TestSSGRepairsWithoutTheRegularizer(t *testing.T) {
	fn := testkit.Line()
	fn.Regularizer = problem.Regularizer{Kind: problem.L1, Weight: 10}
	p := testkit.Start(t, fn, 4)
	require.Value(trainer.Train(context.Background(), p, &method.SSG{Step: 0.1}, trainer.Settings{Iterations: 1}))(t)
	if x := testkit.Iterate(p)[0]; math.Abs(x-1) > 1e-15 {
		t.Errorf("x = %v after the Polyak step, want 1", x)
	}
}

// With OutputRandom the output is one of the iterates that count, with a probability proportional
// to its step.
func TestSSGRandomOutput(t *testing.T) {
	const iterations, draws = 12, 2000
	weights := map[int]float64{}
	run := func(seed uint64, recorder trainer.Recorder) *trainer.Result {
		m := &method.SSG{Step: 0.8}
		if l, ok := recorder.(*testkit.Journal); ok {
			l.After = func(r *trainer.Record) error {
				weights[r.Iteration] = m.OutputWeight(&problem.Point{Constraints: r.Constraints})
				return nil
			}
		}
		r := require.Value(trainer.Train(context.Background(), testkit.Start(t, testkit.Line(), 0), m, trainer.Settings{
			Iterations: iterations, RecordEvery: 1, Output: trainer.OutputRandom, Seed: seed, Recorder: recorder}))(t)
		return r
	}
	run(0, &testkit.Journal{})
	total, positive := 0.0, 0
	for k, w := range weights {
		if k > 0 {
			total += w
		}
		if w > 0 {
			positive++
		}
	}
	if positive < 4 || positive > iterations-2 {
		t.Fatalf("weights %v: the test needs some of both", weights)
	}
	counts := map[int]float64{}
	for seed := range uint64(draws) {
		r := run(seed, nil)
		if weights[r.Output] == 0 {
			t.Fatalf("seed %d drew the iterate %d, which does not count", seed, r.Output)
		}
		counts[r.Output]++
	}
	chi := 0.0
	for k, w := range weights {
		if expected := draws * w / total; k > 0 && w > 0 {
			chi += (counts[k] - expected) * (counts[k] - expected) / expected
		}
	}
	if limit := 40.0; chi > limit { // at most 11 degrees of freedom: larger than 37 with probability 1e-4
		t.Errorf("drawn %v for the weights %v: chi squared %.1f", counts, weights, chi)
	}
}

func TestSSGRandomOutputWithoutAny(t *testing.T) {
	fn := testkit.Line()
	fn.G = func(dst, _ []float64) { dst[0] = 1 }
	r := require.Value(trainer.Train(context.Background(), testkit.Start(t, fn, 0), &method.SSG{}, trainer.Settings{Iterations: 5, Output: trainer.OutputRandom}))(t)
	if r.Output != 5 || !testkit.Mentions(r.Warnings.Texts(), "no iterate had a weight in the draw") {
		t.Errorf("output %d, warnings %q", r.Output, r.Warnings)
	}
}
