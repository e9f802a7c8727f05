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
