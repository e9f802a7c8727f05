package method

import (
	"context"
	"math"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// slopes is min x^2/2 - x subject to the mean of s_b x - 1/2 <= 0 over blocks b with slopes s_b. A
// batch is a block.
type slopes struct {
	problem.Problem
	s   []float64
	now *float64
}

func newSlopes(t *testing.T, s []float64) *slopes {
	t.Helper()
	now := new(float64)
	p := require.Value(problem.Functions{N: 1, M: 1,
		F:         func(x []float64) float64 { return x[0]*x[0]/2 - x[0] },
		Gradient:  func(dst, x []float64) { dst[0] = x[0] - 1 },
		G:         func(dst, x []float64) { dst[0] = *now*x[0] - 0.5 },
		JacobianT: func(dst, _, w []float64) { dst[0] = *now * w[0] },
	}.New([]float64{0}))(t)
	return &slopes{Problem: p, s: s, now: now}
}

func (b *slopes) Sample(k int) error              { *b.now = b.s[k%len(b.s)]; return nil }
func (b *slopes) Block(k int) (block, blocks int) { return k % len(b.s), len(b.s) }
func (b *slopes) solution() (x float64)           { return 0.5 }
func withoutBlocks(b *slopes) problem.Sampler     { return struct{ problem.Sampler }{b} }
func train(t *testing.T, p problem.Problem, k int) float64 {
	t.Helper()
	m := &PPALA{Primal: step.Settings{Kind: step.Gradient, Fixed: true, Eta: 0.01}}
	require.Value(trainer.Train(context.Background(), p, m, trainer.Settings{Iterations: k, Full: newSlopes(t, []float64{1})}))(t)
	x := []float64{0}
	p.Space().Read(x, problem.Iterate)
	return x[0]
}

// On blocks with other gradients, the coefficients follow the estimate: the iterate converges to
// the solution. With the batches' own values, the covariance of g_b and grad g_b moves the limit.
func TestEstimateRemovesTheCovariance(t *testing.T) {
	p := newSlopes(t, []float64{0.2, 1.8, 0.5, 1.5})
	with := math.Abs(train(t, p, 4000) - p.solution())
	p = newSlopes(t, p.s)
	without := math.Abs(train(t, withoutBlocks(p), 4000) - p.solution())
	if with > 0.02 || without < 3*with {
		t.Errorf("the iterate is %.3g from the solution with the estimate, %.3g without", with, without)
	}
}

// kept is a problem.StateVisitor that keeps the numbers and counts, or restores them.
type kept struct {
	problem.StateVisitor
	numbers map[string][]float64
	counts  map[string]int
	restore bool
}

func (s *kept) Numbers(name string, x []float64) {
	if s.restore {
		copy(x, s.numbers[name])
	}
	s.numbers[name] = append([]float64(nil), x...)
}

func (s *kept) Count(name string, n *int) {
	if s.restore {
		*n = s.counts[name]
	}
	s.counts[name] = *n
}

// Each block has its own values of two constraints. An estimate that was written and read goes on
// with the same values, also in the first pass, and a sample of all rows changes nothing kept.
// From the second pass on the estimate is the sample less the block's old value plus the mean.
func TestEstimateRestored(t *testing.T) {
	g := [][]float64{{1, 10}, {2, 30}, {6, 80}, {4, 10}, {5, 20}, {9, 30}, {1, 1}}
	want := [][]float64{{1, 10}, {2, 30}, {6, 80}, {6, 40}, {7, 30}, {8, 110./3 - 50}, {1, 1}}
	for at := range g {
		b := &slopesToTheEnd{newSlopes(t, []float64{1, 1, 1}), 6} // batch 6 has all rows
		e := constraintEstimate{}
		e.start(b, g[0])
		for k := range g {
			if k > 0 {
				e.observe(k, g[k])
			}
			if k == at {
				state := &kept{numbers: map[string][]float64{}, counts: map[string]int{}}
				e.visitState(state)
				e = constraintEstimate{}
				e.start(b, []float64{7, 7})
				state.restore = true
				e.visitState(state)
			}
			for j, v := range e.estimateAt(&problem.Point{Constraints: g[k]}) {
				if math.Abs(v-want[k][j]) > 1e-12 {
					t.Errorf("restored after batch %d, batch %d: the estimate of constraint %d is %v, want %v", at, k, j+1, v, want[k][j])
				}
			}
		}
		e.start(withoutBlocks(b.slopes), g[0])
		if e.h != nil || e.seen != 0 {
			t.Error("a problem without blocks has an estimate")
		}
	}
}

// batchMeans is the problem min mean_i (x - a_i)^2/2. Each batch holds a single a_i.
type batchMeans struct {
	problem.Problem
	a     []float64
	now   *float64
	asked []int
}

func newBatchMeans(t *testing.T, a []float64) *batchMeans {
	t.Helper()
	now := new(float64)
	p := require.Value(problem.Functions{
		N:        1,
		F:        func(x []float64) float64 { return (x[0] - *now) * (x[0] - *now) / 2 },
		Gradient: func(dst, x []float64) { dst[0] = x[0] - *now },
	}.New([]float64{0}))(t)
	return &batchMeans{Problem: p, a: a, now: now}
}

func (b *batchMeans) Sample(k int) error {
	b.asked = append(b.asked, k)
	*b.now = b.a[k%len(b.a)]
	return nil
}

// The trainer asks for batch k once, before it evaluates x_k. The steps use the batches. The
// records and the result use the full problem.
func TestSamplerTrainsOnBatchesAndRecordsTheWhole(t *testing.T) {
	a := []float64{1, 2, 6}
	full := require.Value(problem.Functions{
		N: 1,
		F: func(x []float64) float64 {
			sum := 0.0
			for _, v := range a {
				sum += (x[0] - v) * (x[0] - v) / 2 / 3
			}
			return sum
		},
		Gradient: func(dst, x []float64) { dst[0] = x[0] - 3 },
	}.New([]float64{0}))(t)
	p := newBatchMeans(t, a)
	var objectives, epochs []float64
	m := &Unconstrained{Primal: step.Settings{Kind: step.Gradient, Fixed: true, Eta: 0.5}}
	r := require.Value(trainer.Train(context.Background(), p, m, trainer.Settings{Iterations: 3, RecordEvery: 1, Full: full, IterationsPerEpoch: 3,
		Recorder: recorderFunc(func(r *trainer.Record) {
			objectives = append(objectives, r.Objective)
			epochs = append(epochs, r.Epoch)
		})}))(t)
	x, want := 0.0, []float64{}
	for k := range 4 {
		want = append(want, ((x-1)*(x-1)+(x-2)*(x-2)+(x-6)*(x-6))/6)
		if k < 3 {
			x -= 0.5 * (x - a[k])
		}
	}
	for k := range want {
		if math.Abs(objectives[k]-want[k]) > 1e-15 || epochs[k] != float64(k)/3 {
			t.Errorf("record %d: objective %v at epoch %v, want %v at %v", k, objectives[k], epochs[k], want[k], float64(k)/3)
		}
	}
	if len(p.asked) != 4 || p.asked[0] != 0 || p.asked[3] != 3 {
		t.Errorf("batches asked for: %v, want 0, 1, 2, 3", p.asked)
	}
	if math.Abs(r.Point.Objective-want[3]) > 1e-15 || math.Abs(r.Certificate.Stationarity-math.Abs(x-3)) > 1e-15 {
		t.Errorf("result %+v, %+v, want the full problem's at %v", r.Point, r.Certificate, x)
	}
}

// constrained is min stiff x^2/2 subject to x - bound <= 0, as a single batch.
func constrained(t *testing.T, stiff, bound float64) *batchMeans {
	t.Helper()
	p := require.Value(problem.Functions{N: 1, M: 1,
		F:         func(x []float64) float64 { return stiff * x[0] * x[0] / 2 },
		Gradient:  func(dst, x []float64) { dst[0] = stiff * x[0] },
		G:         func(dst, x []float64) { dst[0] = x[0] - bound },
		JacobianT: func(dst, _, w []float64) { dst[0] = w[0] },
	}.New([]float64{1}))(t)
	return &batchMeans{Problem: p, a: []float64{0}, now: new(float64)}
}

// The warnings about the start describe the full problem, not the first batch.
func TestSamplerIsDiagnosedOnTheWhole(t *testing.T) {
	for _, test := range []struct {
		name        string
		batch, full *batchMeans
		want        []string
	}{
		{"batch infeasible and stiff", constrained(t, 1000, 0), constrained(t, 1, 2), nil},
		{"whole infeasible", constrained(t, 1, 2), constrained(t, 1, 0.5), []string{"the start is infeasible: the largest violation is 0.5 (--init starts from other weights)"}},
	} {
		m := &PLADA{Primal: step.Settings{Kind: step.Gradient, Fixed: true, Eta: 0.05}} // the bound on eta is 0.056 for a stiffness of 1
		r := require.Value(trainer.Train(context.Background(), test.batch, m, trainer.Settings{Full: test.full}))(t)
		if !slices.Equal(r.Warnings.Texts(), test.want) {
			t.Errorf("%s: warnings %q, want %q", test.name, r.Warnings, test.want)
		}
	}
}

type recorderFunc func(r *trainer.Record)

func (f recorderFunc) Record(r *trainer.Record) error { f(r); return nil }

// shallow is a problem of slopes without hidden layers.
type shallow struct{ *slopes }

func (shallow) Shallow() bool { return true }

// adamOn returns ALM with Adam's steps, ready for iterations on p.
func adamOn(t *testing.T, p problem.BlockSampler) (*ALM, *problem.Point) {
	t.Helper()
	m := &ALM{Inner: 1, Primal: step.Settings{Kind: step.Adam, Eta: 0.1}}
	at := problem.NewPoint(p)
	require.NoError(t, at.SampleAndForward(p, 0))
	require.NoError(t, m.Init(p, &at))
	return m, &at
}

// iterate takes an iteration.
func iterate(t *testing.T, m trainer.Method, p problem.Problem, at *problem.Point) float64 {
	t.Helper()
	require.NoError(t, m.Iterate(p, at))
	at.Iteration++
	return iterateOf(p)[0]
}

// The first pass has w = 1. Then lambda = 1, which each iteration moves by c g/T with c = 1. The
// returned point is the mean of the later iterates with growing weights.
func TestPassesByHand(t *testing.T) {
	p := newSlopes(t, []float64{1, 1, 1, 1})
	m, at := adamOn(t, p)
	w := []float64{0}
	for range 3 {
		iterate(t, m, p, at)
		if m.Coefficients(w, []float64{7}); w[0] != 1 || m.lambda[0] != 1 || m.Return(p) {
			t.Fatalf("in the first pass: w = %v, lambda = %v", w, m.lambda)
		}
	}
	mean := iterate(t, m, p, at)
	if m.Coefficients(w, []float64{7}); w[0] != 8 {
		t.Errorf("after the first pass: w = %v, want 8", w)
	}
	lambda := 1.0
	for j := 2; j < 8; j++ {
		x := iterate(t, m, p, at)
		lambda = max(0, lambda+m.constraints.g[0]/4)
		mean += 4 / (float64(j) + 3) * (x - mean)
		if math.Abs(m.lambda[0]-lambda) > 1e-14 {
			t.Fatalf("lambda is %v after %d iterations, want %v", m.lambda[0], j, lambda)
		}
	}
	if nu := m.Report().Nu; nu[0] != m.lambda[0] {
		t.Errorf("the records' multiplier is %v, want %v", nu, m.lambda)
	}
	if !m.Return(p) || math.Abs(iterateOf(p)[0]-mean) > 1e-14 {
		t.Errorf("the returned point is %v, want %v", iterateOf(p), mean)
	}
	m, _ = adamOn(t, p)
	if m.Inner = 0; m.Init(p, at) != nil || m.passes.first != 0 {
		t.Errorf("a later round begins with %d first passes", m.passes.first)
	}
	if m = (&ALM{Primal: m.Primal}); m.Init(p, at) != nil || m.passes.first != DefaultALMInner/4 {
		t.Errorf("%d first passes of 4 batches", m.passes.first)
	}
	for name, c := range map[string]struct {
		m    trainer.Method
		p    problem.Problem
		want bool
	}{
		"adam": {m, p, true}, "a linear model": {m, shallow{p}, false}, "no blocks": {m, withoutBlocks(p), false},
		"nesterov": {&ALM{}, p, false}, "ppala": {&PPALA{Primal: m.Primal}, p, false},
	} {
		if AveragesOn(c.m, c.p) != c.want {
			t.Errorf("%s: want %v", name, c.want)
		}
	}
}

// The guard returns to the end of the best pass, or to the start, with half the step size.
func TestPassesGuard(t *testing.T) {
	p := newSlopes(t, []float64{1, 1})
	m, at := adamOn(t, p)
	s := m.passes
	dead := false
	pass := func(x, f float64) bool {
		t.Helper()
		p.Space().Write(problem.Iterate, []float64{x})
		at.Objective, at.Constraints[0] = f, -1
		collapsed := func(mean float64, g []float64) bool {
			if mean != f || g[0] != -1 {
				t.Errorf("the means are %v and %v, want %v and -1", mean, g, f)
			}
			return dead
		}
		for range 2 { // batches
			if s.observe(p, at, m.lambda, collapsed) {
				return true
			}
		}
		return false
	}
	dead = true
	if !pass(5, 2) || iterateOf(p)[0] != 0 || s.first != 1 || s.scale != 0.5 {
		t.Errorf("a dead first pass: %+v at %v", s, iterateOf(p))
	}
	dead = false
	if pass(1, 2) || s.first != 0 || !math.IsInf(s.best, 1) {
		t.Errorf("the first pass: %+v", s)
	}
	m.lambda[0] = 3
	if pass(2, 1) || s.best != 1 || s.bestDual[0] != 3 {
		t.Errorf("the best pass: %+v", s)
	}
	m.lambda[0] = 4
	if pass(3, 2) || s.best != 1 || iterateOf(p)[0] != 3 { // 2 = 1.5 best + 0.5
		t.Errorf("a pass at the limit: %+v", s)
	}
	if !pass(4, 2.001) || iterateOf(p)[0] != 2 || m.lambda[0] != 3 || s.scale != 0.25 || s.count != 0 {
		t.Errorf("a worse pass: %+v at %v, lambda %v", s, iterateOf(p), m.lambda)
	}
	if d := m.Demand(); d.ScheduledStep != 0.25*0.1 {
		t.Errorf("the step size is %v", d.ScheduledStep)
	}
	s.returns = mostReturns
	if pass(4, 9) || iterateOf(p)[0] != 4 {
		t.Errorf("after %d returns: %+v", mostReturns, s)
	}
}

// A resumed run continues bit for bit, and a return to an earlier pass sets Adam's moments to 0.
func TestPassesResume(t *testing.T) {
	run := func(settings trainer.Settings) (*trainer.Result, float64) {
		p := newSlopes(t, []float64{0.2, 1.8, 0.5, 1.5})
		m := &ALM{Primal: step.Settings{Kind: step.Adam, Eta: 0.1}}
		SetCollapsed(m, func(_ float64, g []float64) bool { return g[0] > 0.2 })
		settings.Full = newSlopes(t, []float64{1})
		r := require.Value(trainer.Train(context.Background(), p, m, settings))(t)
		return r, iterateOf(settings.Full)[0]
	}
	_, want := run(trainer.Settings{Iterations: 21})
	half, _ := run(trainer.Settings{Iterations: 10})
	_, got := run(trainer.Settings{Iterations: 21, Resume: half.State, ResumeAt: problem.Point{Iteration: 10}})
	if got != want {
		t.Errorf("resumed at 10: x = %v, uninterrupted %v", got, want)
	}
	p := newSlopes(t, []float64{1}) // a pass is an iteration
	m, at := adamOn(t, p)
	m.collapsed = func(float64, []float64) bool { return true }
	moments := &kept{numbers: map[string][]float64{}, counts: map[string]int{}}
	iterate(t, m, p, at)
	m.step.VisitState(onlyCounts{moments})
	if moments.counts["adam.t"] != 0 || m.passes.returns != 1 || !slices.Equal(iterateOf(p), []float64{0}) {
		t.Errorf("%v, %+v", moments.counts, m.passes)
	}
}

// onlyCounts is a visitor of counts.
type onlyCounts struct{ *kept }

func (onlyCounts) Number(string, *float64)       {}
func (onlyCounts) Vector(string, problem.Vector) {}
