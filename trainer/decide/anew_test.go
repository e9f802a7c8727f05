package decide

import (
	"slices"
	"testing"

	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// A round is stuck after 10 checks in a row whose Lagrangian exceeds that of the weights of the
// loss by more than the range of the objective, and in which the violation has not halved.
func TestStuck(t *testing.T) {
	for name, c := range map[string]struct {
		multiplier float64
		violations []float64
		want       int // the check that ends the round; 0: none
	}{
		"the violation rests":           {multiplier: 30, violations: slices.Repeat([]float64{0.2}, 12), want: 10},
		"the violation falls by little": {multiplier: 30, violations: []float64{0.2, 0.19, 0.18, 0.17, 0.16, 0.15, 0.14, 0.13, 0.12, 0.11}, want: 10},
		"the violation halves":          {multiplier: 30, violations: append(slices.Repeat([]float64{0.4}, 9), slices.Repeat([]float64{0.19}, 9)...)},
		"the gap is small":              {multiplier: 4, violations: slices.Repeat([]float64{0.2}, 20)},
		"the gap is small for a moment": {multiplier: 30, violations: slices.Concat(slices.Repeat([]float64{0.2}, 9), []float64{0}, slices.Repeat([]float64{0.2}, 9))},
	} {
		f := fourRows(t, 3)
		l := &loop{f: f, shifts: []float64{0.1, 0}, loss: &loss{objective: 0.7, excess: []float64{0.1, -1}}}
		got := 0
		for k, v := range c.violations {
			if l.stuck(0.5, []float64{v, -0.5}, []float64{c.multiplier, 0}) && got == 0 {
				got = k + 1
			}
		}
		if got != c.want {
			t.Errorf("%s: check %d ends the round, want %d", name, got, c.want)
		}
	}
}

// A round that begins anew starts from the weights of the loss, with multipliers of 0 and a firm
// penalty. Only quasi-Newton steps with a penalty of their own begin anew, and not for ever. The
// state keeps what beginning anew needs.
func TestBeginAnew(t *testing.T) {
	f := fourRows(t, 3)
	f.Start = []float64{-1, 0}
	l, err := newLoop(f.Smooth, &method.ALM{Primal: step.Settings{Kind: step.LBFGS}}, trainer.Settings{Iterations: 60, CheckEvery: 3}, f)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := l.round(t.Context()); err != nil || !again || !l.mayBeginAnew() {
		t.Fatalf("again %v, may begin anew %v, %v", again, l.mayBeginAnew(), err)
	}
	x := slices.Clone(l.state.Vectors["iterate"])
	l.stagnation = stagnation{checks: 7, violation: 0.25}
	saved := l.addRounds(l.state)
	for _, penalty := range []float64{1000, 10000} {
		l.p.Space().Write(problem.Iterate, []float64{9})
		if err := l.beginAnew(); err != nil {
			t.Fatal(err)
		}
		s := l.state
		if !slices.Equal(s.Vectors["iterate"], x) || s.Numbers["alm.penalty"][0] != penalty || s.Numbers["alm.multipliers"][0] != 0 || l.stagnation.checks != 0 {
			t.Errorf("the iterate is %v, want %v; penalty %v, multipliers %v, %+v", s.Vectors["iterate"], x, s.Numbers["alm.penalty"], s.Numbers["alm.multipliers"], l.stagnation)
		}
	}
	if l.mayBeginAnew() {
		t.Error("a third round may begin anew")
	}
	if l.anew, l.state.Numbers["outer.steps"] = 0, nil; l.mayBeginAnew() {
		t.Error("first-order steps may begin anew")
	}
	again, err := newLoop(f.Smooth, l.m, trainer.Settings{Iterations: 60, Resume: saved}, f)
	if err != nil {
		t.Fatal(err)
	}
	if w := (stagnation{checks: 7, violation: 0.25}); again.stagnation != w || again.anew != 0 || !slices.Equal(again.loss.x, x) ||
		again.loss.objective != l.loss.objective || !slices.Equal(again.loss.excess, l.loss.excess) {
		t.Errorf("resumed: %+v, %d, %+v, want %+v", again.stagnation, again.anew, again.loss, l.loss)
	}
}
