package session

import (
	"path/filepath"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"ppal/internal/racing"
	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/certify/infeasible"
)

// verdictOf returns the summary of a run with three constraints, after judge. change may change the
// training, the summary and the options.
func verdictOf(change func(r *trainer.Result, sum *Summary, o *Options)) Summary {
	r := &trainer.Result{Status: trainer.IterationLimit, Iterations: 300, Trend: trainer.Trend{Multipliers: 1e-4}}
	sum := Summary{Objective: 0.3, Constraints: []float64{-0.2, -0.1, 0},
		Certificate: rundir.Certificate{Epsilon: 1e-3, Stationarity: 1e-3, Infeasibility: 1e-4, Complementarity: 5e-4}}
	o := Options{}
	change(r, &sum, &o)
	c := &sum.Certificate
	c.Epsilon = max(c.Stationarity, c.Infeasibility, c.Complementarity)
	s := &Session{options: o, pipeline: described{}, training: r}
	s.judge(&sum)
	return sum
}

// described is a pipeline with constraints.
type described struct{ Pipeline }

func (described) Describe() Description {
	return Description{Task: NameNeymanPearson, Constraints: []string{"shirt", "coat", "dress"},
		Provenance: Provenance{Bounds: []float64{0.05, 0.05, 0.1}}}
}

// Each verdict is a golden text: read them aloud.
func TestVerdicts(t *testing.T) {
	decided := func(sum *Summary) { sum.Outcome = &Outcome{BoundsOn: OnDecisions} }
	for name, test := range map[string]struct {
		change func(r *trainer.Result, sum *Summary, o *Options)
		want   string
	}{
		"converged": {func(*trainer.Result, *Summary, *Options) {}, ""},
		"large objective": {func(_ *trainer.Result, sum *Summary, _ *Options) {
			sum.Objective, sum.Certificate.Stationarity = -200, 1.9
		}, ""},
		"stationarity": {func(r *trainer.Result, sum *Summary, _ *Options) {
			sum.Certificate.Stationarity, r.Trend.Multipliers = 0.0123, 0.25
		}, "The run has not converged: the gradient of the Lagrangian has the norm 0.012; at a solution it is 0. The limit of 300 iterations ended the run " +
			"while the multipliers were still changing, by 25% over the last tenth of the iterations. Use more --iterations."},
		"kinks": {func(_ *trainer.Result, sum *Summary, _ *Options) {
			sum.Certificate.Stationarity, sum.Certificate.UpperBound = 0.0123, true
		}, "The run may not have converged: the gradient of the Lagrangian has the norm 0.012; at a solution it is 0. " +
			"The model has kinks (relu, hinge, l1): there the residual is an upper bound, and the run may be closer to a solution. " +
			"The limit of 300 iterations ended the run. Use more --iterations."},
		"not resolved": {func(_ *trainer.Result, sum *Summary, _ *Options) {
			sum.Certificate.Stationarity, sum.Certificate.NotResolved = 0.0123, true
		}, "The run has not converged: the gradient of the Lagrangian has the norm 0.012; at a solution it is 0. " +
			"The search for multipliers was not resolved: other multipliers may show that the run is closer to a solution. " +
			"The limit of 300 iterations ended the run. Use more --iterations."},
		"complementarity": {func(r *trainer.Result, sum *Summary, o *Options) {
			sum.Certificate.Complementarity, r.Status = 0.8, trainer.TimeLimit
		}, "The run has not converged: constraints that are not at their bounds have multipliers; " +
			"the sum of multiplier times distance from the bound is 0.8, and 0 at a solution. The time limit ended the run. Use a longer --time-limit."},
		"violation": {func(r *trainer.Result, sum *Summary, _ *Options) {
			sum.Certificate.Infeasibility, sum.Constraints[0], sum.MaxViolation, r.Attainable = 0.0025, 0.0025, 0.0025, true
		}, "The run has not converged: the bounds are exceeded by up to 0.0025. The limit of 300 iterations ended the run. " +
			"The bounds can be met: a search found a point near the weights that meets all of them. Use more --iterations."},
		"never feasible": {func(r *trainer.Result, sum *Summary, _ *Options) {
			sum.Certificate.Infeasibility, sum.Constraints[0], sum.MaxViolation = 0.2, 0.2, 0.2
		}, "The run has not converged: the bounds are exceeded by up to 0.2. The limit of 300 iterations ended the run. " +
			"The run found no weights that meet all bounds; perhaps there are none. Use more --iterations."},
		"feasible before": {func(r *trainer.Result, sum *Summary, _ *Options) {
			sum.Certificate.Infeasibility, sum.Constraints[0], sum.MaxViolation, r.BestFeasible = 0.2, 0.2, 0.2, &trainer.Best{}
		}, "The run has not converged: the bounds are exceeded by up to 0.2. The limit of 300 iterations ended the run. Use more --iterations."},
		"decisions that never meet a bound": {func(r *trainer.Result, sum *Summary, _ *Options) {
			decided(sum)
			sum.Outcome.Constraints = []rundir.ConstraintOutcome{{Met: true}, {}}
			sum.Certificate.Infeasibility, sum.Constraints[0], sum.MaxViolation = 0.2, 0.2, 0.2
		}, "The run has not converged: the bounds of the smooth problem are exceeded by up to 0.2. The limit of 300 iterations ended the run. " +
			"The run found no weights that meet all bounds; perhaps there are none. Use more --iterations."},
		"weights that are too large": {func(_ *trainer.Result, sum *Summary, _ *Options) {
			decided(sum)
			sum.Objective, sum.Certificate.Stationarity = 132, 0.24
		}, "The run has not converged: the gradient of the Lagrangian of the smooth problem has the norm 0.24; at a solution it is 0. " +
			"The limit of 300 iterations ended the run. Use more --iterations."},
		"rounding": {func(r *trainer.Result, sum *Summary, _ *Options) {
			sum.Certificate.Stationarity, r.Trend.AtRounding = 0.02, true
		}, "The run has not converged: the gradient of the Lagrangian has the norm 0.02; at a solution it is 0. " +
			"The steps are at the rounding level of float32. Use --dtype float64."},
		"rounding in float64": {func(r *trainer.Result, sum *Summary, o *Options) {
			sum.Certificate.Stationarity, r.Trend.AtRounding, o.Device.Dtype, o.BatchSize = 0.02, true, tensor.Float64, 32
		}, "The run has not converged: the gradient of the Lagrangian has the norm 0.02; at a solution it is 0. " +
			"The limit of 300 iterations ended the run. Use more --iterations, or a larger --batch-size, because mini-batches add noise."},
		"smooth problem": {func(r *trainer.Result, sum *Summary, _ *Options) {
			decided(sum)
			sum.Certificate.Infeasibility, sum.Constraints[0], sum.MaxViolation, r.Status = 0.03, 0.03, 0.03, trainer.NoImprovement
			r.Output = 280
		}, "The run has not converged: the bounds of the smooth problem are exceeded by up to 0.03. " +
			"--patience ended the run after 300 iterations: the saved weights, of iteration 280, are the best on the validation rows."},
		"smooth problem within a row": {func(_ *trainer.Result, sum *Summary, _ *Options) {
			decided(sum)
			sum.Certificate.Infeasibility, sum.Constraints[0], sum.MaxViolation = 0.003, 0.003, 0.003
		}, ""},
		"infeasible": {func(r *trainer.Result, _ *Summary, _ *Options) {
			r.Status = trainer.Infeasible
			r.Infeasible = &infeasible.Certificate{Shares: []float64{0.25, 0.75, 0}, Values: []float64{0.1, 0.3, -0.2}, Relaxation: 0.25}
		}, "The bounds cannot be met together near these weights: a search for the least violation ended where no small change of the weights lowers the violation. " +
			"These constraints conflict: coat <= 0.05 (share 75%, exceeded by 0.3), shirt <= 0.05 (share 25%, exceeded by 0.1). " +
			"Relax every bound by at least about 0.25; relaxed by 0.3, a point of the search meets all bounds. Use another --seed."},
		"one bound": {func(r *trainer.Result, sum *Summary, _ *Options) {
			decided(sum)
			r.Status = trainer.Infeasible
			r.Infeasible = &infeasible.Certificate{Shares: []float64{0, 0, 1}, Values: []float64{-0.1, -0.3, 0.2}, Relaxation: 0.2}
		}, "A bound cannot be met near these weights: no threshold of the best round meets the bounds on decisions, and in the smooth problem a search for the " +
			"least violation ended where no small change of the weights lowers the violation. The constraint is dress <= 0.1 (share 100%, exceeded by 0.2). " +
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

// A session on contradictory bounds says so in its summary, with bounds on surrogates and on
// decisions: the error cannot be small and the positive rate large.
func TestConflictInSummary(t *testing.T) {
	for _, on := range []BoundsOn{OnSurrogate, OnDecisions} {
		task := Decisions{SubjectTo: subject(t, "positive_rate <= 0.1", "tpr >= 0.9"), BoundsOn: on}
		o := onTable(task, Table{Dataset: "synthetic-compas"}, func(o *Options) { o.Settings.Iterations = 600 })
		s, err := New(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		r, err := s.Train(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Save(filepath.Join(t.TempDir(), "run")); err != nil {
			t.Fatal(err)
		}
		sum, err := rundir.ReadSummary(filepath.Join(s.Dir(), "summary.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range s.Warnings() {
			if strings.Contains(w, "no threshold") && strings.Contains(w, "--iterations") {
				t.Errorf("%s: the bounds conflict, and the warning advises more iterations: %s", on, w)
			}
		}
		i := sum.Infeasibility
		if sum.Status != string(trainer.Infeasible) || sum.Converged || i == nil || r.Outcome.Met() {
			t.Fatalf("%s: %s, converged %t, %+v", on, sum.Status, sum.Converged, i)
		}
		if len(i.Conflict) != 2 || i.Conflict[0].Share+i.Conflict[1].Share < 0.999 || !strings.Contains(sum.Verdict, "These constraints conflict: ") ||
			!strings.Contains(sum.Verdict, "positive_rate <= 0.1 (share ") || !strings.Contains(sum.Verdict, "tpr >= 0.9 (share ") {
			t.Errorf("%s: %s", on, sum.Verdict)
		}
		if i.Relaxation <= 0 || i.Relaxation > i.MaxViolation+1e-12 || i.MaxViolation > sum.MaxViolation+0.05 {
			t.Errorf("%s: %+v, violation of the run %v", on, i, sum.MaxViolation)
		}
	}
}

// A conflict of bounds on decisions is proven with a margin, for each number of iterations. At the
// end of these runs the sigmoids are steep, and v falls by less than its rounding errors.
func TestConflictIsProvenWithMargin(t *testing.T) {
	racing.Skip(t, "TestConflictInSummary runs the same goroutines")
	for _, iterations := range []int{150, 300, 600} {
		task := Decisions{SubjectTo: subject(t, "positive_rate <= 0.05", "tpr >= 0.8"), BoundsOn: OnDecisions}
		s, err := New(t.Context(), onTable(task, Table{Dataset: "synthetic-compas"}, func(o *Options) { o.Settings.Iterations = iterations }))
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Train(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if c := r.Training.Infeasible; c == nil || c.Stationarity > 0.01 {
			t.Errorf("%d iterations: %v, %+v", iterations, r.Training.Status, c)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
