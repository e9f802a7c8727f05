package decide

import (
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/internal/vec"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// deep hides that functions have no hidden layers.
type deep struct{ problem.Problem }

// After the round of Start, the method begins anew at the last weights, even if Settings.Output
// returns another record: the multipliers are 0 and the penalty is the first one. Quasi-Newton
// steps keep their pairs with hidden layers only, and compute the gradient again.
func TestTheMethodBeginsAnewAfterStart(t *testing.T) {
	for name, c := range map[string]struct {
		hidden  bool
		penalty float64
		output  trainer.Output
	}{"without hidden layers": {false, 10, ""}, "with hidden layers": {true, 1, ""}, "another output": {true, 1, trainer.OutputRandom}} {
		f := fourRows(t, 3)
		f.Start = []float64{-1, 0} // -x under x <= 1/4
		var p problem.Problem = f.Smooth
		if c.hidden {
			p = deep{p}
		}
		l := require.Value(newLoop(p, &method.ALM{Primal: step.Settings{Kind: step.LBFGS}}, trainer.Settings{Iterations: 60, RecordEvery: 3, Output: c.output}, f))(t)
		if again, err := l.round(t.Context()); err != nil || !again {
			t.Fatalf("%s: again %v, %v", name, again, err)
		}
		before, after := l.result.State, l.state
		if vec.Norm(before.Numbers["alm.multipliers"]) == 0 || before.Numbers["quasi.pairs"][0] == 0 {
			t.Fatalf("%s: the round of Start has the multipliers %v and %v pairs", name, before.Numbers["alm.multipliers"], before.Numbers["quasi.pairs"])
		}
		if got := after.Numbers["alm.multipliers"]; vec.Norm(got) != 0 {
			t.Errorf("%s: the multipliers are %v", name, got)
		}
		if got := after.Numbers["alm.penalty"][0]; got != c.penalty {
			t.Errorf("%s: the penalty is %v, want %v", name, got, c.penalty)
		}
		want := 0.0
		if c.hidden {
			want = before.Numbers["quasi.pairs"][0]
		}
		if got := after.Numbers["quasi.pairs"][0]; got != want {
			t.Errorf("%s: %v pairs, want %v", name, got, want)
		}
		if after.Numbers["quasi.current"][0] != 0 || after.Numbers["quasi.known"][0] != 0 {
			t.Errorf("%s: the gradient is that of Start", name)
		}
		if got, want := after.Vectors["iterate"], before.Vectors["iterate"]; !slices.Equal(got, want) {
			t.Errorf("%s: the weights are %v, want %v", name, got, want)
		} else if c.output != "" && slices.Equal(want, l.best.x) {
			t.Errorf("%s: the output is the last iterate", name)
		}
	}
}
