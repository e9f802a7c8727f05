package suite

import (
	"context"
	"errors"
	"math"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// Every contender of ppal spends its evaluations and reports the checkpoints up to its limit.
func TestOwn(t *testing.T) {
	list := require.Value(Select("hs043", "hs113"))(t)
	for _, p := range list {
		for _, own := range owns() {
			b := require.Value(Build(t.Context(), p, "", 0, 1))(t)
			r := &Run{Problem: p.Name, Contender: own.Name, Limit: 300}
			require.NoError(t, own.train(t.Context(), b, p.taskName(), r))
			// Quasi-Newton steps end where x rounds to itself.
			spent := r.Spent == 300 || own.Name != "nesterov" && r.Spent < 300
			if math.IsNaN(r.best()) || len(r.Checkpoints) != 9 || !spent {
				t.Errorf("%s on %s: best %v, %d checkpoints, %d evaluations", own.Name, p.Name, r.best(), len(r.Checkpoints), r.Spent)
			}
			// The last forward pass on hs113 is of a rejected trial.
			if c, _ := r.certificate(); own.Name != "nesterov" && !(c.Epsilon <= 1e-6) {
				t.Errorf("%s on %s: epsilon %v of the returned point", own.Name, p.Name, c.Epsilon)
			}
		}
	}
}

// The training stops at the limit. The meter counts all passes of the method, and no pass of a
// record.
func TestOwnCounts(t *testing.T) {
	list, _ := Select("hs043")
	b := require.Value(Build(t.Context(), list[0], "", 0, 1))(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	m := newMeter(b, func(e Evaluation) error {
		if e.Evaluations >= 50 {
			stop()
		}
		return nil
	}, nil)
	r := require.Value(owns()[1].optimise(ctx, m, "", 1000))(t)
	if got := r.Point.GradientEvaluations; got != m.last.Backwards || m.last.Evaluations != 50 {
		t.Errorf("the method counts %d gradients, the meter %+v", got, m.last)
	}
}

// A contender is the method of its name.
func TestOwnMethod(t *testing.T) {
	if m, err := (Own{"mine", "gda"}).method(""); err != nil || m.Name() != "gda" {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := (Own{"mine", "none"}).method(""); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("an unknown method: %v", err)
	}
}

// A cancelled comparison is not a result.
func TestOwnCancelled(t *testing.T) {
	list, _ := Select("hs043")
	b := require.Value(Build(t.Context(), list[0], "", 0, 1))(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := owns()[0].train(ctx, b, "", &Run{Limit: 50}); err != context.Canceled {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}
