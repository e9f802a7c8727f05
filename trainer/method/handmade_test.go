package method_test

import (
	"math"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// handDirection returns grad f + H^T w.
func handDirection(x, w [2]float64) [2]float64 {
	d, rows := testkit.HandGradient(x), testkit.HandRows(x)
	for j := range w {
		d[0] += w[j] * rows[j][0]
		d[1] += w[j] * rows[j][1]
	}
	return d
}

var handStart = [2]float64{1.5, 0.75}

func norm2(x [2]float64) float64 { return math.Hypot(x[0], x[1]) }

func minus(x, y [2]float64) [2]float64 { return [2]float64{x[0] - y[0], x[1] - y[1]} }

// handStep is the x-step of a method by hand: a step of package step, whose tests compare the steps
// with their formulas, on a problem of its own.
type handStep struct {
	p    problem.Problem
	at   problem.Point
	step step.Step
	k    int // number of moves
}

// newHandStep returns the step that newStep makes for the problem.
func newHandStep(t *testing.T, fn problem.Functions, newStep func(p problem.Problem) (step.Step, error)) *handStep {
	t.Helper()
	p := handProblem(t, fn)
	return &handStep{p: p, at: problem.NewPoint(p), step: require.Value(newStep(p))(t)}
}

// ofKind makes the first-order step of the settings.
func ofKind(set step.Settings) func(p problem.Problem) (step.Step, error) {
	return func(p problem.Problem) (step.Step, error) { return step.New(set, p) }
}

// move moves along grad f + J^T w with the demand.
func (s *handStep) move(t *testing.T, w [2]float64, d step.Demand) [2]float64 {
	t.Helper()
	require.NoError(t, s.at.Forward(s.p))
	require.NoError(t, s.step.Move(s.p, &s.at, step.Direction{Coefficients: []float64{1, w[0], w[1]}, Demand: d}))
	s.k++
	return [2]float64(testkit.Iterate(s.p))
}

// handKinds are the primal steps that every test by hand runs with.
func handKinds() map[string]step.Settings {
	return map[string]step.Settings{
		"nesterov":        {Kind: step.Nesterov},
		"nesterov capped": {Kind: step.Nesterov, Eta: 1e-3, Momentum: 0.51},
		"nesterov fixed":  {Kind: step.Nesterov, Eta: 0.02, Fixed: true},
		"gradient":        {Kind: step.Gradient, Eta: 0.02, Fixed: true},
		"gradient rule":   {Kind: step.Gradient},
		"adam":            {Kind: step.Adam, Eta: 0.1},
	}
}

// compare runs m and compares every step with a step by hand. next returns x_{k+1} from x_k, and
// the multipliers that Report must return there.
func compare(t *testing.T, p problem.Problem, m trainer.Method, steps int, next func(x [2]float64) ([2]float64, []float64)) {
	t.Helper()
	_, count := p.Dims()
	at := &problem.Point{Constraints: make([]float64, count)}
	var err error
	if at.Objective, err = p.Forward(at.Constraints); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, m.Init(p, at))
	x := handStart
	for k := range steps {
		require.NoError(t, m.Iterate(p, at))
		var multipliers []float64
		x, multipliers = next(x)
		got := testkit.Iterate(p)
		if testkit.Distance(got, x[:]) > 1e-13 {
			t.Fatalf("x_%d = %v, by hand %v", k+1, got, x)
		}
		if reported := m.Report().Multipliers; testkit.Distance(reported, multipliers) > 1e-12 {
			t.Fatalf("multipliers at %d: %v, by hand %v", k+1, reported, multipliers)
		}
	}
}

func handProblem(t *testing.T, fn problem.Functions) problem.Problem {
	t.Helper()
	return require.Value(fn.New(handStart[:]))(t)
}

const handSteps = 20
