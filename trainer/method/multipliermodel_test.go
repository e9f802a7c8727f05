package method

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"ppal/internal/option"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/problem"
)

// twoGroups is f = (x-1)^2/2 subject to x <= 0 for group 0 and x <= 0.5 for group 1. It draws the
// groups in turn. The first constraint is active.
type twoGroups struct {
	problem.Problem
	k int
}

func newTwoGroups(t *testing.T) *twoGroups {
	t.Helper()
	g := &twoGroups{}
	f := problem.Functions{N: 1, M: 1,
		F:         func(x []float64) float64 { return (x[0] - 1) * (x[0] - 1) / 2 },
		Gradient:  func(d, x []float64) { d[0] = x[0] - 1 },
		G:         func(v, x []float64) { v[0] = x[0] - 0.5*float64(g.k%2) },
		JacobianT: func(d, _, w []float64) { d[0] = w[0] },
	}
	var err error
	if g.Problem, err = f.New([]float64{0.3}); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *twoGroups) Sample(k int) error       { g.k = k; return nil }
func (g *twoGroups) GroupFeatures() []float64 { return []float64{float64(g.k % 2), 1 - float64(g.k%2)} }
func (g *twoGroups) DecisionViolations() ([]float64, error) {
	x := []float64{0}
	g.Space().Read(x, problem.Iterate)
	return []float64{x[0] - 0.5*float64(g.k%2)}, nil
}

// The first two steps equal the formulas, evaluated by hand.
func TestMultiplierModelStepsByHand(t *testing.T) {
	p := newTwoGroups(t)
	m := &MultiplierModel{Step: 0.2, NetworkStep: 0.3, Units: 3, Seed: 7, Activation: MultiplierTanh, Factor: 2}
	at := problem.NewPoint(p)
	require.NoError(t, at.SampleAndForward(p, 0))
	require.NoError(t, m.Init(p, &at))
	net := newMultiplierNetwork(2, 3, 1, rand.New(rand.NewPCG(7, multiplierStream)))
	net.tanh = true
	x, squares := 0.3, 0.0
	for k := range 2 {
		z := []float64{float64(k % 2), 1 - float64(k%2)}
		violation := x - 0.5*float64(k%2)
		lambda := multipliersOf(net, z)[0]
		d := x - 1 + lambda
		squares += d * d
		x -= 0.2 * d / math.Sqrt(squares)
		net.descend(z, []float64{-2 * violation}, 0.3)
		require.NoError(t, m.Iterate(p, &at))
		at.Iteration++
		got := []float64{0}
		p.Space().Read(got, problem.Iterate)
		if math.Abs(got[0]-x) > 1e-9 || math.Abs(m.Report().Multipliers[0]-lambda) > 1e-15 {
			t.Errorf("step %d: x %v, multiplier %v, want %v, %v", k, got[0], m.Report().Multipliers[0], x, lambda)
		}
	}
}

// multipliersOf returns lambda(z).
func multipliersOf(net *multiplierNetwork, z []float64) []float64 {
	lambda := make([]float64, net.outputs)
	net.lambda(lambda, z)
	return lambda
}

// The gradient of the multiplier network equals finite differences. Its step follows the negative
// gradient.
func TestMultiplierNetworkGradient(t *testing.T) {
	z, slopes := []float64{0.2, -0.7, 0.5}, []float64{1, -0.4}
	for _, tanh := range []bool{false, true} {
		net := newMultiplierNetwork(3, 4, 2, rand.New(rand.NewPCG(1, 2)))
		net.tanh = tanh
		net.x[len(net.x)-1] = -3 // both signs inside the absolute values
		before := append([]float64{}, net.x...)
		loss := func() float64 {
			l := multipliersOf(net, z)
			return slopes[0]*l[0] + slopes[1]*l[1]
		}
		loss()
		net.descend(z, slopes, 0)
		for i := range before {
			const h = 1e-6
			net.x[i] = before[i] + h
			up := loss()
			net.x[i] = before[i] - h
			down := loss()
			net.x[i] = before[i]
			if want := (up - down) / (2 * h); math.Abs(net.gradient[i]-want) > 1e-8 {
				t.Errorf("tanh %v, parameter %d: %v, by differences %v", tanh, i, net.gradient[i], want)
			}
		}
	}
}

// The method comes near the solution x = 0, where the first group's constraint is active. A resumed
// run equals the uninterrupted run.
func TestMultiplierModelConvergesAndResumes(t *testing.T) {
	run := func(iterations int, from *trainer.Result) (*trainer.Result, float64) {
		p := newTwoGroups(t)
		s := trainer.Settings{Iterations: iterations}
		if from != nil {
			s.Resume, s.ResumeAt = from.State, from.Point
		}
		r := require.Value(trainer.Train(context.Background(), p, &MultiplierModel{Seed: 3}, s))(t)
		x := []float64{0}
		p.Space().Read(x, problem.Iterate)
		return r, x[0]
	}
	_, whole := run(4000, nil)
	half, _ := run(1500, nil)
	if _, resumed := run(4000, half); resumed != whole {
		t.Errorf("resumed %v, uninterrupted %v", resumed, whole)
	}
	if math.Abs(whole) > 0.1 {
		t.Errorf("after 4,000 steps x = %v, want about 0", whole)
	}
}

// The zero value of the method trains with the defaults of its options.
func TestMultiplierModelZeroValueHasTheDefaults(t *testing.T) {
	train := func(m *MultiplierModel) float64 {
		p := newTwoGroups(t)
		require.Value(trainer.Train(context.Background(), p, m, trainer.Settings{Iterations: 20}))(t)
		x := []float64{0}
		p.Space().Read(x, problem.Iterate)
		return x[0]
	}
	defaults := &MultiplierModel{}
	require.NoError(t, option.SetDefaults(option.Of(defaults), func(string) string { return "" }))
	if defaults.Step == 0 || defaults.NetworkStep == 0 || defaults.Units == 0 || defaults.Factor == 0 {
		t.Errorf("the options leave settings at zero: %+v", defaults)
	}
	if zero, full := train(&MultiplierModel{}), train(defaults); zero != full {
		t.Errorf("x = %v with the zero value, %v with the options' defaults", zero, full)
	}
}

func TestMultiplierModelRefuses(t *testing.T) {
	at := problem.Point{Constraints: make([]float64, 1)}
	for name, m := range map[string]*MultiplierModel{
		"step": {Step: -1}, "network": {NetworkStep: math.NaN()}, "units": {Units: -1}, "factor": {Factor: -1}, "activation": {Activation: "sigmoid"},
	} {
		if err := m.Init(newTwoGroups(t), &at); !errors.Is(err, problem.ErrSettings) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (&MultiplierModel{}).Needs().Check(newTwoGroups(t).Problem); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("a problem without drawn groups: %v", err)
	}
}
