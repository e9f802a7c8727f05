package decide

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/certify/infeasible"
	"ppal/trainer/method"
	"ppal/trainer/problem"
)

// reporting is a method that reports a multiplier.
type reporting struct {
	trainer.Method
	nu []float64
}

func (r reporting) Report() trainer.Report { return trainer.Report{Nu: r.nu} }

// TestRoundsSearchNoMultiplier checks that a round leaves its certificate with the method's own
// multiplier, and that the end of the run looks for a better one.
func TestRoundsSearchNoMultiplier(t *testing.T) {
	f := fourRows(t, 3)
	l := require.Value(newLoop(f.Smooth, &method.ALM{}, trainer.Settings{Iterations: 12}, f))(t)
	require.Value(l.round(t.Context()))(t)
	own := l.result.Certificate
	if own.Own != nil || !slices.Equal(own.Nu, l.m.Report().Nu) {
		t.Errorf("the round's certificate: %+v, the method's own multiplier %v", own, l.m.Report().Nu)
	}
	require.NoError(t, l.finish())
	if c := l.result.Certificate; !(c.Epsilon < own.Epsilon) || c.Own == nil || c.Own.Epsilon != own.Epsilon {
		t.Errorf("the certificate of the run %+v, of its round %+v", c, own)
	}
}

// TestFinish finishes runs whose best round is the last, an earlier one, and one before a resume.
func TestFinish(t *testing.T) {
	proof := &infeasible.Certificate{Relaxation: 3}
	for name, change := range map[string]func(l *loop, want *trainer.Result){
		"last":     func(*loop, *trainer.Result) {},
		"at limit": func(l *loop, want *trainer.Result) { l.at.Iteration, want.Status = 100, trainer.IterationLimit },
		"time": func(l *loop, want *trainer.Result) {
			l.result.Result.Status, want.Status = trainer.TimeLimit, trainer.TimeLimit
		},
		"earlier": func(l *loop, want *trainer.Result) {
			last := *l.result.Result
			last.Attainable, last.Notes, last.Warnings, last.Certificate.Nu, last.Trend.Multipliers = false, nil, nil, []float64{7, 7}, 0.5
			l.result.Result, want.Trend.Multipliers = &last, 0.5
		},
		"resumed": func(l *loop, want *trainer.Result) {
			l.best.kept, l.best.result = l.best.result, nil
			l.result.Result = &trainer.Result{Status: trainer.IterationLimit, Iterations: 50, State: want.State}
			want.Trend, want.Certificate, want.Objective = trainer.Trend{}, certify.Certificate{}, 2
		},
		"resumed without summary": func(l *loop, want *trainer.Result) {
			l.best.result = nil
			want.Certificate, want.Objective = certify.Certificate{}, 2
		},
		"the tolerance of a round": func(l *loop, _ *trainer.Result) { l.result.Result.Status = trainer.Converged },
		"the tolerance": func(l *loop, want *trainer.Result) {
			l.result.Result.Status, l.asked, want.Status = trainer.Converged, 7, trainer.Converged
		},
		"infeasible": func(l *loop, want *trainer.Result) {
			l.conflict.proof = proof
			want.Status, want.Infeasible, want.Warnings = trainer.Infeasible, proof, trainer.Warnings{{Text: "told"}}
		},
		"the objective of Start": func(l *loop, want *trainer.Result) {
			l.best.start, l.rounds = true, 2
			want.Certificate, want.Objective, want.BestFeasible = certify.Certificate{}, 2, nil
		},
		"a round after Start": func(l *loop, _ *trainer.Result) { l.f.Start = []float64{1, 1} },
		"a multiplier that may be improved": func(l *loop, want *trainer.Result) {
			l.m = reporting{nu: []float64{3, 3}}
			want.Certificate, want.Objective = certify.Certificate{}, 2
		},
	} {
		f := fourRows(t, -1)
		last := &trainer.Result{Status: trainer.IterationLimit, Iterations: 50, Seconds: 1, State: &trainer.State{Method: "m"}, Objective: 44, Attainable: true, Warnings: trainer.Warnings{{Text: "end"}},
			Notes: []string{"note"}, Decay: trainer.Decay{Stationarity: 1, Infeasibility: 2, Complementarity: 3}, BestFeasible: &trainer.Best{Iteration: 4},
			Certificate: certify.Certificate{Nu: []float64{5, 6}, Epsilon: 7}, Trend: trainer.Trend{Multipliers: 0.25}}
		want := *last
		l := &loop{p: termsAt(t, -1), m: reporting{}, f: f, set: trainer.Settings{Iterations: 100}, result: &Result{Result: last},
			shifts: []float64{8, 9}, at: problem.Point{Iteration: 50, GradientEvaluations: 60}, seconds: 70, warnings: warnings{told: trainer.Warnings{{Text: "told"}}},
			best: &solution{round: Round{Iteration: 30, Output: 30, Shifts: []float64{0.5, 1}}, x: []float64{2}, nu: []float64{0.5, 1}, result: last}}
		want.Status, want.Seconds, want.Output, want.Warnings = trainer.RoundsEnded, 70, 30, trainer.Warnings{{Text: "told"}, {Text: "end"}}
		change(l, &want)
		if name == "resumed without summary" {
			last := *last
			l.result.Result = &last
		}
		require.NoError(t, f.Smooth.Map().SetObjective(0, []float64{1, 1}))
		require.NoError(t, l.finish())
		// At x = 2: f = 2, and the excesses 2 - 1/4 and 4 - 2 - 1/2 less the shifts.
		at := affineOf(t, 2, problem.AffineRow{Coefficients: []float64{1, 0}, Bound: 0.75}, problem.AffineRow{Coefficients: []float64{-1, 1}, Bound: 1.5})
		want.Point = problem.NewPoint(at)
		want.Point.Iteration, want.Point.GradientEvaluations = 30, 60
		require.NoError(t, want.Point.Forward(at))
		if want.Certificate.Nu == nil {
			var err error
			if want.Certificate, err = certify.Better(at, &want.Point, l.best.nu, nil, certify.Settings{}); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(&want, l.result.Result, cmp.AllowUnexported(problem.Point{}, trainer.Trend{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if want := name == "the objective of Start"; l.result.OfStart != want {
			t.Errorf("%s: of Start: %t", name, l.result.OfStart)
		}
		if x, y := iterate(l.p), iterate(f.Smooth); x[0] != 2 || y[0] != 2 || !slices.Equal(f.Smooth.Map().Shifts(), []float64{0.5, 1}) || !slices.Equal(l.shifts, []float64{0.5, 1}) {
			t.Errorf("%s: weights %v and %v, shifts %v", name, x, y, f.Smooth.Map().Shifts())
		}
	}
}
