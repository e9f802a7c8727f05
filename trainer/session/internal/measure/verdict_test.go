package measure

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/constraints"
	"ppal/internal/decide"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/problem"
	"ppal/trainer/session/results"
)

// verdictOf returns the summary of a run with three constraints, after Judge. change may change the
// training, the summary and the circumstances.
func verdictOf(change func(r *trainer.Result, sum *results.Summary, c *Circumstances)) results.Summary {
	r := &trainer.Result{Status: trainer.IterationLimit, Iterations: 300, Trend: trainer.Trend{Multipliers: 1e-4}}
	sum := results.Summary{Objective: 0.3, Constraints: []float64{-0.2, -0.1, 0},
		Certificate: &results.Certificate{Epsilon: 1e-3, Stationarity: 1e-3, Infeasibility: 1e-4, Complementarity: 5e-4}}
	how := Circumstances{Float32: true}
	change(r, &sum, &how)
	c := sum.Certificate
	c.Epsilon = max(c.Stationarity, c.Infeasibility, c.Complementarity)
	how.Status, how.AtRounding = r.Status, r.Trend.AtRounding
	Run{Circumstances: how, Training: r, Constraints: []string{"shirt <= 0.05", "coat <= 0.05", "dress <= 0.1"},
		FeasibilityTolerance: trainer.DefaultFeasibilityTolerance}.Judge(&sum)
	return sum
}

// Each verdict is a golden text: read them aloud.
func TestVerdicts(t *testing.T) {
	decided := func(sum *results.Summary) { sum.Outcome = &results.Outcome{BoundsOn: constraints.OnDecisions} }
	for name, test := range map[string]struct {
		change func(r *trainer.Result, sum *results.Summary, o *Circumstances)
		want   string
	}{
		"converged": {func(*trainer.Result, *results.Summary, *Circumstances) {}, ""},
		"large objective": {func(_ *trainer.Result, sum *results.Summary, _ *Circumstances) {
			sum.Objective, sum.Certificate.Stationarity = -200, 1.9
		}, ""},
		"stationarity": {func(r *trainer.Result, sum *results.Summary, _ *Circumstances) {
			sum.Certificate.Stationarity, r.Trend.Multipliers = 0.0123, 0.25
		}, "The run has not converged: the gradient of the Lagrangian has the norm 0.012; at a solution it is 0. The limit of 300 iterations ended the run " +
			"while the multipliers were still changing, by 25% over the last tenth of the iterations. Use more --iterations."},
		"growing multipliers": {func(r *trainer.Result, sum *results.Summary, _ *Circumstances) {
			sum.Certificate.Stationarity, r.Trend.Multipliers = 0.0123, 132.67
		}, "The run has not converged: the gradient of the Lagrangian has the norm 0.012; at a solution it is 0. The limit of 300 iterations ended the run " +
			"while the multipliers were still changing, by more than 100% over the last tenth of the iterations. Use more --iterations."},
		"kinks": {func(_ *trainer.Result, sum *results.Summary, _ *Circumstances) {
			sum.Certificate.Stationarity, sum.Certificate.UpperBound = 0.0123, true
		}, "The run may not have converged: the gradient of the Lagrangian has the norm 0.012; at a solution it is 0. " +
			"The model has kinks (relu, hinge, l1): there the residual is an upper bound, and the run may be closer to a solution. " +
			"The limit of 300 iterations ended the run. Use more --iterations."},
		"not resolved": {func(_ *trainer.Result, sum *results.Summary, _ *Circumstances) {
			sum.Certificate.Stationarity, sum.Certificate.NotResolved = 0.0123, true
		}, "The run has not converged: the gradient of the Lagrangian has the norm 0.012; at a solution it is 0. " +
			"The search for multipliers was not resolved: other multipliers may show that the run is closer to a solution. " +
			"The limit of 300 iterations ended the run. Use more --iterations."},
		"complementarity": {func(r *trainer.Result, sum *results.Summary, _ *Circumstances) {
			sum.Certificate.Complementarity, r.Status = 0.8, trainer.TimeLimit
		}, "The run has not converged: constraints that are not at their bounds have multipliers; " +
			"the sum of multiplier times distance from the bound is 0.8, and 0 at a solution. The time limit ended the run. Use a longer --time-limit."},
		"violation": {func(r *trainer.Result, sum *results.Summary, _ *Circumstances) {
			sum.Certificate.Infeasibility, sum.Constraints[0], sum.MaxViolation, r.Attainable = 0.0025, 0.0025, 0.0025, true
		}, "The run has not converged: the bounds are missed by up to 0.0025. The limit of 300 iterations ended the run. " +
			"The bounds can be met: a search found a point near the weights that meets all of them. Use more --iterations."},
		"never feasible": {func(r *trainer.Result, sum *results.Summary, _ *Circumstances) {
			sum.Certificate.Infeasibility, sum.Constraints[0], sum.MaxViolation = 0.2, 0.2, 0.2
		}, "The run has not converged: the bounds are missed by up to 0.2. The limit of 300 iterations ended the run. " +
			"The run found no weights that meet all bounds; perhaps there are none. Use more --iterations."},
		"feasible before": {func(r *trainer.Result, sum *results.Summary, _ *Circumstances) {
			sum.Certificate.Infeasibility, sum.Constraints[0], sum.MaxViolation, r.BestFeasible = 0.2, 0.2, 0.2, &trainer.Best{}
		}, "The run has not converged: the bounds are missed by up to 0.2. The limit of 300 iterations ended the run. Use more --iterations."},
		"decisions that never meet a bound": {func(r *trainer.Result, sum *results.Summary, _ *Circumstances) {
			decided(sum)
			sum.Outcome.Constraints = []results.ConstraintOutcome{{Met: true}, {}}
			sum.Certificate.Infeasibility, sum.Constraints[0], sum.MaxViolation = 0.2, 0.2, 0.2
		}, "The run has not converged: the bounds of the smooth problem are missed by up to 0.2. The limit of 300 iterations ended the run. " +
			"The run found no weights that meet all bounds; perhaps there are none. Use more --iterations."},
		"weights that are too large": {func(_ *trainer.Result, sum *results.Summary, _ *Circumstances) {
			decided(sum)
			sum.Objective, sum.Certificate.Stationarity = 132, 0.24
		}, "The run has not converged: the gradient of the Lagrangian of the smooth problem has the norm 0.24; at a solution it is 0. " +
			"The limit of 300 iterations ended the run. Use more --iterations."},
		"rounding": {func(r *trainer.Result, sum *results.Summary, _ *Circumstances) {
			sum.Certificate.Stationarity, r.Trend.AtRounding = 0.02, true
		}, "The run has not converged: the gradient of the Lagrangian has the norm 0.02; at a solution it is 0. " +
			"The steps are at the rounding level of float32. Use --dtype float64."},
		"rounding in float64": {func(r *trainer.Result, sum *results.Summary, c *Circumstances) {
			sum.Certificate.Stationarity, r.Trend.AtRounding, c.Float32, c.Batches = 0.02, true, false, true
		}, "The run has not converged: the gradient of the Lagrangian has the norm 0.02; at a solution it is 0. " +
			"The limit of 300 iterations ended the run. Use more --iterations, or a larger --batch-size, because mini-batches add noise."},
		"weights of the loss": {func(r *trainer.Result, sum *results.Summary, c *Circumstances) {
			decided(sum)
			sum.Certificate.Stationarity, r.Status, c.OfLoss = 1.5, trainer.AtRest, true
		}, "The run has not converged: the gradient of the Lagrangian of the smooth problem has the norm 1.5; at a solution it is 0. " +
			"The saved weights are those of the loss, because the rounds of the smooth problem ended at weights with worse decisions. Use another --seed."},
		"smooth problem": {func(r *trainer.Result, sum *results.Summary, _ *Circumstances) {
			decided(sum)
			sum.Certificate.Infeasibility, sum.Constraints[0], sum.MaxViolation, r.Status = 0.03, 0.03, 0.03, trainer.NoImprovement
			r.Output = 280
		}, "The run has not converged: the bounds of the smooth problem are missed by up to 0.03. " +
			"--patience ended the run after 300 iterations: the saved weights, of iteration 280, are the best on the validation rows."},
		"smooth problem within a row": {func(_ *trainer.Result, sum *results.Summary, _ *Circumstances) {
			decided(sum)
			sum.Certificate.Infeasibility, sum.Constraints[0], sum.MaxViolation = 0.003, 0.003, 0.003
		}, ""},
		"infeasible": {func(r *trainer.Result, _ *results.Summary, _ *Circumstances) {
			r.Status = trainer.Infeasible
			r.Infeasible = &certify.Infeasibility{Shares: []float64{0.25, 0.75, 0}, Values: []float64{0.1, 0.3, -0.2}, Relaxation: 0.25}
		}, "The bounds cannot be met together near these weights: a search for the least violation ended where no small change of the weights lowers the violation. " +
			"These constraints conflict: coat <= 0.05 (share 75%, missed by 0.3), shirt <= 0.05 (share 25%, missed by 0.1). " +
			"Relax every bound by at least about 0.25; relaxed by 0.3, a point of the search meets all bounds. Use another --seed."},
		"one bound": {func(r *trainer.Result, sum *results.Summary, _ *Circumstances) {
			decided(sum)
			r.Status = trainer.Infeasible
			r.Infeasible = &certify.Infeasibility{Shares: []float64{0, 0, 1}, Values: []float64{-0.1, -0.3, 0.2}, Relaxation: 0.2}
		}, "A bound cannot be met near these weights: no threshold of the best round meets the bounds on decisions, and in the smooth problem a search for the " +
			"least violation ended where no small change of the weights lowers the violation. The constraint is dress <= 0.1 (share 100%, missed by 0.2). " +
			"Relax this bound by about 0.2. Use another --seed."},
	} {
		t.Run(name, func(t *testing.T) {
			sum := verdictOf(test.change)
			if sum.Verdict != test.want || sum.Converged != (test.want == "") {
				t.Errorf("converged %t:\n%s\nwant\n%s", sum.Converged, sum.Verdict, test.want)
			}
			if (sum.Infeasibility != nil) != strings.Contains(test.want, "cannot be met") {
				t.Errorf("infeasibility: %+v", sum.Infeasibility)
			}
		})
	}
}

func TestWorst(t *testing.T) {
	var w worst
	for row, m := range []float64{1, 3, 2, 3, 0.5} {
		w.add(row, m, 3)
	}
	if want := []wrongRow{{1, 3}, {3, 3}, {2, 2}}; w.wrong != 5 || !slices.Equal(w.list, want) {
		t.Errorf("%+v, want %v", w, want)
	}
}

// Fewer than 10 accepted rows, or 1% of the training rows, are few, unless as few rows are
// positive.
func TestFew(t *testing.T) {
	for _, c := range []struct {
		accepted, positive, rows int
		want                     bool
	}{{9, 200, 240, true}, {10, 200, 240, false}, {10, 200, 1001, true}, {11, 200, 1001, false}, {5, 5, 1000, false}, {5, 6, 1000, true}} {
		rates := require.Value(decide.NewRates(c.rows, 2, nil, func(int) []decide.Entry { return nil }))(t)
		s := Solution{Accepted: c.accepted, Positive: c.positive, Rates: rates}
		if got := s.Few(); got != c.want {
			t.Errorf("%d of %d rows accepted, %d positive: few %t", c.accepted, c.rows, c.positive, got)
		}
	}
}

// TestCertifyBetterKeepsNotResolved checks that the certificate in float64 is not resolved if the
// search of the training was not.
func TestCertifyBetterKeepsNotResolved(t *testing.T) {
	p := require.Value(problem.Functions{N: 1, M: 1, F: func(x []float64) float64 { return -2 * x[0] }, Gradient: func(dst, _ []float64) { dst[0] = -2 },
		G: func(dst, x []float64) { dst[0] = x[0] - 1 }, JacobianT: func(dst, _, w []float64) { dst[0] = w[0] }}.New([]float64{1}))(t)
	at := problem.NewPoint(p)
	require.NoError(t, at.Forward(p))
	for _, unresolved := range []bool{false, true} {
		for _, own := range []*certify.Own{nil, {Nu: []float64{1.5}}} {
			c, err := certifyBetter(p, &at, certify.Certificate{Nu: []float64{1.75}, Own: own, NotResolved: unresolved}, certify.Settings{})
			if err != nil || c.NotResolved != unresolved || c.Nu[0] != 1.75 || c.Stationarity != 0.25 || (c.Own != nil) != (own != nil) {
				t.Errorf("not resolved: %t, own multiplier %+v: %+v, %v", unresolved, own, c, err)
			}
		}
	}
}

// A decision needs one score for two classes, or a score for each class.
func TestDecide(t *testing.T) {
	for _, c := range []struct {
		rows, classes int
		scores        []float64
		want          []int
	}{
		{3, 2, []float64{-1, 0, 1}, []int{0, 0, 1}},
		{3, 2, []float64{1, 0, 0, 1, 2, 2}, []int{0, 1, 0}},
		{2, 3, []float64{0, 1, 0, 3, 1, 2}, []int{1, 0}},
		{2, 3, []float64{1, 2}, nil},
		{2, 3, []float64{1, 2, 3}, nil},
	} {
		var got []int
		if d := Decide(results.Test, make([]string, c.classes), make([]int, c.rows), c.scores); d != nil {
			got = d.Decisions
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%v: %s", c.scores, diff)
		}
	}
}
