package step

import (
	"errors"
	"math"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// ready returns the quasi-Newton step of the problem after the first plan.
func ready(t *testing.T, fn problem.Functions, start []float64) (p problem.Problem, at *problem.Point, q *QuasiNewton) {
	t.Helper()
	p = newProblem(t, fn, start)
	point := problem.NewPoint(p)
	require.NoError(t, point.Forward(p))
	q = require.Value(NewQuasiNewton(p))(t)
	q.limit, q.least = networkLimit, networkLimit // the numbers by hand are those of networks
	predict(t, p, &point, q)
	return p, &point, q
}

// predict plans a step for phi with multipliers of 0.
func predict(t *testing.T, p problem.Problem, at *problem.Point, q *QuasiNewton) (decrease float64, cut bool) {
	t.Helper()
	decrease, cut, err := q.Predict(p, at, noMultipliers(p))
	require.NoError(t, err)
	return decrease, cut
}

func noMultipliers(p problem.Problem) Augmented {
	return Augmented{Multipliers: make([]float64, problem.Constraints(p)), Penalty: 1}
}

// try takes the planned step.
func try(t *testing.T, p problem.Problem, at *problem.Point, q *QuasiNewton) bool {
	t.Helper()
	return require.Value(q.Try(p, at, noMultipliers(p)))(t)
}

// A plan says whether the largest Delta cuts the step. On f = x^2/2, the first step is 0.1 long and
// gives the exact model. From x = 0.9 the minimum is inside a Delta of 19, and outside a Delta of
// 0.19.
func TestLongestByHand(t *testing.T) {
	for _, c := range []struct {
		limit, radius float64
		length        float64
		cut, longest  bool
	}{{10, 0, 0.9, false, false}, {0.1, 0, 0.19, true, true}, {0.1, 5, 0.19, true, true}, {0.1, 0.05, 0.05, true, false}} {
		p, at, q := ready(t, parabola(), []float64{1})
		if !q.plan.longest || !try(t, p, at, q) || !near(iterate(p)[0], 0.9) {
			t.Fatalf("x = %v after the first step", iterate(p))
		}
		q.limit, q.radius = c.limit, c.radius
		decrease, cut := predict(t, p, at, q)
		want := 0.9*c.length - c.length*c.length/2
		if q.plan.longest != c.longest || cut != c.cut || !(math.Abs(decrease-want) <= 1e-4) || !(math.Abs(q.Last()-c.length) <= 1e-4*c.length) {
			t.Errorf("%+v: longest %v, cut %v, decrease %v, length %v", c, q.plan.longest, cut, decrease, q.Last())
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
	fn := problem.Functions{N: 2, Regularizer: problem.Regularizer{Kind: problem.Ball, Radius: 0.5},
		F: func(x []float64) float64 { return -x[0] - x[1] }, Gradient: func(dst, _ []float64) { dst[0], dst[1] = -1, -1 }}
	for _, c := range []struct {
		sphere       bool
		length, want float64 // of d = (-1, -1), and of x+
	}{{true, -0.3, 0.5}, {true, -0.4, 0.5}, {false, -0.3, 0.3 * math.Sqrt2}, {false, -0.4, 0.5}} {
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

// A planned step that ends inside the ball needs no projection. One that ends within 1e-3 of the
// radius from the sphere does.
func TestInsideByHand(t *testing.T) {
	fn := problem.Functions{N: 2, Regularizer: problem.Regularizer{Kind: problem.Ball, Radius: 0.5},
		F: func(x []float64) float64 { return -x[0] - x[1] }, Gradient: func(dst, _ []float64) { dst[0], dst[1] = -1, -1 }}
	for norm, want := range map[float64]bool{0: true, 0.428: true, 0.4282: false, 0.5: false} { // the steps are 0.05 (1 + norm) long
		p, at, q := ready(t, fn, []float64{norm / math.Sqrt2, norm / math.Sqrt2})
		if predict(t, p, at, q); q.plan.inside != want {
			t.Errorf("||x|| = %v: inside %v", norm, q.plan.inside)
		}
	}
	fn.Regularizer = problem.Regularizer{}
	p, at, q := ready(t, fn, []float64{0, 0})
	if predict(t, p, at, q); q.plan.inside {
		t.Error("inside a ball that is not there")
	}
}

// After a step to a point where f or a constraint is not finite, Delta is a tenth of the step, the
// iterate and its f and g are those before the step, and no gradient is computed.
func TestTryRefusesNonFiniteNumbers(t *testing.T) {
	for _, inConstraint := range []bool{false, true} {
		p := fickle(t, inConstraint, [2]int{2, 2})
		at := problem.NewPoint(p)
		require.NoError(t, at.Forward(p))
		q := require.Value(NewQuasiNewton(p))(t)
		predict(t, p, &at, q)
		if moved := try(t, p, &at, q); moved || !near(q.radius, 0.1*shallowLimit*2) || at.GradientEvaluations != 1 ||
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
		q := newPairs(&problem.Space{}, 0)
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
		inner := require.Value(NewInner(set, 3, p))(t)
		first := require.Value(New(set, p))(t)
		first.(*descent).rule.growing = 2
		if kept := restore(first, p.Space(), first, p.Space()); !fixed && kept["curvature.growing"][0] != 2 {
			t.Errorf("the growth %v, want 2", kept["curvature.growing"])
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
		for _, o := range set.options() {
			conflicts += o.Conflict()
		}
		if (conflicts == "") != c.want {
			t.Errorf("%+v: %q", c.set, conflicts)
		}
	}
	set := &Settings{}
	if err := set.options()[0].Set("adam"); err != nil || set.Kind != Adam || !set.Completed() {
		t.Errorf("%+v, %v", set, err)
	}
	s, err := New(Settings{}, newProblem(t, quadratic(3), make([]float64, 3)))
	if err != nil || s.(*descent).set.Kind != Nesterov {
		t.Errorf("%+v, %v", s, err)
	}
}

// A quasi-Newton step whose state goes through a checkpoint takes the same steps to the bit. With
// multipliers, a ball or a squared norm, phi + r falls with each move, to a KKT point.
func TestQuasiNewtonResumes(t *testing.T) {
	for _, r := range []problem.Regularizer{{}, {Kind: problem.Ball, Radius: 1.2}, {Kind: problem.SquaredL2, Weight: 0.5}} {
		for half := range 14 {
			build := func(x []float64) (problem.Problem, *problem.Point, *QuasiNewton) {
				p := newProblem(t, smoothTerms(r), x)
				at := problem.NewPoint(p)
				require.NoError(t, at.Forward(p))
				q := require.Value(NewQuasiNewton(p))(t)
				return p, &at, q
			}
			p, at, q := build([]float64{1, -0.5, 0.25})
			other, there, resumed := p, at, q
			phi := Augmented{Multipliers: []float64{0.5, 0.2, 0}, Penalty: 3}
			for k := range 28 {
				if k == 2*half {
					other, there, resumed = build(iterate(p))
					restore(q, p.Space(), resumed, other.Space())
					if resumed.Last() != q.Last() && !math.IsNaN(q.Last()) || resumed.cubic != q.cubic {
						t.Errorf("the restored length is %v, want %v; %v, want %v", resumed.Last(), q.Last(), resumed.cubic, q.cubic)
					}
				}
				if k == 17 {
					phi.Multipliers = []float64{1.5, 0, 0.1}
					q.Refresh()
					resumed.Refresh()
				}
				type run struct {
					p  problem.Problem
					at *problem.Point
					q  *QuasiNewton
				}
				runs := []run{{p, at, q}}
				if k >= 2*half {
					runs = append(runs, run{other, there, resumed})
				}
				for _, run := range runs {
					before := slices.Clone(iterate(run.p))
					value := phiOf(phi, r, before)
					if _, _, err := run.q.Predict(run.p, run.at, phi); err != nil {
						t.Fatal(err)
					}
					if run.q.age >= iterateAge {
						t.Errorf("step %d: the row of x has the age %d", k, run.q.age)
					}
					h, w, d := termValues(vec3(before)), make([]float64, 3), make([]float64, 3)
					phi.Coefficients(w, h[:])
					run.p.Space().Read(d, run.q.d)
					tolerance := 1e-12
					if run.q.estimated {
						tolerance = 0.01
					}
					if want := lagrangian(vec3(before), w); !(norm3(plus(vec3(d), -1, want)) <= tolerance) {
						t.Errorf("step %d: the gradient is %v, want %v", k, d, want)
					}
					moved := require.Value(run.q.Try(run.p, run.at, phi))(t)
					if after := phiOf(phi, r, iterate(run.p)); moved == slices.Equal(before, iterate(run.p)) || after > value+1e-13 {
						t.Errorf("step %d: moved %v, phi + r from %v to %v", k, moved, value, after)
					}
				}
				if !slices.Equal(iterate(p), iterate(other)) || q.radius != resumed.radius || q.limit != resumed.limit {
					t.Fatalf("%v, resumed at %d: step %d leads to %v, uninterrupted to %v", r, 2*half, k, iterate(other), iterate(p))
				}
			}
			x, w := vec3(iterate(p)), make([]float64, 3)
			h := termValues(x)
			phi.Coefficients(w, h[:])
			d := lagrangian(x, w)
			switch r.Kind {
			case problem.SquaredL2:
				d = plus(d, 0.5, x)
			case problem.Ball: // d is a multiple of -x on the sphere
				d = plus(d, math.Max(0, -dot3(d, x)/dot3(x, x)), x)
			}
			if norm3(d) > 1e-6 {
				t.Errorf("%v: the slope at the end is %v", r, d)
			}
		}
	}
}

// The flags of a step go through a checkpoint.
func TestQuasiNewtonKeepsFlags(t *testing.T) {
	p, _, q := ready(t, parabola(), []float64{1})
	_, _, other := ready(t, parabola(), []float64{1})
	q.restarted, q.exhausted, q.bent, q.known, q.estimated = true, true, true, true, true
	if restore(q, p.Space(), other, p.Space()); !other.restarted || !other.exhausted || !other.Bent() || !other.known || !other.estimated {
		t.Errorf("restarted %v, exhausted %v, bent %v, known %v, estimated %v", other.restarted, other.exhausted, other.bent, other.known, other.estimated)
	}
}

// The value of phi before a step includes the constraints: phi = x^2/2 + (10 - x)^2/2.
func TestTryComparesPhi(t *testing.T) {
	fn := parabola()
	fn.M = 1
	fn.G = func(g, x []float64) { g[0] = 10 - x[0] }
	fn.JacobianT = func(d, _, w []float64) { d[0] = -w[0] }
	p, at, q := ready(t, fn, []float64{1})
	if !try(t, p, at, q) || !near(iterate(p)[0], 1.1) {
		t.Errorf("x = %v", iterate(p))
	}
}

// passes counts the passes over the memory of the pairs.
type passes struct {
	problem.Vectors
	count int
}

func (v *passes) Dots(dst []float64, xs, ys []problem.Vector) { v.count++; v.Vectors.Dots(dst, xs, ys) }

// broken are vectors whose operations have failed.
type broken struct{ problem.Vectors }

func (broken) Err() error { return errFailing }

// A device that fails while a step goes back to the start of a rejected move ends the run.
func TestBackReturnsErrors(t *testing.T) {
	p, at, q := ready(t, parabola(), []float64{5})
	p.Space().Vectors = broken{p.Space().Vectors}
	if err := q.back(p, at, 1, false); !errors.Is(err, errFailing) {
		t.Error(err)
	}
}

// The pair of a move from x = 2 to 5 with the gradients 1 and d+. The row of y = d+ - 1 joins no
// pass, unless y is small against the gradients.
func TestPairByHand(t *testing.T) {
	for trial, want := range map[float64]int{-3: 1, 1.25: 1, 1 + 1./128: 2} {
		p := newProblem(t, parabola(), []float64{5})
		v := &passes{Vectors: p.Space().Vectors}
		p.Space().Vectors = v
		q, space := newPairs(p.Space(), 0), p.Space()
		start, d, next := space.New(), space.New(), space.New()
		space.Write(start, []float64{2})
		space.Write(d, []float64{1})
		space.Write(next, []float64{trial})
		q.gram.SetSym(gradientRow, gradientRow, 1)
		slot := q.free()
		space.Combine(q.s[slot], 1, problem.Iterate, -1, start)
		q.add(slot, start, d, next)
		y := trial - 1
		if yy, ss := q.gram.At(pairsMost+slot, pairsMost+slot), q.gram.At(slot, slot); yy != y*y || ss != 9 || v.count != want {
			t.Errorf("d+ = %v: <y, y> = %v and <s, s> = %v after %d passes, want %v and 9 after %d", trial, yy, ss, v.count, y*y, want)
		}
	}
}

// phiOf is phi + r at x, for r without the ball.
func phiOf(phi Augmented, r problem.Regularizer, x []float64) float64 {
	h := termValues(vec3(x))
	f := (3*x[0]*x[0]+2*x[1]*x[1]+x[2]*x[2])/2 + x[0]*x[1] - x[2]
	if r.Kind == problem.SquaredL2 {
		f += r.Weight / 2 * dot3(vec3(x), vec3(x))
	}
	return phi.Value(f, h[:])
}

// A search that has ended plans no step.
func TestExhausted(t *testing.T) {
	p, at, q := ready(t, parabola(), []float64{1})
	q.exhausted = true
	if decrease, cut := predict(t, p, at, q); decrease != 0 || cut || try(t, p, at, q) {
		t.Errorf("decrease %v, cut %v", decrease, cut)
	}
	pieces := newProblem(t, threeTerms(problem.Abs(1, 1, 1)), make([]float64, 3))
	if reason := QuasiNewtonRefuses(pieces); reason != "the problem has kinks" {
		t.Errorf("pieces: %q", reason)
	}
	if _, err := NewQuasiNewton(pieces); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("pieces: %v, want ErrSettings", err)
	}
	// Kinks without pieces: no default, but possible.
	if reason := QuasiNewtonRefuses(kinked{p}); reason != "the problem has kinks" {
		t.Errorf("kinks: %q", reason)
	}
	if _, err := NewQuasiNewton(kinked{p}); err != nil {
		t.Errorf("kinks: %v", err)
	}
}

// kinked is a problem with kinks.
type kinked struct{ problem.Problem }

func (kinked) NonSmooth() bool { return true }
