package certify

import (
	"errors"
	"math"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// searchScalar is a set of constraints on one number in [lo, hi].
type searchScalar struct {
	g, slope []func(x float64) float64
	lo, hi   float64
}

// trace is the course of a search: the points of its forward passes and its end.
type trace struct {
	points              []float64
	evaluations         int
	attained, certified bool
}

// follow is SearchFeasible by projected gradients in one variable, written from its description.
func (s *searchScalar) follow(x float64, set InfeasibleSettings) (o trace) {
	var g []float64
	forward := func(x float64) float64 {
		o.points, o.evaluations = append(o.points, x), o.evaluations+1
		g = g[:0]
		sum := 0.0
		for _, f := range s.g {
			g = append(g, f(x))
			sum += math.Max(0, f(x)) * math.Max(0, f(x))
		}
		return sum / 2
	}
	backward := func(x float64) float64 {
		o.evaluations++
		sum := 0.0
		for j, f := range s.slope {
			sum += math.Max(0, g[j]) * f(x)
		}
		return sum
	}
	v := forward(x)
	slope := backward(x)
	before, lowest, best, step := v, math.Inf(1), x, 0.0
	var recent []float64
	rest, moved := 0, true
	type proof struct{ v, stationarity, radius float64 }
	kept := proof{math.Inf(1), math.Inf(1), 0} // the best certificate at almost the least v
	for k := 0; ; k++ {
		if v < lowest {
			lowest, best = v, x
		}
		worst := math.Inf(-1)
		for _, gj := range g {
			worst = math.Max(worst, gj)
		}
		if math.IsNaN(v) || math.IsInf(v, 0) || worst <= set.Tolerance {
			o.attained = worst <= set.Tolerance
			return o
		}
		if k%10 == 0 || !moved {
			if rest++; k == 0 || moved && lowest < 0.99*before {
				rest = 0
			}
			before = lowest
			if v != lowest {
				x, recent = best, nil
				v = forward(x)
				slope = backward(x)
			}
			total, length, sum := 0.0, 0.0, 0.0
			for j, gj := range g {
				if gj > 0 {
					total += gj
					length += gj * math.Abs(s.slope[j](x))
					sum += gj * s.slope[j](x)
					o.evaluations++
				}
			}
			o.evaluations++
			if x <= s.lo {
				sum = math.Min(sum, 0)
			}
			if x >= s.hi {
				sum = math.Max(sum, 0)
			}
			c := proof{v, math.Abs(sum) / length, 2 * v / math.Abs(sum) / (1 + math.Abs(x))}
			if v < 0.98*kept.v || c.stationarity <= kept.stationarity {
				kept = c
			}
			if (rest >= 4 || !moved) && kept.stationarity <= 0.03 && kept.radius >= 2 {
				o.certified = true
				return o
			}
		}
		if k >= set.Iterations || !moved {
			return o
		}
		if step == 0 {
			if step = 0.01 * (1 + math.Abs(x)) / math.Abs(slope); math.IsInf(step, 0) {
				moved = false
				continue
			}
		}
		move := math.Min(s.hi, math.Max(s.lo, x-step*slope)) - x
		if recent = append(recent, v); len(recent) > 10 {
			recent = recent[1:]
		}
		highest := 0.0
		for _, r := range recent {
			highest = math.Max(highest, r)
		}
		t, trial := 1.0, 0.0
		moved = false
		for range 30 {
			if !(slope*move < 0) {
				break
			}
			if trial = forward(x + t*move); trial <= highest+1e-4*t*slope*move {
				moved = true
				break
			}
			t /= 2
		}
		if !moved {
			v = forward(x)
			continue
		}
		x, v = x+t*move, trial
		next := backward(x)
		if curvature := (next*move - slope*move) / t; curvature > 0 {
			step = math.Min(move*move/curvature, 1e12)
		} else {
			step = math.Min(10*step, 1e12)
		}
		slope = next
	}
}

// recorded is a traced problem in a search that takes no gradient of f.
type recorded struct {
	traced
	kinks bool // as if the constraints had kinks
}

func (r *recorded) NonSmooth() bool { return r.kinks }

func (r *recorded) Backward(coefficients []float64, d problem.Vector) error {
	if coefficients[0] != 0 {
		return errors.New("a gradient of f")
	}
	return r.traced.Backward(coefficients, d)
}

func (s *searchScalar) problem(t *testing.T, x float64, r problem.Regularizer) problem.Problem {
	t.Helper()
	p := require.Value(problem.Functions{N: 1, M: len(s.g), Regularizer: r,
		F:        func([]float64) float64 { return 0 },
		Gradient: func(dst, _ []float64) { dst[0] = 1 },
		G: func(dst, x []float64) {
			for j, f := range s.g {
				dst[j] = f(x[0])
			}
		},
		JacobianT: func(dst, x, w []float64) {
			dst[0] = 0
			for j, f := range s.slope {
				dst[0] += w[j] * f(x[0])
			}
		}}.New([]float64{x}))(t)
	return p
}

type functions = []func(x float64) float64

// TestSearchInOneVariable compares the points of searches with a search in one variable.
func TestSearchInOneVariable(t *testing.T) {
	line := func(a, b float64) func(float64) float64 { return func(x float64) float64 { return a*x + b } }
	constant := func(a float64) func(float64) float64 { return func(float64) float64 { return a } }
	inf := math.Inf(1)
	apart := searchScalar{functions{line(1, 1), line(-1, 1), constant(0)}, functions{constant(1), constant(-1), constant(5)}, -inf, inf}
	bounded := apart
	bounded.lo, bounded.hi = 0.5, 2
	waves := searchScalar{functions{func(x float64) float64 { return 1.5 + math.Sin(3*x) }, func(x float64) float64 { return x*x/8 - 0.25 }},
		functions{func(x float64) float64 { return 3 * math.Cos(3*x) }, func(x float64) float64 { return x / 4 }}, -inf, inf}
	steep := searchScalar{functions{func(x float64) float64 { return 2 - math.Exp(-x*x) }}, functions{func(x float64) float64 { return 2 * x * math.Exp(-x*x) }}, -inf, inf}
	quartic := searchScalar{functions{func(x float64) float64 { return 1 + x*x*x*x }, line(1, -3)}, functions{func(x float64) float64 { return 4 * x * x * x }, constant(1)}, -inf, inf}
	feasible := searchScalar{functions{line(1, 0), line(-1, -5)}, functions{constant(1), constant(-1)}, -inf, inf}
	for name, c := range map[string]struct {
		s     searchScalar
		start []float64
	}{
		"apart": {apart, []float64{2.5, -0.5, 0}}, "bounded": {bounded, []float64{2, 0.5, 1}}, "waves": {waves, []float64{0.3, 1, 2, -3, 7, 20, -7.1, -5.3, -2.2, 3.3, 4.1, 5.7, 6.3, 8.9, 11, 13}},
		"steep": {steep, []float64{0.25, 1.5}}, "quartic": {quartic, []float64{2, -3, 0, 50}}, "feasible": {feasible, []float64{4, -1, 0, 1e-3}},
	} {
		for _, x := range c.start {
			for _, iterations := range []int{0, 7, 40, 200} {
				set := InfeasibleSettings{Iterations: iterations, Tolerance: 1e-3}
				r := problem.Regularizer{Kind: problem.L1, Weight: 3} // has no domain
				if c.s.lo > math.Inf(-1) {
					r = problem.Regularizer{Kind: problem.Box, Lower: c.s.lo, Upper: c.s.hi}
				}
				p := &recorded{traced{Problem: c.s.problem(t, x, r)}, true}
				got := require.Value(SearchFeasible(t.Context(), p, set))(t)
				want := c.s.follow(x, set)
				if want.certified {
					want.points = append(want.points, p.points[len(p.points)-2]) // of the certificate's values
				}
				points := append(want.points, x) // SearchFeasible restores the iterate
				if len(p.points) != len(points) || got.Attained != want.attained || (got.Certificate != nil) != want.certified || got.Evaluations != want.evaluations {
					t.Errorf("%s from %v, %d steps: %d points, %+v, want %d points, %d evaluations, attained %v, certified %v", name, x, iterations,
						len(p.points), got, len(points), want.evaluations, want.attained, want.certified)
					continue
				}
				for i, v := range points {
					if !(math.Abs(p.points[i]-v) <= 1e-6*(1+math.Abs(v))) {
						t.Errorf("%s from %v: point %d of %d is %v, want %v", name, x, i, len(points), p.points[i], v)
						break
					}
				}
				if v := p.Space().New(); v > 7 {
					t.Errorf("the vectors of the search stay in memory: the next is %d", v)
				}
			}
		}
	}
}

// Each failed pass ends the search with the error.
func TestSearchFails(t *testing.T) {
	s := searchScalar{functions{func(x float64) float64 { return x + 1 }, func(x float64) float64 { return 1 - x }},
		functions{func(float64) float64 { return 1 }, func(float64) float64 { return -1 }}, 0, 0}
	for _, kinks := range []bool{false, true} {
		whole := &recorded{traced{Problem: s.problem(t, 3, problem.Regularizer{})}, kinks}
		if o, err := SearchFeasible(t.Context(), whole, InfeasibleSettings{Iterations: 100}); err != nil || o.Certificate == nil {
			t.Fatalf("kinks %v: %+v, %v", kinks, o, err)
		}
		for failing := 1; failing <= whole.passes; failing++ {
			p := &recorded{traced{Problem: s.problem(t, 3, problem.Regularizer{}), failing: failing}, kinks}
			if _, err := SearchFeasible(t.Context(), p, InfeasibleSettings{Iterations: 100}); !errors.Is(err, errPass) {
				t.Errorf("kinks %v: a failure in pass %d of %d: %v", kinks, failing, whole.passes, err)
			}
		}
	}
}
