package trainer_test

import (
	"math"
	"testing"

	"ppal/trainer"
	"ppal/trainer/problem"
)

// The steps are held against loops written here from the formulas alone, on
//
//	f(x, y) = x^2/2 + 2 y^2 + x y - x,   h_1 = x y + y - 3/10,   h_2 = x^2 - y - 1/5,
//
// with g = h, or g = |h| - 1/10 (one term or both).
func handF(x [2]float64) float64 { return x[0]*x[0]/2 + 2*x[1]*x[1] + x[0]*x[1] - x[0] }

func handGradient(x [2]float64) [2]float64 { return [2]float64{x[0] + x[1] - 1, 4*x[1] + x[0]} }

func handH(x [2]float64) [2]float64 {
	return [2]float64{x[0]*x[1] + x[1] - 0.3, x[0]*x[0] - x[1] - 0.2}
}

func handRows(x [2]float64) [2][2]float64 {
	return [2][2]float64{{x[1], x[0] + 1}, {2 * x[0], -1}}
}

// handDirection is grad f + H^T w.
func handDirection(x, w [2]float64) [2]float64 {
	d, rows := handGradient(x), handRows(x)
	for j := range w {
		d[0] += w[j] * rows[j][0]
		d[1] += w[j] * rows[j][1]
	}
	return d
}

var handStart = [2]float64{1.5, 0.75}

func handFunctions() problem.Functions {
	at := func(x []float64) [2]float64 { return [2]float64{x[0], x[1]} }
	return problem.Functions{N: 2, M: 2,
		F:        func(x []float64) float64 { return handF(at(x)) },
		Gradient: func(dst, x []float64) { d := handGradient(at(x)); copy(dst, d[:]) },
		G:        func(dst, x []float64) { h := handH(at(x)); copy(dst, h[:]) },
		JacobianT: func(dst, x, w []float64) {
			rows := handRows(at(x))
			for i := range dst {
				dst[i] = w[0]*rows[0][i] + w[1]*rows[1][i]
			}
		}}
}

func norm2(x [2]float64) float64 { return math.Hypot(x[0], x[1]) }

func minus(x, y [2]float64) [2]float64 { return [2]float64{x[0] - y[0], x[1] - y[1]} }

func absSum(w [2]float64) float64 { return math.Abs(w[0]) + math.Abs(w[1]) }

// handStep is the x-step of one of the kinds, without a proximal map.
type handStep struct {
	kind       trainer.PrimalKind
	eta        float64 // the step where fixed, else the cap, 0 for none
	fixed      bool
	momentum   float64
	c          float64             // of the probe
	schedule   func(k int) float64 // nil: eta
	k          int
	swings     bool // the multipliers follow the constraints: l is raised where a swing begins
	l          float64
	seen       []float64 // c_0, c_1, ...
	peak       float64
	v, last, m [2]float64 // v, d_{k-1}, Adam's first moment
	second     [2]float64
	lastX      [2]float64
}

// start takes the probe's curvature.
func (s *handStep) start(c float64) { s.l, s.peak, s.seen = c, c, []float64{c} }

// observe takes the curvature c_k.
func (s *handStep) observe(c float64) {
	s.l *= math.Min(0.995, 1-4/(float64(s.k)+40))
	s.peak = math.Max(s.peak*(1-0.3/(float64(s.k)+40)), c)
	s.seen = append(s.seen, c)
	growths := 0 // in a row, the last ones
	for i := len(s.seen) - 1; i > 0 && s.seen[i] > 1.25*s.seen[i-1]; i-- {
		growths++
	}
	if s.swings && s.kind == trainer.Nesterov && c > 0.035*s.l && growths >= 3 {
		s.l = math.Max(s.l, math.Min(2*s.l, s.peak))
		s.seen = []float64{c} // the growth counts from here
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
	if s.kind == trainer.Adam {
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
			dg := minus(handH(probe), handH(x))
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
	if s.kind == trainer.Nesterov {
		b = math.Min(s.momentum, 1-10/(float64(s.k)+20))
	}
	s.last, s.lastX = d, x
	for i := range x {
		s.v[i] = b*s.v[i] + d[i]
		x[i] -= e * (d[i] + b*s.v[i])
	}
	return x
}

// handKinds are the primal steps that every rule is tried with.
func handKinds() map[string]struct {
	set  trainer.PrimalSettings
	hand handStep
} {
	type kind = struct {
		set  trainer.PrimalSettings
		hand handStep
	}
	return map[string]kind{
		"nesterov":        {trainer.PrimalSettings{}, handStep{momentum: 0.99}},
		"nesterov capped": {trainer.PrimalSettings{Eta: 1e-3, Momentum: 0.51}, handStep{eta: 1e-3, momentum: 0.51}},
		"nesterov fixed":  {trainer.PrimalSettings{Eta: 0.02, Fixed: true}, handStep{eta: 0.02, fixed: true, momentum: 0.99}},
		"gradient": {trainer.PrimalSettings{Kind: trainer.Gradient, Eta: 0.02, Fixed: true},
			handStep{kind: trainer.Gradient, eta: 0.02, fixed: true}},
		"gradient rule": {trainer.PrimalSettings{Kind: trainer.Gradient}, handStep{kind: trainer.Gradient}},
		"adam":          {trainer.PrimalSettings{Kind: trainer.Adam, Eta: 0.1}, handStep{kind: trainer.Adam, eta: 0.1}},
		"adam default":  {trainer.PrimalSettings{Kind: trainer.Adam}, handStep{kind: trainer.Adam, eta: 3e-3}},
	}
}

// compare runs m by hand, step by step: next gives x_{k+1} from x_k, and the multipliers that Report tells there.
func compare(t *testing.T, p problem.Problem, m trainer.Method, steps int, next func(x [2]float64) ([2]float64, []float64)) {
	t.Helper()
	_, count := p.Dims()
	at := &problem.Point{Constraints: make([]float64, count)}
	var err error
	if at.Objective, err = p.Forward(at.Constraints); err != nil {
		t.Fatal(err)
	}
	if err := m.Init(p, at); err != nil {
		t.Fatal(err)
	}
	x := handStart
	for k := range steps {
		if err := m.Iterate(p, at); err != nil {
			t.Fatal(err)
		}
		var multipliers []float64
		x, multipliers = next(x)
		got := iterate(p)
		if distance(got, x[:]) > 1e-13 {
			t.Fatalf("x_%d = %v, by hand %v", k+1, got, x)
		}
		if reported := m.Report().Multipliers; distance(reported, multipliers) > 1e-12 {
			t.Fatalf("multipliers at %d: %v, by hand %v", k+1, reported, multipliers)
		}
	}
}

func handProblem(t *testing.T, fn problem.Functions) problem.Problem {
	t.Helper()
	p, err := fn.New(handStart[:])
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const handSteps = 4
