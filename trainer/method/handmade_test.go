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

func absSum(w [2]float64) float64 { return math.Abs(w[0]) + math.Abs(w[1]) }

// handStep is the x-step of one kind of primal step by hand, without a proximal map.
type handStep struct {
	kind       step.Kind
	eta        float64 // the fixed step, or the cap; 0: no cap
	fixed      bool
	momentum   float64
	c          float64             // curvature of the probe
	schedule   func(k int) float64 // nil: eta
	k          int
	swings     bool // the multipliers follow the constraints: l rises where a swing begins
	l          float64
	seen       []float64 // c_0, c_1, ...
	peak       float64
	v, last, m [2]float64 // v, d_{k-1}, Adam's first moment
	second     [2]float64
	lastX      [2]float64
}

// start takes the curvature of the probe.
func (s *handStep) start(c float64) { s.l, s.peak, s.seen = c, c, []float64{c} }

// observe takes the curvature c_k.
func (s *handStep) observe(c float64) {
	s.l *= math.Min(0.995, 1-4/(float64(s.k)+40))
	s.peak = math.Max(s.peak*(1-0.3/(float64(s.k)+40)), c)
	s.seen = append(s.seen, c)
	growths := 0 // number of consecutive growths at the end
	for i := len(s.seen) - 1; i > 0 && s.seen[i] > 1.25*s.seen[i-1]; i-- {
		growths++
	}
	if s.swings && s.kind == step.Nesterov && c > 0.035*s.l && growths >= 3 {
		s.l = math.Max(s.l, math.Min(2*s.l, s.peak))
		s.seen = []float64{c} // the next growth is measured from here
	}
	s.l = math.Max(s.l, c)
}

func (s *handStep) move(x, w [2]float64) [2]float64 {
	d := handDirection(x, w)
	eta := s.eta
	if s.schedule != nil {
		eta = s.schedule(s.k)
	}
	defer func() { s.k++ }()
	if s.kind == step.Adam {
		t := float64(s.k + 1)
		for i := range x {
			s.m[i] = 0.9*s.m[i] + 0.1*d[i]
			s.second[i] = 0.999*s.second[i] + 0.001*d[i]*d[i]
			x[i] -= eta * (s.m[i] / (1 - math.Pow(0.9, t))) / (math.Sqrt(s.second[i]/(1-math.Pow(0.999, t))) + 1e-8)
		}
		return x
	}
	e := eta
	if !s.fixed {
		n := 1 + absSum(w)
		if s.k == 0 {
			t := 1e-3 * (1 + norm2(x)) / norm2(d)
			probe := [2]float64{x[0] - t*d[0], x[1] - t*d[1]}
			dg := minus(testkit.HandH(probe), testkit.HandH(x))
			moved := [2]float64{w[0] + s.c*dg[0], w[1] + s.c*dg[1]}
			s.start(norm2(minus(handDirection(probe, moved), d)) / (norm2(minus(probe, x)) * n))
		} else {
			s.observe(norm2(minus(d, s.last)) / (norm2(minus(x, s.lastX)) * n))
		}
		e = 0.8 / s.l
		if eta > 0 {
			e = math.Min(e, eta)
		}
		e /= n
	}
	b := 0.0
	if s.kind == step.Nesterov {
		b = math.Min(s.momentum, 1-10/(float64(s.k)+20))
	}
	s.last, s.lastX = d, x
	for i := range x {
		s.v[i] = b*s.v[i] + d[i]
		x[i] -= e * (d[i] + b*s.v[i])
	}
	return x
}

// handKinds are the primal steps that every test by hand runs with.
func handKinds() map[string]struct {
	set  step.Settings
	hand handStep
} {
	type kind = struct {
		set  step.Settings
		hand handStep
	}
	return map[string]kind{
		"nesterov":        {step.Settings{Kind: step.Nesterov}, handStep{kind: step.Nesterov, momentum: 0.99}},
		"nesterov capped": {step.Settings{Kind: step.Nesterov, Eta: 1e-3, Momentum: 0.51}, handStep{kind: step.Nesterov, eta: 1e-3, momentum: 0.51}},
		"nesterov fixed":  {step.Settings{Kind: step.Nesterov, Eta: 0.02, Fixed: true}, handStep{kind: step.Nesterov, eta: 0.02, fixed: true, momentum: 0.99}},
		"gradient": {step.Settings{Kind: step.Gradient, Eta: 0.02, Fixed: true},
			handStep{kind: step.Gradient, eta: 0.02, fixed: true}},
		"gradient rule": {step.Settings{Kind: step.Gradient}, handStep{kind: step.Gradient}},
		"adam":          {step.Settings{Kind: step.Adam, Eta: 0.1}, handStep{kind: step.Adam, eta: 0.1}},
		"adam default":  {step.Settings{Kind: step.Adam}, handStep{kind: step.Adam, eta: 3e-3}},
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

const handSteps = 4
