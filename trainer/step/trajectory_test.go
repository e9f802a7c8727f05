package step

import (
	"math"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// smoothTerms is f of threeTerms with the constraints h <= 0.
func smoothTerms(r problem.Regularizer) problem.Functions {
	fn := threeTerms(nil)
	fn.Regularizer = r
	return fn
}

// lagrangian is grad f + sum_j w_j grad h_j.
func lagrangian(x vec3, w []float64) vec3 {
	d := termGradient(x)
	for j, row := range termRows(x) {
		d = plus(d, w[j], row)
	}
	return d
}

// soft is the soft threshold of each element.
func soft(x vec3, t float64) vec3 {
	for i, v := range x {
		x[i] = math.Copysign(math.Max(0, math.Abs(v)-t), v)
	}
	return x
}

// plainStep is the state of a first-order step, computed from the formulas.
type plainStep struct {
	k                     int
	l, length             float64
	v, first, second      vec3 // the velocity and the moments
	before, start         vec3 // d_{k-1} and x_{k-1}
	momentum, eta         float64
	adam, nesterov, inner bool
	fixed                 bool
	weight, last          float64
}

// size returns e_k of the curvature rule for the direction d at x.
func (s *plainStep) size(x, d vec3, w []float64, dir Demand) float64 {
	eta := s.eta
	if dir.ScheduledStep > 0 {
		eta = dir.ScheduledStep
	}
	if s.fixed {
		return eta
	}
	n := 1 + math.Abs(w[0]) + math.Abs(w[1]) + math.Abs(w[2])
	if s.k == 0 {
		probe := plus(x, -1e-3*(1+norm3(x))/norm3(d), d)
		moved := vec3(w)
		for j, h := range termValues(probe) {
			moved[j] += dir.PenaltyCurvature * (h - termValues(x)[j])
		}
		s.l = norm3(plus(lagrangian(probe, moved[:]), -1, d)) / norm3(plus(probe, -1, x)) / n
	} else {
		c := norm3(plus(d, -1, s.before)) / norm3(plus(x, -1, s.start)) / n
		s.l = math.Max(math.Min(0.995, 1-4/(float64(s.k)+40))*s.l, c)
	}
	e := 0.8 / s.l
	if eta > 0 {
		e = math.Min(e, eta)
	}
	return e / n
}

// move returns e and x+ for the multipliers w.
func (s *plainStep) move(x vec3, w []float64, dir Demand) (e float64, next vec3) {
	d := lagrangian(x, w)
	defer func() { s.before, s.start, s.last, s.k = d, x, e, s.k+1 }()
	if s.adam {
		e = s.eta
		if dir.ScheduledStep > 0 {
			e = dir.ScheduledStep
		}
		t := float64(s.k + 1)
		for i, g := range d {
			s.first[i] = 0.9*s.first[i] + 0.1*g
			s.second[i] = 0.999*s.second[i] + 0.001*g*g
			x[i] -= e * s.first[i] / (1 - math.Pow(0.9, t)) / (math.Sqrt(s.second[i]/(1-math.Pow(0.999, t))) + 1e-8)
		}
		return e, soft(x, e*s.weight)
	}
	e = s.size(x, d, w, dir)
	if s.inner {
		const steps = 4
		y, mean := x, vec3{}
		for t := range steps {
			// 2/((t+2)) weights are those of t + 1, relative to their sum
			slope, r := termGradient(x), 2*e/float64(t+2)
			for j, row := range termRows(y) {
				slope = plus(slope, w[j], row)
			}
			y = soft(plus(y, -r, plus(slope, 1/e, plus(y, -1, x))), r*s.weight)
			mean = plus(mean, float64(t+1)/(steps*(steps+1)/2), y)
		}
		return e, mean
	}
	b := 0.0
	if s.nesterov {
		b = math.Min(s.momentum, 1-10/(float64(s.k)+20))
		if e > 4*s.last {
			b *= s.last / e
		}
	}
	s.v = plus(d, b, s.v)
	s.length = 1 + b*s.length
	if b == 0 {
		return e, soft(plus(x, -e, d), e*s.weight)
	}
	return e, soft(plus(plus(x, -e, d), -e*b, s.v), e*(1+b*s.length)*s.weight)
}

// ruleOf returns the numbers of the curvature rule that a checkpoint keeps.
func ruleOf(s Step) (numbers [4]float64) {
	var c curvature
	switch s := s.(type) {
	case *descent:
		c = s.rule
	case *innerStep:
		c = s.rule
	}
	return [4]float64{c.l, c.peak, c.seen, float64(c.growing)}
}

// Six moves of each first-order step equal the formulas, with changing multipliers, a schedule, the
// regularizer |x|_1/10, and a state that goes through a checkpoint.
func TestFirstOrderStepsByHand(t *testing.T) {
	multipliers := [][]float64{{0.5, 1.5, 0.3}, {2, 0, 0.1}, {9, 7, 0.4}, {0, 0.1, 0}, {0.3, 2.5, 1}, {0.2, 0.4, 3}}
	const weight = 0.1
	for name, c := range map[string]struct {
		set  Settings
		hand plainStep
		c    float64 // the penalty's curvature
		plan float64 // the scheduled step from the third move on
	}{
		"nesterov":       {set: Settings{}, hand: plainStep{nesterov: true, momentum: 0.99}, c: 0.7},
		"capped":         {set: Settings{Eta: 0.3, Momentum: 0.52}, hand: plainStep{nesterov: true, momentum: 0.52, eta: 0.3}, plan: 0.1},
		"gradient":       {set: Settings{Kind: Gradient}, hand: plainStep{}, c: 0.3},
		"fixed":          {set: Settings{Kind: Gradient, Fixed: true, Eta: 0.05}, hand: plainStep{fixed: true, eta: 0.05}, plan: 0.02},
		"adam":           {set: Settings{Kind: Adam, Eta: 0.1}, hand: plainStep{adam: true, eta: 0.1}, plan: 0.02},
		"adam's default": {set: Settings{Kind: Adam}, hand: plainStep{adam: true, eta: 3e-3}},
		"inner":          {set: Settings{}, hand: plainStep{inner: true}, c: 0.7},
		"inner capped":   {set: Settings{Eta: 0.3}, hand: plainStep{inner: true, eta: 0.3}},
		"inner fixed":    {set: Settings{Eta: 0.05, Fixed: true}, hand: plainStep{inner: true, fixed: true, eta: 0.05}},
	} {
		start := vec3{1, -0.5, 0.25}
		build := func(x []float64) (problem.Problem, Step) {
			p := newProblem(t, smoothTerms(problem.Regularizer{Kind: problem.L1, Weight: weight}), x)
			s, err := New(c.set, p)
			if c.hand.inner {
				s, err = NewInner(c.set, 4, p)
			}
			require.NoError(t, err)
			return p, s
		}
		p, s := build(start[:])
		at := problem.NewPoint(p)
		hand := c.hand
		hand.weight, hand.last = weight, math.NaN()
		if !math.IsNaN(s.Last()) {
			t.Errorf("%s: the first step size is %v", name, s.Last())
		}
		for k, w := range multipliers {
			if k == 3 {
				q, other := build(iterate(p))
				kept := restore(s, p.Space(), other, q.Space())
				if _, momentum := kept["primal.momentum"]; momentum != hand.nesterov || other.Last() != s.Last() || ruleOf(other) != ruleOf(s) {
					t.Errorf("%s: restored %v %+v, want %v %+v, with %v", name, other.Last(), ruleOf(other), s.Last(), ruleOf(s), kept)
				}
				p, s = q, other
			}
			require.NoError(t, at.Forward(p))
			dir := Direction{Coefficients: append([]float64{1}, w...), Demand: Demand{PenaltyCurvature: c.c}}
			if k >= 2 {
				dir.ScheduledStep = c.plan
			}
			x, before := vec3(iterate(p)), at.GradientEvaluations
			require.NoError(t, s.Move(p, &at, dir))
			gradients := 1
			if hand.inner {
				gradients += 4 // grad f and three inner steps
			}
			if k == 0 && !hand.fixed && !hand.adam {
				gradients++ // the probe
			}
			if got := at.GradientEvaluations - before; got != gradients {
				t.Errorf("%s, move %d: %d gradients, want %d", name, k, got, gradients)
			}
			e, next := hand.move(x, w, dir.Demand)
			if got := vec3(iterate(p)); !(math.Abs(s.Last()-e) <= 1e-9*e && norm3(plus(got, -1, next)) <= 1e-10) {
				t.Fatalf("%s, move %d: e = %v and x = %v, want %v and %v", name, k, s.Last(), got, e, next)
			}
		}
	}
}
