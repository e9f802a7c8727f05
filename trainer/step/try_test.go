package step

import (
	"math"
	"slices"
	"testing"

	"ppal/trainer/problem"
)

// ready returns the quasi-Newton step of the problem after the first plan.
func ready(t *testing.T, fn problem.Functions, start []float64) (p problem.Problem, at *problem.Point, q *QuasiNewton) {
	t.Helper()
	p = newProblem(t, fn, start)
	point := problem.NewPoint(p)
	if err := point.Forward(p); err != nil {
		t.Fatal(err)
	}
	q, err := NewQuasiNewton(p)
	if err != nil {
		t.Fatal(err)
	}
	predict(t, p, &point, q)
	return p, &point, q
}

// predict plans a step for phi with multipliers of 0.
func predict(t *testing.T, p problem.Problem, at *problem.Point, q *QuasiNewton) (decrease float64, cut bool) {
	t.Helper()
	decrease, cut, err := q.Predict(p, at, noMultipliers(p))
	if err != nil {
		t.Fatal(err)
	}
	return decrease, cut
}

func noMultipliers(p problem.Problem) Augmented {
	return Augmented{Multipliers: make([]float64, problem.Constraints(p)), Penalty: 1}
}

// try takes the planned step.
func try(t *testing.T, p problem.Problem, at *problem.Point, q *QuasiNewton) bool {
	t.Helper()
	moved, err := q.Try(p, at, noMultipliers(p))
	if err != nil {
		t.Fatal(err)
	}
	return moved
}

// A plan says whether the largest Delta cuts the step. On f = x^2/2, the first step is 0.1 long and
// gives the exact model. From x = 0.9 the minimum is inside a Delta of 19, and outside a Delta of
// 0.19.
func TestLongestByHand(t *testing.T) {
	for limit, longest := range map[float64]bool{10: false, 0.1: true} {
		p, at, q := ready(t, parabola(), []float64{1})
		if !q.plan.longest || !try(t, p, at, q) || !near(iterate(p)[0], 0.9) {
			t.Fatalf("x = %v after the first step", iterate(p))
		}
		q.limit, q.radius = limit, 0
		decrease, cut := predict(t, p, at, q)
		want, length := 0.405, 0.9
		if longest {
			want, length = 0.9*0.19-0.19*0.19/2, 0.19
		}
		if q.plan.longest != longest || cut != longest || math.Abs(decrease-want) > 1e-4 || math.Abs(q.Last()-length) > 1e-4*length {
			t.Errorf("c = %v: longest %v, cut %v, decrease %v, length %v", limit, q.plan.longest, cut, decrease, q.Last())
		}
	}
}

// parabola is f = x^2/2.
func parabola() problem.Functions {
	return problem.Functions{N: 1, F: func(x []float64) float64 { return x[0] * x[0] / 2 }, Gradient: func(dst, x []float64) { dst[0] = x[0] }}
}

// If the pairs give no model, the step begins again without pairs.
func TestPairsWithoutModel(t *testing.T) {
	p, at, q := ready(t, quadratic(3), []float64{1, 1, 1})
	if !try(t, p, at, q) || len(q.order) != 1 {
		t.Fatal("no pair")
	}
	q.gram.SetSym(q.order[0], q.order[0], math.NaN())
	if decrease, cut := predict(t, p, at, q); !(decrease > 0) || !cut || len(q.order) != 0 || !try(t, p, at, q) {
		t.Errorf("decrease %v, cut %v with the pairs %v", decrease, cut, q.order)
	}
}

// Without a finite gradient, and at a stationary point, there is no step, and the search ends.
func TestNoStep(t *testing.T) {
	shifted := problem.Functions{N: 1, F: func(x []float64) float64 { return (x[0] - 3) * (x[0] - 3) / 2 }, Gradient: func(dst, x []float64) { dst[0] = x[0] - 3 }}
	nan := parabola()
	nan.Gradient = func(dst, _ []float64) { dst[0] = math.NaN() }
	for name, c := range map[string]struct {
		fn    problem.Functions
		start float64
	}{"not finite": {nan, 1}, "stationary": {shifted, 3}, "stationary at 0": {parabola(), 0}} {
		p, at, q := ready(t, c.fn, []float64{c.start})
		if decrease, cut := predict(t, p, at, q); decrease != 0 || cut {
			t.Errorf("%s: decrease %v, cut %v", name, decrease, cut)
		}
		if try(t, p, at, q) || !q.exhausted || iterate(p)[0] != c.start {
			t.Errorf("%s: x = %v, exhausted %v", name, iterate(p), q.exhausted)
		}
	}
}

// A step of at most 2 roundoffs of 1 + ||x|| ends the search.
func TestLeastMoveByHand(t *testing.T) {
	for factor, tries := range map[float64]bool{0.99: false, 1: false, 1.01: true} {
		p, at, q := ready(t, parabola(), []float64{9})
		q.length = 2 * p.Space().Roundoff() * 10 * factor
		if moved := try(t, p, at, q); moved != tries || q.exhausted == tries {
			t.Errorf("%v of the least move: moved %v, exhausted %v", factor, moved, q.exhausted)
		}
	}
}

// A step to the sphere ends there to rounding, also if the plan's step ends beside it. Any other
// step is projected to the ball.
func TestTryKeepsTheBall(t *testing.T) {
	fn := problem.Functions{N: 2, Regularizer: problem.Regularizer{Kind: problem.Ball, Radius: 2},
		F: func(x []float64) float64 { return -x[0] - x[1] }, Gradient: func(dst, _ []float64) { dst[0], dst[1] = -1, -1 }}
	for _, c := range []struct {
		sphere       bool
		length, want float64 // of d = (-1, -1), and of x+
	}{{true, -1.3, 2}, {true, -1.5, 2}, {false, -1.3, 1.3 * math.Sqrt2}, {false, -1.5, 2}} {
		p, at, q := ready(t, fn, []float64{0, 0})
		q.plan = plan{vectors: []problem.Vector{q.d}, coefficients: []float64{c.length}, decrease: 1, sphere: c.sphere}
		q.length = 1
		if !try(t, p, at, q) {
			t.Fatal("no move")
		}
		if x := iterate(p); math.Abs(math.Hypot(x[0], x[1])-c.want) > 1e-15 || x[0] != x[1] {
			t.Errorf("%+v: x = %v", c, x)
		}
	}
}

// After a step to a point where f or a constraint is not finite, Delta is a tenth of the step, the
// iterate and its f and g are those before the step, and no gradient is computed.
func TestTryRefusesNonFiniteNumbers(t *testing.T) {
	for _, inConstraint := range []bool{false, true} {
		p := fickle(t, inConstraint, [2]int{2, 2})
		at := problem.NewPoint(p)
		if err := at.Forward(p); err != nil {
			t.Fatal(err)
		}
		q, err := NewQuasiNewton(p)
		if err != nil {
			t.Fatal(err)
		}
		predict(t, p, &at, q)
		if moved := try(t, p, &at, q); moved || !near(q.radius, 0.1*0.05*2) || at.GradientEvaluations != 1 ||
			at.Objective != 1.5 || at.Constraints[0] != -1 || iterate(p)[0] != 1 || len(q.order) != 0 {
			t.Errorf("in the constraint %v: moved %v, Delta %v, %+v, x = %v", inConstraint, moved, q.radius, at, iterate(p))
		}
	}
}

// An accepted step allows another restart. A rejected step does not move and allows none.
func TestTryResetsTheRestart(t *testing.T) {
	for _, accepted := range []bool{true, false} {
		p, at, q := ready(t, parabola(), []float64{1})
		if q.restarted = true; !accepted {
			q.plan.decrease = 1e9 // the step decreases f by much less than predicted
		}
		if moved := try(t, p, at, q); moved != accepted || q.restarted == accepted || (iterate(p)[0] == 1) == accepted {
			t.Errorf("moved %v, restarted %v, x = %v", moved, q.restarted, iterate(p))
		}
	}
}

// Only pairs with a positive curvature of at least 1e-8 of their lengths stay.
func TestKeepByHand(t *testing.T) {
	for _, c := range []struct {
		ss, yy, sy float64
		kept       bool
	}{{4, 9, 1, true}, {4, 9, -1, false}, {4, 9, 5e-8, false}, {4, 9, 7e-8, true}, {0, 0, 0, false}} {
		q := newPairs(&problem.Space{})
		q.gram.SetSym(3, 3, c.ss)
		q.gram.SetSym(pairsMost+3, pairsMost+3, c.yy)
		q.gram.SetSym(3, pairsMost+3, c.sy)
		if q.keep(3); slices.Contains(q.order, 3) != c.kept {
			t.Errorf("%+v: the pairs are %v", c, q.order)
		}
	}
}

// The state of a step with a fixed step size has no curvature.
func TestStateOfFixedSteps(t *testing.T) {
	for _, fixed := range []bool{false, true} {
		p := newProblem(t, quadratic(3), make([]float64, 3))
		set := Settings{Kind: Gradient, Fixed: fixed, Eta: 0.1}
		inner, err := NewInner(set, 3, p)
		if err != nil {
			t.Fatal(err)
		}
		first, err := New(set, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []visitor{inner, first} {
			if kept := restore(s, p.Space(), s, p.Space()); (kept["curvature.l"] == nil) != fixed {
				t.Errorf("%T, fixed %v: %v", s, fixed, kept)
			}
		}
	}
}

// The default step is Nesterov's. Adam and fixed steps refuse the automatic step size.
func TestStepOptions(t *testing.T) {
	for _, c := range []struct {
		set  Settings
		want bool
	}{{Settings{}, true}, {Settings{Kind: Adam}, false}, {Settings{Fixed: true}, false}, {Settings{Kind: Adam, Fixed: true}, false},
		{Settings{Kind: Adam, Eta: 0.1}, true}, {Settings{Fixed: true, Eta: 0.1}, true}} {
		set := c.set
		conflicts := ""
		for _, o := range set.Options() {
			conflicts += o.Conflict()
		}
		if (conflicts == "") != c.want {
			t.Errorf("%+v: %q", c.set, conflicts)
		}
	}
	s, err := New(Settings{}, newProblem(t, quadratic(3), make([]float64, 3)))
	if err != nil || s.(*descent).set.Kind != Nesterov {
		t.Errorf("%+v, %v", s, err)
	}
}
