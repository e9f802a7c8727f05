package method_test

import (
	"context"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// TestEverySignalEndsTheRun cancels the context at evaluations in all phases of a run, for every
// method: the start, the diagnosis of a fixed step size, iterations, records, near stationarity,
// and searches for a proof that a bound cannot be met. After the signal, the constraint is
// evaluated few times more: for an iteration, a certificate and the result, and for the curvature
// that near stationarity needs. A diagnosis and a search need more. A run that continues repeats a
// diagnosis that the signal ended.
func TestEverySignalEndsTheRun(t *testing.T) {
	fixed := step.Settings{Kind: step.Gradient, Fixed: true, Eta: 1e-3}
	entries := append(table(), entry{name: "ppala fixed", make: func() trainer.Method { return &method.PPALA{Primal: fixed} }},
		entry{name: "plada fixed", make: func() trainer.Method { return &method.PLADA{Primal: fixed} }})
	for _, e := range entries {
		for limit, set := range map[int]trainer.Settings{
			30: {Iterations: 200, RecordEvery: 100},
			58: {Iterations: 2, NearEvery: 1, Near: certify.NearSettings{RhoHat: 8}},
		} {
			evaluations, at, total := 0, 0, 0
			var stop context.CancelFunc
			count := func() {
				if evaluations++; evaluations == at {
					stop()
				}
			}
			fn := problem.Functions{N: 2, M: 1,
				F:         func(x []float64) float64 { return (x[0]-3)*(x[0]-3) + x[1]*x[1]/10 },
				Gradient:  func(d, x []float64) { d[0], d[1] = 2*(x[0]-3), x[1]/5 },
				G:         func(g, x []float64) { count(); g[0] = x[0]*x[0] + x[1]*x[1] + 1 }, // never met
				JacobianT: func(d, x, w []float64) { count(); d[0], d[1] = 2*w[0]*x[0], 2*w[0]*x[1] },
			}
			for ; at <= total; at += 29 { // the run with at = 0 is not interrupted
				var ctx context.Context
				ctx, stop = context.WithCancel(t.Context())
				evaluations = 0
				require.Value(trainer.Train(ctx, testkit.Start(t, fn, 2, 1), e.make(), set))(t)
				stop()
				if at == 0 {
					total = evaluations
				} else if after := evaluations - at; after > limit {
					t.Errorf("%s: %d evaluations after the signal at %d of %d, want at most %d", e.name, after, at, total, limit)
				}
			}
		}
	}
}

// A run that continues from a signal in the diagnosis diagnoses the step size again, with one
// warning each.
func TestDiagnosisAfterASignal(t *testing.T) {
	m := &method.PPALA{Primal: step.Settings{Kind: step.Gradient, Fixed: true, Eta: 1e3}}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	start, kept := testkit.Start(t, testkit.Line(), 2), &testkit.Checkpoints{}
	r := require.Value(trainer.Train(ctx, start, m, trainer.Settings{Iterations: 1, Checkpointer: kept}))(t)
	if r.Status != trainer.Interrupted || r.Warnings.Has(trainer.WarnSettings) || !r.Warnings.Has(trainer.WarnInfeasibleStart) {
		t.Fatalf("%v: %v", r.Status, r.Warnings)
	}
	r = require.Value(trainer.Train(t.Context(), start, m, trainer.Settings{Iterations: 0, Resume: kept.States[0], ResumeAt: kept.Points[0]}))(t)
	if texts := r.Warnings.Texts(); len(texts) != 2 || !r.Warnings.Has(trainer.WarnSettings) {
		t.Errorf("%q", texts)
	}
}
