package method

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// slopesToTheEnd is slopes whose batches from a number on have all rows.
type slopesToTheEnd struct {
	*slopes
	from int
}

func (b *slopesToTheEnd) Sample(k int) error {
	if k >= b.from {
		*b.now = 1 // the mean of the slopes
		return nil
	}
	return b.slopes.Sample(k)
}

func (b *slopesToTheEnd) Block(k int) (block, blocks int) {
	if k >= b.from {
		return 0, 0
	}
	return b.slopes.Block(k)
}

// allSlopes is slopes with all rows, smooth unless kinks.
type allSlopes struct {
	problem.Problem
	now   *float64
	kinks bool
}

func (a *allSlopes) Forward(g []float64) (float64, error) {
	*a.now = 1
	return a.Problem.Forward(g)
}

func (a *allSlopes) NonSmooth() bool { return a.kinks }

func (b *slopes) whole() *allSlopes { return &allSlopes{Problem: b.Problem, now: b.now} }

// observer is a Recorder that calls the function.
type observer func(r *trainer.Record) error

func (o observer) Record(r *trainer.Record) error { return o(r) }

// From the given iteration on, the methods take quasi-Newton steps on all rows, which end at the
// solution. Their settings stay as given.
func TestFinishEndsAtTheSolution(t *testing.T) {
	const iterations, from = 60, 40
	for name, c := range map[string]struct {
		make func(s step.Settings) trainer.Method
		want float64
	}{
		"ppala":         {func(s step.Settings) trainer.Method { return &PPALA{Primal: s} }, 0.5},
		"plada":         {func(s step.Settings) trainer.Method { return &PLADA{Primal: s} }, 0.5},
		"alm":           {func(s step.Settings) trainer.Method { return &ALM{Primal: s} }, 0.5},
		"unconstrained": {func(s step.Settings) trainer.Method { return &Unconstrained{Primal: s} }, 1},
	} {
		for _, kind := range []step.Kind{step.Auto, step.Nesterov} {
			p := &slopesToTheEnd{newSlopes(t, []float64{0.2, 1.8, 0.5, 1.5}), from}
			m := c.make(step.Settings{Kind: kind})
			if !FinishOn(m, p.whole(), from) {
				t.Fatalf("%s, %v: refused", name, kind)
			}
			reached := -1 // the first iterate at the solution
			watch := observer(func(r *trainer.Record) error {
				x := []float64{0}
				p.Space().Read(x, problem.Iterate)
				if reached < 0 && math.Abs(x[0]-c.want) < 1e-9 {
					reached = r.Iteration
				}
				return nil
			})
			r := require.Value(trainer.Train(context.Background(), p, m, trainer.Settings{Iterations: iterations, RecordEvery: 1, Recorder: watch, Full: p.whole()}))(t)
			x := []float64{0}
			p.Space().Read(x, problem.Iterate)
			if math.Abs(x[0]-c.want) > 1e-5 || r.Iterations != iterations {
				t.Errorf("%s, %v: x = %v after %d iterations, want %v", name, kind, x, r.Iterations, c.want)
			}
			if c.want == 0.5 && reached >= 0 && reached <= from { // without constraint, the batches have no noise
				t.Errorf("%s, %v: at the solution after %d iterations, before the quasi-Newton steps", name, kind, reached)
			}
			if primal := m.(chooser).primal().FirstOrder().Kind; primal != step.Nesterov {
				t.Errorf("%s, %v: the primal step is %v after the run, want nesterov", name, kind, primal)
			}
		}
	}
}

// Methods with another primal step, methods without quasi-Newton steps and problems with kinks keep
// their steps.
func TestFinishRefuses(t *testing.T) {
	p := newSlopes(t, []float64{1, 1})
	kinks := p.whole()
	kinks.kinks = true
	for name, c := range map[string]struct {
		method trainer.Method
		whole  problem.Problem
	}{
		"gradient": {&PPALA{Primal: step.Settings{Kind: step.Gradient}}, p.whole()},
		"adam":     {&ALM{Primal: step.Settings{Kind: step.Adam}}, p.whole()},
		"gda":      {&GDA{}, p.whole()},
		"kinks":    {&PPALA{}, kinks},
	} {
		if FinishOn(c.method, c.whole, 5) {
			t.Errorf("%s: accepted", name)
		}
		if f, ok := c.method.(*PPALA); ok && f.finish != nil {
			t.Errorf("%s: the method has last iterations", name)
		}
	}
}

// The mean is that of the iterates of the second half of the iterations on batches.
func TestFinishMean(t *testing.T) {
	p := newSlopes(t, []float64{1, 1})
	for _, c := range []struct {
		from  int
		path  []float64 // x_k
		want  float64
		count int
	}{
		{6, []float64{0, 9, 9, 9, 1, 2, 6, 50}, 3, 3},
		{5, []float64{0, 9, 9, 1, 2, 6, 50}, 3, 3},
		{1, []float64{0, 4, 50}, 4, 1},
	} {
		f := &finish{whole: p.whole(), from: c.from, mean: p.Space().New()}
		for k := range c.path[1:] {
			p.Space().Write(problem.Iterate, c.path[k+1:k+2])
			if k < c.from { // the later iterations are those of f.last
				f.moved(&problem.Point{Iteration: k})
			}
		}
		got := []float64{0}
		p.Space().Read(got, f.mean)
		if math.Abs(got[0]-c.want) > 1e-12 || f.count != c.count {
			t.Errorf("from %d: the mean is %v of %d, want %v of %d", c.from, got, f.count, c.want, c.count)
		}
	}
}

// scriptedReport is a finisher with given multipliers.
type scriptedReport struct {
	finisher
	report trainer.Report
}

func (s *scriptedReport) Report() trainer.Report { return s.report }

// The quasi-Newton steps begin at the mean if it has the smaller augmented Lagrangian, else at the
// last iterate. f = x^2/2 - x, g = x - 1/2 with all rows.
func TestFinishStart(t *testing.T) {
	for _, c := range []struct {
		last, mean  float64
		multipliers []float64
		auxiliary   []float64
		count       int
		want        float64
	}{
		{last: 0.9, mean: 0.5, multipliers: []float64{0}, count: 3, want: 0.5},
		{last: 0.5, mean: 0.9, multipliers: []float64{0}, count: 3, want: 0.5},
		{last: 0.9, mean: 0.5, multipliers: []float64{0}, count: 0, want: 0.9}, // no mean
		// phi = x^2/2 - x + 5 max(0, x - 1/2 + w/10)^2 - w^2/20 is -0.383 and -0.255 with w = 0,
		// -0.323 and -0.655 with w = 3
		{last: 0.52, mean: 0.3, multipliers: []float64{0}, count: 3, want: 0.52},
		{last: 0.52, mean: 0.3, multipliers: []float64{3}, count: 3, want: 0.3},
		{last: 0.52, mean: 0.3, multipliers: []float64{0}, auxiliary: []float64{3}, count: 3, want: 0.3},
	} {
		p := newSlopes(t, []float64{1, 1})
		whole := p.whole()
		f := &finish{whole: whole, mean: p.Space().New(), count: c.count,
			method: &scriptedReport{report: trainer.Report{Multipliers: c.multipliers, Auxiliary: c.auxiliary}}}
		p.Space().Write(f.mean, []float64{c.mean})
		p.Space().Write(problem.Iterate, []float64{c.last})
		at := problem.NewPoint(whole)
		require.NoError(t, at.Forward(whole))
		require.NoError(t, f.takeMean(&at))
		x := []float64{0}
		p.Space().Read(x, problem.Iterate)
		if x[0] != c.want || at.Objective != c.want*c.want/2-c.want || at.Constraints[0] != c.want-0.5 {
			t.Errorf("%+v: the steps begin at %v with f = %v and g = %v", c, x, at.Objective, at.Constraints)
		}
	}
}

// The quasi-Newton steps begin with the positive parts of the multipliers.
func TestFinishMultipliers(t *testing.T) {
	for mu, want := range map[float64]float64{2: 2, -1: 0} {
		p := newSlopes(t, []float64{1, 1})
		whole := p.whole()
		at := problem.NewPoint(whole)
		last := &ALM{}
		f := &finish{whole: whole, last: last, method: &scriptedReport{report: trainer.Report{Multipliers: []float64{9}, Auxiliary: []float64{mu}}}}
		if err := f.begin(&at); err != nil || !slices.Equal(last.lambda, []float64{want}) {
			t.Errorf("mu %v: lambda %v, want %v, %v", mu, last.lambda, want, err)
		}
	}
}

// toTheEnd returns slopes on batches, and with all rows.
func toTheEnd(t *testing.T, from int) (batches, whole problem.Problem) {
	t.Helper()
	b := &slopesToTheEnd{newSlopes(t, []float64{0.2, 1.8, 0.5, 1.5}), from}
	return b, b.whole()
}

// finishers are the methods that can take their last iterations on all rows.
func finishers() map[string]func() finisher {
	nesterov := step.Settings{Kind: step.Nesterov}
	return map[string]func() finisher{
		"ppala":         func() finisher { return &PPALA{} },
		"momentum":      func() finisher { return &PPALA{Primal: nesterov} },
		"plada":         func() finisher { return &PLADA{} },
		"alm":           func() finisher { return &ALM{} },
		"unconstrained": func() finisher { return &Unconstrained{} },
	}
}

// A run that stops among the batches, before the last iterations or among them, and continues, has
// the state of the whole run to the bit.
func TestFinishResumes(t *testing.T) {
	const iterations, from = 22, 20
	for name, build := range finishers() {
		run := func(s trainer.Settings) *trainer.Result {
			p, whole := toTheEnd(t, from)
			m := build()
			if !FinishOn(m, whole, from) {
				t.Fatalf("%s: refused", name)
			}
			s.Full = whole
			return require.Value(trainer.Train(context.Background(), p, m, s))(t)
		}
		whole := run(trainer.Settings{Iterations: iterations})
		want := whole.State
		if want.Numbers["finish.count"][0] != from/2 || want.Numbers["finish.begun"][0] != 1 {
			t.Errorf("%s: a mean of %v iterates, begun %v", name, want.Numbers["finish.count"], want.Numbers["finish.begun"])
		}
		for _, stop := range []int{2, 6, from/2 + 3, from - 1, from, from + 1} {
			half := run(trainer.Settings{Iterations: stop})
			_, estimate := half.State.Numbers["batches.estimate"]
			if begun := half.State.Numbers["finish.begun"][0] == 1; begun != (stop > from) || estimate == begun {
				t.Errorf("%s, after %d iterations: begun %v, an estimate %v", name, stop, begun, estimate)
			}
			resumed := run(trainer.Settings{Iterations: iterations, Resume: half.State, ResumeAt: half.Point})
			same(t, name, want.Numbers, resumed.State.Numbers)
			same(t, name, want.Vectors, resumed.State.Vectors)
			if !slices.Equal(resumed.Notes, whole.Notes) || len(resumed.Warnings) != len(whole.Warnings) {
				t.Errorf("%s, after %d iterations: the notes are %q, want %q; warnings %q, want %q", name, stop, resumed.Notes, whole.Notes, resumed.Warnings, whole.Warnings)
			}
		}
	}
}

// same fails the test unless two maps of numbers are equal.
func same(t *testing.T, name string, want, got map[string][]float64) {
	t.Helper()
	for k, x := range want {
		if !slices.EqualFunc(x, got[k], func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }) {
			t.Errorf("%s: after a resume, %s is %v, want %v", name, k, got[k], x)
		}
	}
	if len(want) != len(got) {
		t.Errorf("%s: after a resume, the state has %d parts, want %d", name, len(got), len(want))
	}
}

// Quasi-Newton steps begin with the multipliers of the batches. Another Init, of a new round,
// begins them without multipliers.
func TestFinishKeepsTheMultipliers(t *testing.T) {
	for name, build := range finishers() {
		p, whole := toTheEnd(t, 0)
		at := problem.NewPoint(p)
		require.NoError(t, at.SampleAndForward(p, 0))
		m := build()
		if !FinishOn(m, whole, 0) {
			t.Fatalf("%s: refused", name)
		}
		require.NoError(t, m.Init(p, &at))
		want := []float64{7}
		var f *firstOrder
		switch m := m.(type) {
		case *PPALA:
			m.dual.mu[0], f = 7, &m.firstOrder
		case *PLADA:
			m.dual.mu[0], f = 7, &m.firstOrder
		case *ALM:
			m.lambda[0], f = 7, &m.firstOrder
		case *Unconstrained:
			want, f = nil, &m.firstOrder
		}
		if over, err := f.finish.takesOver(&at); !over || err != nil {
			t.Fatal(over, err)
		}
		if got := m.Report().Multipliers; !slices.Equal(got, want) {
			t.Errorf("%s: the multipliers are %v, want %v", name, got, want)
		}
		state := &names{}
		m.VisitState(state)
		if !slices.Contains(state.seen, "outer.steps") {
			t.Errorf("%s: no quasi-Newton steps, with the state %v", name, state.seen)
		}
		if kind := m.primal().FirstOrder().Kind; kind != step.Nesterov {
			t.Errorf("%s: the primal step is %v at the end, want nesterov", name, kind)
		}
		require.NoError(t, m.Init(p, &at))
		if got := m.Report().Multipliers; want != nil && !slices.Equal(got, []float64{0}) {
			t.Errorf("%s: in a new round, the multipliers are %v", name, got)
		}
	}
}

// names is a problem.StateVisitor that keeps the names of the state.
type names struct{ seen []string }

func (n *names) Number(name string, _ *float64)       { n.seen = append(n.seen, name) }
func (n *names) Count(name string, _ *int)            { n.seen = append(n.seen, name) }
func (n *names) Numbers(name string, _ []float64)     { n.seen = append(n.seen, name) }
func (n *names) Vector(name string, _ problem.Vector) { n.seen = append(n.seen, name) }

// fails is slopes on all rows, whose forward pass with the number fail fails.
type fails struct {
	*allSlopes
	fail, passes int
}

var errPass = errors.New("the pass fails")

func (f *fails) Forward(g []float64) (float64, error) {
	if f.passes++; f.passes == f.fail {
		return 0, errPass
	}
	return f.allSlopes.Forward(g)
}

// starting returns last iterations at x = last with the mean of the iterates, and the point there.
func starting(t *testing.T, m finisher, fail int, last, mean float64) (*finish, *problem.Point) {
	t.Helper()
	whole := &fails{allSlopes: newSlopes(t, []float64{1, 1}).whole()}
	space := whole.Space()
	f := &finish{method: m, last: m.onAllRows(), whole: whole, mean: space.New(), count: 3}
	space.Write(f.mean, []float64{mean})
	space.Write(problem.Iterate, []float64{last})
	at := problem.NewPoint(whole)
	require.NoError(t, at.Forward(whole))
	require.NoError(t, m.Init(whole, &at))
	whole.fail, whole.passes = fail, 0
	return f, &at
}

// A pass that fails at the start of the last iterations ends the run with its error, at the mean of
// the iterates, at the last iterate, and at the start in a resumed run.
func TestFinishReturnsErrors(t *testing.T) {
	for fail, want := range []error{nil, errPass, errPass} {
		f, at := starting(t, &PPALA{Primal: step.Settings{Kind: step.Nesterov}}, fail, 0.5, 0.9) // the mean is worse: a pass there, and one back
		for range 2 {
			if _, err := f.takesOver(at); !errors.Is(err, want) {
				t.Errorf("pass %d fails: %v, want %v", fail, err, want)
			}
		}
	}
	for fail, want := range []error{nil, errPass} {
		f, at := starting(t, &PPALA{Primal: step.Settings{Kind: step.Nesterov}}, fail, 0.5, 0.9)
		f.visitState(&kept{numbers: map[string][]float64{}, counts: map[string]int{"finish.count": 3, "finish.begun": 1}, restore: true, StateVisitor: &names{}})
		if _, err := f.takesOver(at); !errors.Is(err, want) {
			t.Errorf("pass %d after a resume fails: %v, want %v", fail, err, want)
		}
		if quasi := f.last.(*ALM).second != nil; quasi != (want == nil) {
			t.Errorf("pass %d after a resume fails: quasi-Newton steps %v", fail, quasi)
		}
	}
}

// The comparison of the mean with the last iterate keeps no vector. If both are equally good, the
// steps begin at the mean.
func TestFinishStartsAtTheMean(t *testing.T) {
	fn := problem.Functions{N: 1, F: func(x []float64) float64 { return x[0] * x[0] }, Gradient: func(d, x []float64) { d[0] = 2 * x[0] }}
	p := require.Value(fn.New([]float64{-1}))(t)
	space := p.Space()
	f := &finish{method: &scriptedReport{}, whole: p, mean: space.New(), count: 3}
	space.Write(f.mean, []float64{1})
	at := problem.NewPoint(p)
	require.NoError(t, at.Forward(p))
	free := space.New()
	space.Free(free)
	require.NoError(t, f.takeMean(&at))
	x := []float64{0}
	space.Read(x, problem.Iterate)
	if x[0] != 1 {
		t.Errorf("the steps begin at %v, want the mean 1", x)
	}
	if v := space.New(); v != free {
		t.Errorf("takeMean keeps the vector %v", free)
	}
}
