package step

import (
	"math"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// near reports whether two numbers are equal up to rounding.
func near(x, y float64) bool { return math.Abs(x-y) <= 1e-12*(1+math.Abs(y)) }

// The bound of phi's rounding errors: 16 u (|f| + sum_j w_j (1 + |g_j|)), w = (1.2, 1.2).
func TestNoiseByHand(t *testing.T) {
	phi := Augmented{Multipliers: []float64{0, 2}, Penalty: 4}
	if got, want := phi.noise(-3, []float64{0.3, -0.2}, 0.5), 16*0.5*(3+1.2*1.3+1.2*1.2); !near(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// curved is f = (3 x_0^2 + 5 x_1^2)/2 with the constraint g = x_0 - 1. points are the points of all
// evaluations of f.
func curved(t *testing.T, start ...float64) (p problem.Problem, points *[][]float64) {
	points = new([][]float64)
	return newProblem(t, problem.Functions{N: 2, M: 1,
		F: func(x []float64) float64 {
			*points = append(*points, slices.Clone(x))
			return (3*x[0]*x[0] + 5*x[1]*x[1]) / 2
		},
		Gradient:  func(dst, x []float64) { dst[0], dst[1] = 3*x[0], 5*x[1] },
		G:         func(dst, x []float64) { dst[0] = x[0] - 1 },
		JacobianT: func(dst, _, w []float64) { dst[0], dst[1] = w[0], 0 },
	}, start), points
}

// The probe at x = (2, -1) with the multiplier 0.5 and the penalty curvature 7: d = (6.5, -5), and
// the direction changes by (10 s_0, 5 s_1) over the move s. The scale is 4.
func TestProbeByHand(t *testing.T) {
	p, points := curved(t, 2, -1)
	at := problem.NewPoint(p)
	require.NoError(t, at.Forward(p))
	dir := Direction{Coefficients: []float64{1, 0.5}, Demand: Demand{PenaltyCurvature: 7}}
	d := p.Space().New()
	require.NoError(t, at.Backward(p, dir.Coefficients, d))
	c := newCurvature(p)
	step := require.Value(c.first(p, &at, d, dir, 4, 0))(t)
	length := math.Hypot(6.5, 5)
	l := math.Hypot(10*6.5, 5*5) / length / 4
	if math.Abs(c.l-l) > 1e-9*l || c.peak != c.l || c.seen != c.l || math.Abs(step-0.8/l/4) > 1e-9*step {
		t.Errorf("l = %v, p = %v, c = %v, want %v; the step %v", c.l, c.peak, c.seen, l, step)
	}
	move := 1e-3 * (1 + math.Sqrt(5)) / length
	if x := (*points)[1]; len(*points) != 3 || !near(x[0], 2-move*6.5) || !near(x[1], -1+move*5) {
		t.Errorf("points %v, want a move by %v d", *points, move)
	}
	if !slices.Equal(iterate(p), []float64{2, -1}) || at.GradientEvaluations != 2 || at.Objective != 8.5 || at.Constraints[0] != 1 {
		t.Errorf("the probe leaves %v with %+v", iterate(p), at)
	}
	// With a cap, and without a probe: a step of the probe's length, at most eta/scale.
	if step, err := c.first(p, &at, d, dir, 4, 0.01); err != nil || step != 0.01/4 {
		t.Errorf("with a cap: %v, %v", step, err)
	}
	c.blind = true
	for eta, want := range map[float64]float64{0: move, 8: move, 1e-4: 1e-4 / 4} {
		if step, err := c.first(p, &at, d, dir, 4, eta); err != nil || !near(step, want) {
			t.Errorf("blind, eta = %v: %v, want %v, %v", eta, step, want, err)
		}
	}
	p.Space().Combine(d, 0, d, 0, d)
	c.l = 2
	for _, c.blind = range []bool{false, true} {
		if step, err := c.first(p, &at, d, dir, 4, 0); err != nil || !near(step, 0.8/2/4) || c.l != 2 {
			t.Errorf("blind %v, without a direction: %v, l = %v, %v", c.blind, step, c.l, err)
		}
	}
}

// If f is not finite at the end of the probe, a shorter probe follows. If f is not finite near x_0,
// the rule has no measurement. Both leave the iterate.
func TestShorterProbes(t *testing.T) {
	for _, c := range []struct {
		wall float64 // f is infinite at x <= wall
		l    float64
	}{{1, 0}, {1 - 1e-6, 3}, {-10, 3}} {
		p := newProblem(t, problem.Functions{N: 1, M: 1,
			F: func(x []float64) float64 {
				if x[0] < 1 && x[0] <= c.wall {
					return math.Inf(1)
				}
				if x[0] < 1 && c.wall == 1 {
					return math.NaN()
				}
				return 3 * x[0] * x[0] / 2
			},
			Gradient:  func(dst, x []float64) { dst[0] = 3 * x[0] },
			G:         func(dst, x []float64) { dst[0] = -1 },
			JacobianT: func(dst, _, _ []float64) { dst[0] = 0 },
		}, []float64{1})
		at := problem.NewPoint(p)
		require.NoError(t, at.Forward(p))
		d, rule := p.Space().New(), newCurvature(p)
		dir := Direction{Coefficients: []float64{1, 0}}
		require.NoError(t, at.Backward(p, dir.Coefficients, d))
		require.NoError(t, rule.probe(p, &at, d, dir, 1))
		if math.Abs(rule.l-c.l) > 1e-6 || iterate(p)[0] != 1 || at.Objective != 1.5 {
			t.Errorf("a wall at %v: l = %v, want %v; x = %v, f = %v", c.wall, rule.l, c.l, iterate(p), at.Objective)
		}
	}
}

// The rule's step: min(eta, 0.8/l), and 1 without curvature and cap.
func TestStepByHand(t *testing.T) {
	for _, c := range []struct{ l, eta, want float64 }{{4, 0, 0.2}, {4, 0.1, 0.1}, {4, 1, 0.2}, {0, 0, 1}, {0, 3, 3}} {
		if got := (&curvature{l: c.l}).step(c.eta); !near(got, c.want) {
			t.Errorf("l = %v, eta = %v: %v, want %v", c.l, c.eta, got, c.want)
		}
	}
}

// A measurement at the first iterations: l and p decay by 1 - 4/(k+40) and 1 - 0.3/(k+40), and take
// the change over the distance and the scale. A move of at most 16 roundoffs of 1 + ||x|| measures
// nothing.
func TestMeasureByHand(t *testing.T) {
	p, _ := curved(t, 2, -1)
	u := p.Space().Roundoff()
	for _, c := range []struct {
		name                                string
		k                                   int
		distance, norm, change, scale       float64
		wantL, wantPeak, wantSeen, wantNorm float64
	}{
		{"no change", 0, 2, 5, 0, 3, 2 * 0.9, 3 * (1 - 0.3/40), 0, 5},
		{"later", 4000, 2, 5, 0, 3, 2 * 0.995, 3 * (1 - 0.3/4040), 0, 5},
		{"a change", 10, 2, 5, 24, 3, 4, 4, 4, 5},
		{"a small change", 10, 2, 5, 6, 3, 2 * (1 - 4./50), 3 * (1 - 0.3/50), 1, 5},
		{"at rounding", 10, 16 * u * 6, 5, 24, 3, 2, 3, 1.5, 5},
		{"above rounding", 10, 17 * u * 6, 5, 0, 3, 2 * (1 - 4./50), 3 * (1 - 0.3/50), 0, 5},
		{"the norm", 10, 16 * u * (1 + math.Sqrt(5)) * 1.01, math.NaN(), 0, 3, 2 * (1 - 4./50), 3 * (1 - 0.3/50), 0, math.Sqrt(5)},
		{"the norm at rounding", 10, 16 * u * (1 + math.Sqrt(5)) * 0.99, math.NaN(), 0, 3, 2, 3, 1.5, math.Sqrt(5)},
	} {
		r := newCurvature(p)
		r.l, r.peak, r.seen, r.distance, r.norm = 2, 3, 1.5, c.distance, c.norm
		r.measure(c.k, c.change, c.scale)
		if !near(r.l, c.wantL) || !near(r.peak, c.wantPeak) || !near(r.seen, c.wantSeen) || !near(r.norm, c.wantNorm) {
			t.Errorf("%s: l = %v, p = %v, c = %v, ||x|| = %v, want %v, %v, %v, %v",
				c.name, r.l, r.peak, r.seen, r.norm, c.wantL, c.wantPeak, c.wantSeen, c.wantNorm)
		}
	}
}

// fickle is f = 3 x^2/2, whose evaluations bad[0] to bad[1] give NaN, in f or in the constraint.
func fickle(t *testing.T, inConstraint bool, bad [2]int) problem.Problem {
	calls := map[bool]int{}
	value := func(x float64, constraint bool) float64 {
		calls[constraint]++
		if n := calls[constraint]; constraint == inConstraint && bad[0] <= n && n <= bad[1] {
			return math.NaN()
		}
		return x
	}
	return newProblem(t, problem.Functions{N: 1, M: 1,
		F:         func(x []float64) float64 { return value(3*x[0]*x[0]/2, false) },
		Gradient:  func(dst, x []float64) { dst[0] = 3 * x[0] },
		G:         func(dst, _ []float64) { dst[0] = value(-1, true) },
		JacobianT: func(dst, _, _ []float64) { dst[0] = 0 },
	}, []float64{1})
}

// The rule gives up after 13 probes, and a constraint that is not finite also makes the probe
// shorter.
func TestProbesThatFail(t *testing.T) {
	for _, inConstraint := range []bool{false, true} {
		for last, want := range map[int]float64{2: 3, 13: 3, 14: 0} {
			p := fickle(t, inConstraint, [2]int{2, last})
			at := problem.NewPoint(p)
			require.NoError(t, at.Forward(p))
			d, rule := p.Space().New(), newCurvature(p)
			dir := Direction{Coefficients: []float64{1, 0}, Demand: Demand{PenaltyCurvature: 1}}
			require.NoError(t, at.Backward(p, dir.Coefficients, d))
			require.NoError(t, rule.probe(p, &at, d, dir, 1))
			if math.Abs(rule.l-want) > 0.2 || iterate(p)[0] != 1 || at.Objective != 1.5 {
				t.Errorf("%d bad probes, in the constraint %v: l = %v, want %v", last-1, inConstraint, rule.l, want)
			}
		}
	}
}

// A swing begins above the share 0.035 of l only: 0.3 is below this share of 10.
func TestSwingShareByHand(t *testing.T) {
	for last, want := range map[float64]float64{0.3: 10, 0.4: 20} {
		c := newCurvature(newEdge())
		c.l, c.peak, c.alert, c.growing, c.seen = 10, 30, true, swingLength-1, 0.1
		if c.take(last); c.l != want {
			t.Errorf("after %v: l = %v, want %v", last, c.l, want)
		}
	}
}

// A move without Space.Descend replaces what Space.Moved says of the move before.
func TestMovedByHand(t *testing.T) {
	c := newCurvature(newEdge())
	c.descended()
	c.settle()
	c.moved(7)
	c.settle()
	if c.distance != 7 || !math.IsNaN(c.norm) {
		t.Errorf("distance %v, norm %v", c.distance, c.norm)
	}
}

// Swings matter only to steps with momentum that follow multipliers.
func TestAlert(t *testing.T) {
	for _, kind := range []Kind{Nesterov, Gradient} {
		for _, follows := range []bool{false, true} {
			p := newProblem(t, threeTerms(problem.Abs(1, 1, 1)), []float64{2, -1, 1})
			first := require.Value(New(Settings{Kind: kind}, p))(t)
			prox := require.Value(NewProxLinear(Settings{Kind: kind}, p))(t)
			at := problem.NewPoint(p)
			dir := Direction{Coefficients: []float64{1, 0, 0, 0}}
			dir.Follows = follows
			for _, s := range []Step{first, prox} {
				require.NoError(t, at.Forward(p))
				require.NoError(t, s.Move(p, &at, dir))
			}
			for name, got := range map[string]bool{"descent": first.(*descent).rule.alert, "proxlinear": prox.rule.alert} {
				if want := follows && kind == Nesterov; got != want {
					t.Errorf("%s, %v, follows %v: alert %v", name, kind, follows, got)
				}
			}
		}
	}
}
