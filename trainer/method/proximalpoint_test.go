package method_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
)

// The inner loops by hand use rho^ = 2 and the modulus 1/2, which gives s = 3/2.
const (
	handRho    = 2.0
	handStrong = 1.5
	handInner  = 3
)

func handProximalPoint() method.ProximalPoint {
	return method.ProximalPoint{RhoHat: handRho, Modulus: handRho - handStrong, Inner: handInner}
}

// handPull returns (rho^/2)||x - c||^2.
func handPull(x, c [2]float64) float64 {
	d := minus(x, c)
	return handRho / 2 * (d[0]*d[0] + d[1]*d[1])
}

// handMean accumulates a weighted mean.
type handMean struct {
	sum   [2]float64
	total float64
}

func (m *handMean) add(x [2]float64, w float64) {
	m.sum[0] += w * x[0]
	m.sum[1] += w * x[1]
	m.total += w
}

func (m *handMean) of(x [2]float64) [2]float64 {
	if m.total == 0 {
		return x
	}
	return [2]float64{m.sum[0] / m.total, m.sum[1] / m.total}
}

func TestIPPSSGStepsByHand(t *testing.T) {
	for _, tol := range []float64{0.3, 5} {
		const bound = 3
		var center [2]float64
		var mean handMean
		inner, feasible, repaired := 0, 0, 0
		counts := func(x [2]float64) bool {
			g, _ := handWorst(x)
			return g+handPull(x, center) <= tol
		}
		m := &method.IPPSSG{ProximalPoint: handProximalPoint(), Tolerance: tol, Bound: bound}
		compare(t, handProblem(t, testkit.HandFunctions()), m, 4*handInner, func(x [2]float64) ([2]float64, []float64) {
			if inner == 0 {
				center, mean = x, handMean{}
				if counts(x) {
					mean.add(x, 1)
				}
			}
			d := testkit.HandGradient(x)
			if counts(x) {
				feasible++
			} else {
				repaired++
				_, j := handWorst(x)
				d = testkit.HandRows(x)[j]
			}
			k := float64(inner)
			e := 2 / (handStrong*(k+2) + bound*bound/(handStrong*(k+1)))
			for i := range x {
				x[i] -= e * (d[i] + handRho*(x[i]-center[i]))
			}
			inner++
			if counts(x) {
				mean.add(x, float64(inner+1))
			}
			if inner == handInner {
				inner = 0
				x = mean.of(x)
			}
			return x, nil
		})
		if feasible < 2 || repaired < 2 && tol < 1 {
			t.Errorf("tolerance %v: %d steps on f, %d on g", tol, feasible, repaired)
		}
	}
}

// conexByHand is the inner loop of IPP-ConEx for any kind of constraints. It keeps y during the
// whole run.
type conexByHand struct {
	t0, bound   float64
	value       func(x [2]float64) [2]float64
	rows        func(x [2]float64) [2][2]float64
	restart     bool
	inner       int
	center      [2]float64
	mean        handMean
	before, now [2]float64
	y           [2]float64
}

func (h *conexByHand) step(x [2]float64) [2]float64 {
	if h.inner == 0 {
		h.center, h.mean = x, handMean{}
		h.now = h.value(x)
		h.before = h.now
		if h.restart {
			h.y = [2]float64{}
		}
	}
	k := float64(h.inner)
	theta := (k + h.t0 + 1) / (k + h.t0 + 2)
	for j := range h.y {
		q := (1+theta)*h.now[j] - theta*h.before[j]
		h.y[j] = math.Max(0, h.y[j]+(k+1)*handRho/(32*h.bound*h.bound)*q)
	}
	e := 2 / (handRho * (k + h.t0 + 1))
	pull, rows, d := minus(x, h.center), h.rows(x), testkit.HandGradient(x)
	next := x
	for i := range x {
		total := d[i] + handRho*pull[i]
		for j := range rows {
			total += h.y[j] * (rows[j][i] + handRho*pull[i])
		}
		next[i] -= e * total
	}
	h.before = h.now
	for j, g := range h.value(x) { // g linearised at x and evaluated at next
		h.now[j] = g + handPull(x, h.center)
		for i := range x {
			h.now[j] += (rows[j][i] + handRho*pull[i]) * (next[i] - x[i])
		}
	}
	h.mean.add(next, k+h.t0+2)
	h.inner++
	if h.inner == handInner {
		h.inner = 0
		next = h.mean.of(next)
	}
	return next
}

func TestIPPConExStepsByHand(t *testing.T) {
	absolute := testkit.HandFunctions()
	absolute.Pieces = problem.Abs(0.1, 0.1)
	for _, test := range []struct {
		name  string
		fn    problem.Functions
		kinks bool
	}{{"smooth", testkit.HandFunctions(), false}, {"kinks", absolute, true}} {
		for _, restart := range []bool{false, true} {
			t.Run(test.name, func(t *testing.T) {
				h := &conexByHand{t0: 1.5, bound: 0.6, value: testkit.HandH, rows: testkit.HandRows, restart: restart}
				if test.kinks {
					h.value = func(x [2]float64) [2]float64 {
						v := testkit.HandH(x)
						return [2]float64{math.Abs(v[0]) - 0.1, math.Abs(v[1]) - 0.1}
					}
					h.rows = func(x [2]float64) [2][2]float64 {
						rows, v := testkit.HandRows(x), testkit.HandH(x)
						for j := range rows {
							for i := range rows[j] {
								rows[j][i] *= math.Copysign(1, v[j])
							}
						}
						return rows
					}
				}
				m := &method.IPPConEx{ProximalPoint: handProximalPoint(), T0: h.t0, Bound: h.bound, Restart: restart}
				compare(t, handProblem(t, test.fn), m, 4*handInner+1, func(x [2]float64) ([2]float64, []float64) {
					x = h.step(x)
					return x, h.y[:]
				})
				if h.y[0] == 0 && h.y[1] == 0 {
					t.Error("the multipliers never rose")
				}
			})
		}
	}
}

// Five constraints are linearised by differences, two by gradients. The iterates agree if the other
// three constraints are inactive.
func TestIPPConExLinearisesManyConstraintsByDifferences(t *testing.T) {
	few := testkit.HandFunctions()
	many := few
	many.M = 5
	many.G = func(dst, x []float64) {
		few.G(dst[:2], x)
		dst[2], dst[3], dst[4] = -100, -100, -100
	}
	many.JacobianT = func(dst, x, w []float64) { few.JacobianT(dst, x, w[:2]) }
	run := func(fn problem.Functions) ([]float64, *trainer.Result) {
		p := handProblem(t, fn)
		r := require.Value(trainer.Train(context.Background(), p, &method.IPPConEx{ProximalPoint: handProximalPoint(), T0: 1.5, Bound: 0.6},
			trainer.Settings{Iterations: 40}))(t)
		return testkit.Iterate(p), r
	}
	x, a := run(few)
	y, b := run(many)
	if testkit.Distance(y, x) > 1e-8 {
		t.Errorf("x = %v by differences, %v by gradients", y, x)
	}
	if a.Point.GradientEvaluations != 3*40 || b.Point.GradientEvaluations != 40 {
		t.Errorf("%d and %d gradients, want 1 + m = 3 and 1 an iteration", a.Point.GradientEvaluations, b.Point.GradientEvaluations)
	}
}

// rho^ follows the settings, or the curvature at the start: f = x^2/2 - y^2 has the eigenvalues 1
// and -2.
func TestProximalPointChoosesRho(t *testing.T) {
	saddle := problem.Functions{N: 2,
		F:        func(x []float64) float64 { return x[0]*x[0]/2 - x[1]*x[1] },
		Gradient: func(dst, x []float64) { dst[0], dst[1] = x[0], -2*x[1] }}
	bowl := saddle
	bowl.F = func(x []float64) float64 { return x[0]*x[0]/2 + x[1]*x[1] }
	bowl.Gradient = func(dst, x []float64) { dst[0], dst[1] = x[0], 2*x[1] }
	for _, test := range []struct {
		name string
		fn   problem.Functions
		set  method.ProximalPoint
		note string // "": no note
		warn string
	}{
		{"estimated", saddle, method.ProximalPoint{}, "rho^ = 4, from the modulus of weak convexity, 2", ""},
		{"convex", bowl, method.ProximalPoint{}, "rho^ = 0.2,", ""},
		{"modulus", saddle, method.ProximalPoint{Modulus: 3}, "rho^ = 6, from the modulus of weak convexity, 3", ""},
		{"given", saddle, method.ProximalPoint{RhoHat: 5}, "", ""},
		{"too small", saddle, method.ProximalPoint{RhoHat: 1}, "", "is at most the modulus of weak convexity estimated at the start, 2"},
	} {
		for _, m := range []trainer.Method{&method.IPPSSG{ProximalPoint: test.set}, &method.IPPConEx{ProximalPoint: test.set}} {
			r := require.Value(trainer.Train(context.Background(), testkit.Start(t, test.fn, 1, 0.1), m, trainer.Settings{Iterations: 3}))(t)
			if (test.note != "") != (len(r.Notes) == 1) || test.note != "" && !testkit.Mentions(r.Notes, test.note) {
				t.Errorf("%s %s: notes %q, want %q", m.Name(), test.name, r.Notes, test.note)
			}
			if (test.warn != "") != (len(r.Warnings) == 1) || test.warn != "" && !testkit.Mentions(r.Warnings.Texts(), test.warn) {
				t.Errorf("%s %s: warnings %q, want %q", m.Name(), test.name, r.Warnings, test.warn)
			}
		}
	}
}

// With OutputRandom the output is a random centre.
func TestProximalPointRandomOutput(t *testing.T) {
	for name, make := range map[string]func() trainer.Method{
		"ipp-ssg":   func() trainer.Method { return &method.IPPSSG{ProximalPoint: method.ProximalPoint{Inner: 4}} },
		"ipp-conex": func() trainer.Method { return &method.IPPConEx{ProximalPoint: method.ProximalPoint{Inner: 4}} },
	} {
		var drawn []int
		for seed := range uint64(50) {
			r := require.Value(trainer.Train(context.Background(), testkit.Start(t, testkit.Line(), 0), make(), trainer.Settings{
				Iterations: 14, Output: trainer.OutputRandom, Seed: seed}))(t)
			drawn = append(drawn, r.Output)
		}
		slices.Sort(drawn)
		if got := slices.Compact(drawn); !slices.Equal(got, []int{4, 8, 12}) {
			t.Errorf("%s: drew %v, want the centres 4, 8 and 12", name, got)
		}
	}
}

// A run that ends inside an inner loop returns the mean of that loop up to the end, and records
// this mean. The state holds the inner iterate.
func TestProximalPointReturnsTheMean(t *testing.T) {
	for _, m := range []trainer.Method{
		&method.IPPSSG{ProximalPoint: handProximalPoint(), Tolerance: 5, Bound: 3},
		&method.IPPConEx{ProximalPoint: handProximalPoint(), T0: 1.5, Bound: 0.6},
	} {
		p := handProblem(t, testkit.HandFunctions())
		l := &testkit.Journal{}
		r := require.Value(trainer.Train(context.Background(), p, m, trainer.Settings{Iterations: handInner + 2, RecordEvery: 1, Recorder: l}))(t)
		x, inner := testkit.Iterate(p), r.State.Vectors["iterate"]
		if testkit.Distance(x, inner) < 1e-3 {
			t.Errorf("%s: returned the iterate %v itself", m.Name(), x)
		}
		at := [2]float64{x[0], x[1]}
		h := testkit.HandH(at)
		if math.Abs(r.Objective-testkit.HandF(at)) > 1e-14 || testkit.Distance(r.Point.Constraints, h[:]) > 1e-14 || l.Records[handInner+2].Objective != r.Objective {
			t.Errorf("%s: the result's f and g are %v and %v, of its point %v and %v", m.Name(), r.Objective, r.Point.Constraints, testkit.HandF(at), h)
		}
		center := r.State.Vectors["proximal.center"]
		if f := testkit.HandF([2]float64{center[0], center[1]}); math.Abs(l.Records[handInner].Objective-f) > 1e-14 {
			t.Errorf("%s: f = %v at the centre, recorded %v", m.Name(), f, l.Records[handInner].Objective)
		}
	}
}

// In a loop of 10, every step jumps over the set |x| <= 1/1000, and the centre never changes. N
// doubles until an iterate lies in the set.
func TestIPPSSGLengthensLoopsThatRepeat(t *testing.T) {
	fn := testkit.Line()
	fn.G = func(dst, x []float64) { dst[0] = x[0] }
	fn.Pieces = problem.Abs(1e-3)
	run := func(iterations int) (x, inner float64) {
		p := testkit.Start(t, fn, 0)
		m := &method.IPPSSG{ProximalPoint: method.ProximalPoint{Inner: 10}, Tolerance: 1e-4}
		r := require.Value(trainer.Train(context.Background(), p, m, trainer.Settings{Iterations: iterations}))(t)
		return testkit.Iterate(p)[0], r.State.Numbers["proximal.inner"][0]
	}
	if x, inner := run(10); x != 0 || inner != 20 {
		t.Errorf("after one loop x = %v and N = %v, want 0 and 20", x, inner)
	}
	if x, inner := run(20000); !(x > 5e-4 && x <= 1.1e-3) || inner < 100 {
		t.Errorf("x = %v, N = %v, want x near 1e-3 and N long", x, inner)
	}
}
