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
	"ppal/trainer/step"
)

// towards is min ||x - c||^2/2 + r(x) subject to 1 - sum x <= 0 (loaded: active) or sum x - 100 <=
// 0 (inactive).
func towards(c []float64, r problem.Regularizer, loaded bool) problem.Functions {
	return problem.Functions{N: len(c), M: 1, Regularizer: r,
		F: func(x []float64) float64 {
			sum := 0.0
			for i, v := range x {
				sum += (v - c[i]) * (v - c[i]) / 2
			}
			return sum
		},
		Gradient: func(dst, x []float64) {
			for i, v := range x {
				dst[i] = v - c[i]
			}
		},
		G: func(dst, x []float64) {
			sum := 0.0
			for _, v := range x {
				sum += v
			}
			dst[0] = sum - 100
			if loaded {
				dst[0] = 1 - sum
			}
		},
		JacobianT: func(dst, _, w []float64) {
			for i := range dst {
				dst[i] = w[0]
				if loaded {
					dst[i] = -w[0]
				}
			}
		}}
}

// The solutions by hand: with the multiplier nu of sum x >= 1 the minimiser is prox_r(c + nu), and
// nu makes the sum 1.
func TestRegularizedProblemsWithKnownSolutions(t *testing.T) {
	c := []float64{0.5, -0.3, 0.1}
	for _, test := range []struct {
		name   string
		r      problem.Regularizer
		loaded bool
		want   []float64
	}{
		{"none", problem.Regularizer{}, false, c},
		{"none, loaded", problem.Regularizer{}, true, []float64{0.5 + 0.7/3, -0.3 + 0.7/3, 0.1 + 0.7/3}},
		{"l1", problem.Regularizer{Kind: problem.L1, Weight: 0.2}, false, []float64{0.3, -0.1, 0}},
		// The lasso's third variable stays at 0. The others, 0.5 + nu - 0.2 and 0.1 + nu - 0.2, have the
		// sum 0.2 + 2 nu = 1, therefore nu = 0.4.
		{"l1, loaded", problem.Regularizer{Kind: problem.L1, Weight: 0.2}, true, []float64{0.7, 0, 0.3}},
		{"l2", problem.Regularizer{Kind: problem.SquaredL2, Weight: 1}, false, []float64{0.25, -0.15, 0.05}},
		{"l2, loaded", problem.Regularizer{Kind: problem.SquaredL2, Weight: 1}, true,
			[]float64{(0.5 + 1.7/3) / 2, (-0.3 + 1.7/3) / 2, (0.1 + 1.7/3) / 2}},
		{"box", problem.Regularizer{Kind: problem.Box, Lower: -0.1, Upper: 0.4}, false, []float64{0.4, -0.1, 0.1}},
		{"box, loaded", problem.Regularizer{Kind: problem.Box, Lower: -0.1, Upper: 0.4}, true, []float64{0.4, 0.2, 0.4}},
		{"half-line, loaded", problem.Regularizer{Kind: problem.Box, Lower: 0, Upper: math.Inf(1)}, true, []float64{0.7, 0, 0.3}},
		{"ball", problem.Regularizer{Kind: problem.Ball, Radius: 0.1}, false,
			[]float64{0.05 / math.Sqrt(0.35), -0.03 / math.Sqrt(0.35), 0.01 / math.Sqrt(0.35)}},
		// The groups are (1) and (2, 3). The second group has c = (-0.3, 0.1) with the norm sqrt(0.1) >
		// 0.2.
		{"group-l1", problem.Regularizer{Kind: problem.GroupL1, Weight: 0.2, Groups: []int{1, 3}}, false,
			[]float64{0.3, -0.3 * (1 - 0.2/math.Sqrt(0.1)), 0.1 * (1 - 0.2/math.Sqrt(0.1))}},
		{"group-l1, a group of zeros", problem.Regularizer{Kind: problem.GroupL1, Weight: 0.4, Groups: []int{1, 3}}, false, []float64{0.1, 0, 0}},
	} {
		for method, make := range map[string]func() trainer.Method{
			"ppala":         func() trainer.Method { return &method.PPALA{} },
			"plada":         func() trainer.Method { return &method.PLADA{} },
			"alm":           func() trainer.Method { return &method.ALM{Primal: step.Settings{Momentum: 0.9}} },
			"ipp-conex":     func() trainer.Method { return &method.IPPConEx{} },
			"extragradient": func() trainer.Method { return &method.Extragradient{} },
			"nl-iapial":     func() trainer.Method { return &method.NLIAPIAL{} },
		} {
			t.Run(method+" "+test.name, func(t *testing.T) {
				p := testkit.Start(t, towards(c, test.r, test.loaded), 0.2, 0.2, -0.2)
				r := require.Value(trainer.Train(context.Background(), p, make(), trainer.Settings{Iterations: 5000, RecordEvery: 10, Tolerance: 1e-7}))(t)
				if r.Status != trainer.Converged {
					t.Fatalf("%v: %+v", r.Status, r.Certificate)
				}
				if x := testkit.Iterate(p); testkit.Distance(x, test.want) > 1e-6 {
					t.Errorf("x = %v, want %v", x, test.want)
				}
			})
		}
	}
}

// A sparse fit with a bound on |h| combines a regularizer with kinks. PLADA uses its subgradient
// step.
func TestRegularizerWithKinks(t *testing.T) {
	fn := towards([]float64{0.5, -0.3, 0.1}, problem.Regularizer{Kind: problem.L1, Weight: 0.2}, true)
	fn.Pieces = []problem.Piece{{Constraint: 0, Term: 0, Sign: 1, Offset: -0.5}, {Constraint: 0, Term: 0, Sign: -1, Offset: -0.5}}
	// The constraint is |1 - sum x| <= 1/2. nu raises the sum of the soft-thresholded c + nu from 0.2
	// to 0.5: (0.3 + nu) + (nu - 0.1) with nu = 0.15.
	p := testkit.Start(t, fn, 0.2, 0.2, -0.2)
	r := require.Value(trainer.Train(context.Background(), p, &method.PLADA{}, trainer.Settings{Iterations: 10000, RecordEvery: 10, Tolerance: 1e-7}))(t)
	if x := testkit.Iterate(p); r.Status != trainer.Converged || testkit.Distance(x, []float64{0.45, 0, 0.05}) > 1e-6 {
		t.Errorf("%v, x = %v: %+v", r.Status, x, r.Certificate)
	}
}

func TestSlackSettings(t *testing.T) {
	run := func(s method.Perturbation, x float64) (*method.PPALA, *trainer.Result) {
		m := &method.PPALA{Perturbation: s}
		largest := 0.0
		p := testkit.Start(t, testkit.Line(), x)
		r := require.Value(trainer.Train(context.Background(), p, m, trainer.Settings{Iterations: 2000, RecordEvery: 1, Tolerance: 1e-7,
			Recorder: &testkit.Journal{After: func(r *trainer.Record) error { largest = math.Max(largest, r.Slack[0]); return nil }}}))(t)
		if s.SlackCap > 0 && largest > s.SlackCap {
			t.Errorf("the slack reached %v over the cap %v", largest, s.SlackCap)
		}
		if r.Status != trainer.Converged {
			t.Errorf("%+v: %v, %+v", s, r.Status, r.Certificate)
		}
		return m, r
	}
	run(method.Perturbation{SlackCap: 0.25}, -8)
	run(method.Perturbation{ZeroSlack: true}, -8)
	for _, test := range []struct {
		s    method.Perturbation
		want float64
	}{{method.Perturbation{}, 9}, {method.Perturbation{ZeroSlack: true}, 0}, {method.Perturbation{SlackCap: 0.25}, 0.25}} {
		m := &method.PPALA{Perturbation: test.s}
		require.Value(trainer.Train(context.Background(), testkit.Start(t, testkit.Line(), -8), m, trainer.Settings{}))(t)
		if got := m.Report().Slack[0]; got != test.want {
			t.Errorf("%+v: u_0 = %v, want %v", test.s, got, test.want)
		}
	}
}
