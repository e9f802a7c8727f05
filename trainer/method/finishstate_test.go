package method

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// pieceSlopes is slopesToTheEnd with the constraint |s_b x| - 1/2 <= 0, as two pieces.
type pieceSlopes struct {
	problem.Piecewise
	*slopesToTheEnd
}

// allPieces is pieceSlopes with all rows.
type allPieces struct {
	problem.Piecewise
	now *float64
}

func (a *allPieces) Forward(g []float64) (float64, error) {
	*a.now = 1
	return a.Piecewise.Forward(g)
}

// toTheEnd returns slopes on batches, with pieces or without, and with all rows.
func toTheEnd(t *testing.T, pieces bool, from int) (batches, whole problem.Problem) {
	t.Helper()
	b := &slopesToTheEnd{newSlopes(t, []float64{0.2, 1.8, 0.5, 1.5}), from}
	if !pieces {
		return b, b.whole()
	}
	// the slopes' own constraint is h = s_b x - 1/2
	p, err := problem.MakePiecewise(b.Problem, []problem.Piece{{Sign: 1}, {Sign: -1, Offset: -1}})
	if err != nil {
		t.Fatal(err)
	}
	return &pieceSlopes{p, b}, &allPieces{p, b.now}
}

// finishers are the methods that can take their last iterations on all rows.
func finishers() map[string]func() finisher {
	nesterov := step.Settings{Kind: step.Nesterov}
	return map[string]func() finisher{
		"ppala":         func() finisher { return &PPALA{} },
		"momentum":      func() finisher { return &PPALA{Primal: nesterov} },
		"plada":         func() finisher { return &PLADA{} },
		"pieces":        func() finisher { return &PLADA{} },
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
			p, whole := toTheEnd(t, name == "pieces", from)
			m := build()
			if !FinishOn(m, whole, from) {
				t.Fatalf("%s: refused", name)
			}
			s.Full = whole
			r, err := trainer.Train(context.Background(), p, m, s)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		want := run(trainer.Settings{Iterations: iterations}).State
		if want.Numbers["finish.count"][0] != from/2 || want.Numbers["finish.begun"][0] != 1 {
			t.Errorf("%s: a mean of %v iterates, begun %v", name, want.Numbers["finish.count"], want.Numbers["finish.begun"])
		}
		for _, stop := range []int{2, 6, from/2 + 3, from - 1, from, from + 1} {
			half := run(trainer.Settings{Iterations: stop})
			_, estimate := half.State.Numbers["batches.estimate"]
			if begun := half.State.Numbers["finish.begun"][0] == 1; begun != (stop > from) || estimate == begun {
				t.Errorf("%s, after %d iterations: begun %v, an estimate %v", name, stop, begun, estimate)
			}
			rest := run(trainer.Settings{Iterations: iterations, Resume: half.State, ResumeAt: half.Point}).State
			same(t, name, want.Numbers, rest.Numbers)
			same(t, name, want.Vectors, rest.Vectors)
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

// Quasi-Newton steps begin with the multipliers of the batches, and with 0 for pieces.
func TestRestartKeepsTheMultipliers(t *testing.T) {
	for name, build := range finishers() {
		p, whole := toTheEnd(t, name == "pieces", 5)
		at := problem.NewPoint(p)
		if err := at.SampleAndForward(p, 5); err != nil {
			t.Fatal(err)
		}
		m := build()
		if err := m.Init(p, &at); err != nil {
			t.Fatal(err)
		}
		var now func() []float64
		want := []float64{7}
		switch m := m.(type) {
		case *PPALA:
			m.dual.mu[0], now = 7, func() []float64 { return m.dual.mu }
		case *PLADA:
			m.dual.mu[0], now = 7, func() []float64 { return m.dual.mu }
			if name == "pieces" {
				want = []float64{0, 0}
			}
		case *ALM:
			m.lambda[0], now = 7, func() []float64 { return m.lambda }
		default:
			want, now = nil, func() []float64 { return nil }
		}
		if err := m.restart(whole, &at); err != nil {
			t.Fatal(err)
		}
		if got := now(); !slices.Equal(got, want) {
			t.Errorf("%s: the multipliers are %v, want %v", name, got, want)
		}
		state := &names{}
		m.VisitState(state)
		if !slices.Contains(state.seen, "outer.steps") {
			t.Errorf("%s: no quasi-Newton steps, with the state %v", name, state.seen)
		}
		if kind := m.primal().Kind; kind != step.Nesterov {
			t.Errorf("%s: the primal step is %v after the restart, want nesterov", name, kind)
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
	f := &finish{method: m, whole: whole, mean: space.New(), count: 3}
	space.Write(f.mean, []float64{mean})
	space.Write(problem.Iterate, []float64{last})
	at := problem.NewPoint(whole)
	if err := at.Forward(whole); err != nil {
		t.Fatal(err)
	}
	if err := m.Init(whole, &at); err != nil {
		t.Fatal(err)
	}
	whole.fail, whole.passes = fail, 0
	return f, &at
}

// A pass that fails at the start of the last iterations ends the run with its error, at the mean of
// the iterates, at the last iterate, and in the restart of a resumed run.
func TestFinishReturnsErrors(t *testing.T) {
	for fail, want := range []error{nil, errPass, errPass} {
		f, at := starting(t, &PPALA{Primal: step.Settings{Kind: step.Nesterov}}, fail, 0.5, 0.9) // the mean is worse: a pass there, and one back
		for range 2 {
			if _, err := f.problemAt(nil, at); !errors.Is(err, want) {
				t.Errorf("pass %d fails: %v, want %v", fail, err, want)
			}
		}
	}
	for fail, want := range []error{nil, errPass} {
		f, at := starting(t, &PPALA{Primal: step.Settings{Kind: step.Nesterov}}, fail, 0.5, 0.9)
		f.visitState(&kept{counts: map[string]int{"finish.count": 3, "finish.begun": 1}, restore: true, StateVisitor: &names{}})
		if _, err := f.problemAt(nil, at); !errors.Is(err, want) {
			t.Errorf("pass %d after a resume fails: %v, want %v", fail, err, want)
		}
		if quasi := f.method.(*PPALA).second != nil; quasi != (want == nil) {
			t.Errorf("pass %d after a resume fails: quasi-Newton steps %v", fail, quasi)
		}
	}
}

// A restart refuses a problem that quasi-Newton steps do not suit.
func TestRestartRefuses(t *testing.T) {
	kinks := newSlopes(t, []float64{1, 1}).whole()
	at := problem.NewPoint(kinks)
	kinks.kinks = true
	for name, build := range finishers() {
		m := build()
		if err := m.Init(kinks, &at); err != nil {
			t.Fatal(err)
		}
		if err := m.restart(kinks, &at); !errors.Is(err, problem.ErrSettings) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The comparison of the mean with the last iterate keeps no vector. If both are equally good, the
// steps begin at the mean.
func TestFinishStartsAtTheMean(t *testing.T) {
	fn := problem.Functions{N: 1, F: func(x []float64) float64 { return x[0] * x[0] }, Gradient: func(d, x []float64) { d[0] = 2 * x[0] }}
	p, err := fn.New([]float64{-1})
	if err != nil {
		t.Fatal(err)
	}
	space := p.Space()
	f := &finish{method: &scriptedReport{}, whole: p, mean: space.New(), count: 3}
	space.Write(f.mean, []float64{1})
	at := problem.NewPoint(p)
	if err := at.Forward(p); err != nil {
		t.Fatal(err)
	}
	free := space.New()
	space.Free(free)
	if err := f.takeMean(&at); err != nil {
		t.Fatal(err)
	}
	x := []float64{0}
	space.Read(x, problem.Iterate)
	if x[0] != 1 {
		t.Errorf("the steps begin at %v, want the mean 1", x)
	}
	if v := space.New(); v != free {
		t.Errorf("takeMean keeps the vector %v", free)
	}
}
