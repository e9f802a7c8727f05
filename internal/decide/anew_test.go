package decide

import (
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// weighing is a method with a penalty.
type weighing struct {
	trainer.Method
	penalty float64
}

func (m *weighing) CurrentPenalty() float64 { return m.penalty }
func (m *weighing) BeginWith(c float64)     { m.penalty = c }

// A round is stuck after 10 checks in a row in which a bound is exceeded, the violation has not
// halved, and the decisions are no better than at the weights of the loss; or if the penalty has
// grown to that of a round that begins anew. With a method that has no penalty, the round goes on.
func TestStuck(t *testing.T) {
	const worse, equal, ahead = -0.1, 0, 0.1 // the objective of the loss minus that of the decisions
	rests := slices.Repeat([]float64{0.2}, 12)
	for name, c := range map[string]struct {
		m          trainer.Method
		loss       float64
		first      float64 // penalty
		anew       int
		violations []float64
		want       int // the check that ends the round; 0: none
		inVain     bool
	}{
		"the violation rests":           {m: &weighing{penalty: 10}, loss: worse, violations: rests, want: 10},
		"the decisions are as good":     {m: &weighing{penalty: 10}, loss: equal, violations: rests, want: 10},
		"the decisions are better":      {m: &weighing{penalty: 10}, loss: ahead, violations: rests},
		"the violation falls by little": {m: &weighing{penalty: 10}, loss: worse, violations: []float64{0.2, 0.19, 0.18, 0.17, 0.16, 0.15, 0.14, 0.13, 0.12, 0.11}, want: 10},
		"the violation halves":          {m: &weighing{penalty: 10}, loss: worse, violations: append(slices.Repeat([]float64{0.4}, 9), slices.Repeat([]float64{0.19}, 9)...)},
		"it rises and halves":           {m: &weighing{penalty: 10}, loss: worse, violations: []float64{0.2, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.24, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2}},
		"the bound is met for a moment": {m: &weighing{penalty: 10}, loss: worse, violations: slices.Concat(slices.Repeat([]float64{0.2}, 9), []float64{0.01}, slices.Repeat([]float64{0.2}, 9))},
		"the penalty has grown":         {m: &weighing{penalty: 1000}, loss: ahead, first: 10, violations: []float64{0.2}, want: 1},
		"the first penalty is large":    {m: &weighing{penalty: 1000}, loss: ahead, first: 1000, violations: []float64{0.2}},
		"it has begun anew":             {m: &weighing{penalty: 10000}, loss: ahead, first: 10, anew: 1, violations: []float64{0.2}},
		"no penalty":                    {m: &method.GDA{}, loss: worse, violations: rests, inVain: true},
	} {
		f := fourRows(t, 0)
		l := &loop{p: f.Smooth, m: c.m, f: f, shifts: []float64{0, 0}, set: trainer.Settings{Tolerance: 0.0125}, anew: c.anew,
			loss: &loss{penalty: c.first}}
		r := require.Value(l.count())(t)
		l.loss.violation, l.loss.worth = r.Exact.Violation, r.Exact.worth()+c.loss
		got := 0
		for k, v := range c.violations {
			stuck := require.Value(l.stuck([]float64{v, -0.5}))(t)
			if stuck && got == 0 {
				got = k + 1
			}
		}
		if got != c.want || l.stagnation.inVain != c.inVain {
			t.Errorf("%s: check %d ends the round, want %d; in vain %v", name, got, c.want, l.stagnation.inVain)
		}
	}
}

// A round that begins anew starts from the weights of the loss, with multipliers of 0 and a firm
// penalty, and not for ever. The state keeps what beginning anew needs.
func TestBeginAnew(t *testing.T) {
	f := fourRows(t, 3)
	f.Start = []float64{-1, 0}
	l := require.Value(newLoop(f.Smooth, &method.ALM{Primal: step.Settings{Kind: step.LBFGS}}, trainer.Settings{Iterations: 60, CheckEvery: 3}, f))(t)
	if again, err := l.round(t.Context()); err != nil || !again || !l.mayBeginAnew() {
		t.Fatalf("again %v, may begin anew %v, %v", again, l.mayBeginAnew(), err)
	}
	x := slices.Clone(l.state.Vectors["iterate"])
	l.stagnation = stagnation{checks: 7, violation: 0.25, inVain: true}
	saved := l.addRounds(l.state)
	for _, penalty := range []float64{1000, 10000} {
		l.p.Space().Write(problem.Iterate, []float64{9})
		require.NoError(t, l.beginAnew())
		s := l.state
		if !slices.Equal(s.Vectors["iterate"], x) || s.Numbers["alm.penalty"][0] != penalty || s.Numbers["alm.multipliers"][0] != 0 || l.stagnation.checks != 0 {
			t.Errorf("the iterate is %v, want %v; penalty %v, multipliers %v, %+v", s.Vectors["iterate"], x, s.Numbers["alm.penalty"], s.Numbers["alm.multipliers"], l.stagnation)
		}
	}
	if l.mayBeginAnew() {
		t.Error("a third round may begin anew")
	}
	again := require.Value(newLoop(f.Smooth, l.m, trainer.Settings{Iterations: 60, Resume: saved}, f))(t)
	if w := (stagnation{checks: 7, violation: 0.25, inVain: true}); again.stagnation != w || again.anew != 0 || !slices.Equal(again.loss.x, x) ||
		again.loss.worth != l.loss.worth || again.loss.penalty != 10 || again.loss.violation != l.loss.violation {
		t.Errorf("resumed: %+v, %d, %+v, want %+v", again.stagnation, again.anew, again.loss, l.loss)
	}
}
