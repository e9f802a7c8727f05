package session

import (
	"context"
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/session/internal/build"
)

// plada selects PLADA with its automatic x-step.
func plada(o *Options) { o.Method = &method.PLADA{} }

// pladaSubgradient selects PLADA with subgradient steps.
func pladaSubgradient(o *Options) { o.Method = &method.PLADA{XStep: method.Subgradient} }

// narrow selects a small network.
func narrow(o *Options) { o.Model = &models.Spec{Hidden: []int{8}, Activation: models.ReLU} }

// Every fairness problem trains. It becomes feasible if its bound can be met, and reports the
// measures of every split.
func TestFairnessProblemsTrain(t *testing.T) {
	notUnderRace(t)
	for name, tc := range map[string]struct {
		task     Task
		dataset  string
		change   func(o *Options)
		measure  string
		feasible bool
	}{
		"dp, absolute":    {DemographicParity{}, "synthetic-compas", plada, "dp_gap", true},
		"dp, split":       {DemographicParity{}, "synthetic-compas", nil, "dp_gap", true},
		"dp, plada split": {DemographicParity{Gaps: constraints.Each}, "synthetic-compas", pladaSubgradient, "dp_gap", true},
		"eo, two":         {EqualizedOdds{}, "synthetic-compas", plada, "tpr_gap", true},
		"eo, max":         {EqualizedOdds{Gaps: constraints.Maximum}, "synthetic-compas", plada, "fpr_gap", true},
		"if, expectation": {Intersectional{Form: AverageGroup}, "synthetic-communities", narrow, "group_error_gap_max", true},
		"if, sampled": {Intersectional{Form: SampledGroup}, "synthetic-communities", func(o *Options) {
			narrow(o)
			pladaSubgradient(o)
		}, "group_loss_violation_max", false},
		"if, multipliers": {Intersectional{Form: SampledGroup}, "synthetic-communities", func(o *Options) {
			narrow(o)
			o.Method = &method.MultiplierModel{Step: 0.01, Seed: 1}
		}, "group_error_violation_max", false},
		"dp, mini-batches": {DemographicParity{}, "synthetic-compas", func(o *Options) {
			plada(o)
			o.BatchSize = 500
		}, "dp_gap", false},
	} {
		t.Run(name, func(t *testing.T) {
			e := buildOptions(t, onTable(tc.task, Table{Dataset: tc.dataset}, tc.change))
			iterations := 60
			if tc.feasible {
				iterations = 200
			}
			r := require.Value(e.Optimize(context.Background(), trainer.Settings{Iterations: iterations, RecordEvery: iterations}))(t)
			final := require.Value(e.Certify(r))(t)
			if worst := problem.MaxViolation(final.Constraints); tc.feasible && worst > 1e-3 {
				t.Errorf("the violation is %v after 200 iterations", worst)
			}
			if start := math.Log(2); final.Objective > 1 || tc.measure == "dp_gap" && final.Objective > start {
				t.Errorf("the objective is %v", final.Objective)
			}
			if len(final.Splits) != 3 || len(final.Values) != 1+len(e.builder.statement.bounds()) {
				t.Errorf("%d splits, %d values of %d constraints", len(final.Splits), len(final.Values), len(e.builder.statement.bounds()))
			}
			for _, s := range final.Splits {
				if v := final.Outcome.Objective.Of(s.Name); v == nil || *v != s.Named["error"] {
					t.Errorf("%s rows: the error on decisions is %v, want %v", s.Name, v, s.Named["error"])
				}
				for _, m := range []string{"error", "auc", "loss", "max_violation", tc.measure} {
					if _, ok := s.Named[m]; !ok {
						t.Errorf("no measure %s of the %s rows in %v", m, s.Name, s.Named)
					}
				}
			}
		})
	}
}

// The problem in blocks of rows equals the training problem in float64.
func TestExactFairness(t *testing.T) {
	require.NoRace(t, "TestBlocksEqualTheWhole and TestExactEqualsTheWhole run the blocks")
	float64s := func(o *Options) { o.Device.Dtype = tensor.Float64 }
	for _, o := range []Options{
		onTable(EqualizedOdds{}, Table{Dataset: "synthetic-adult"}, func(o *Options) { float64s(o); plada(o) }),
		onTable(Intersectional{}, Table{Dataset: "synthetic-communities"}, func(o *Options) { float64s(o); narrow(o) }),
	} {
		e := buildOptions(t, o)
		require.Value(e.Optimize(context.Background(), trainer.Settings{Iterations: 5}))(t)
		sameAsTheBlocks(t, e, exactInBlocks(t, e, 501)) // a block cuts sparse and dense rows
	}
}

// The scores that blocks keep are those of the last weights, whoever asked for them, and scores for
// others leave the problem's gradient as it is.
func TestKeptScores(t *testing.T) {
	e := buildOptions(t, onTable(DemographicParity{}, Table{Dataset: "synthetic-compas"}, nil))
	train, x := e.splits[0], e.iterate()
	other := slices.Clone(x)
	other[0]++
	blocks := require.Value(e.builder.NewExactBlocks(train.Data, x))(t)
	want, wantOther := require.Value(blocks.Scores(x))(t), require.Value(blocks.Scores(other))(t)
	head := require.Value(e.builder.Head(e.builder.rows(train.Rows)))(t)
	p := build.NewExact(e.builder.Builder, blocks, head, x)
	n, m := p.Dims()
	d, gradient := p.Space().New(), make([]float64, 2*n)
	for k := range 2 {
		_, err := p.Forward(make([]float64, m))
		require.NoError(t, err)
		got := require.Value(blocks.Scores(x))(t)
		if k == 1 {
			clear(require.Value(blocks.Scores(x))(t)) // the caller's own
			clear(require.Value(blocks.Scores(other))(t))
			if another := require.Value(blocks.Scores(other))(t); !slices.Equal(another, wantOther) {
				t.Error("the scores of other weights are wrong")
			}
		}
		if !slices.Equal(got, want) {
			t.Error("the kept scores are not those of the weights")
		}
		require.NoError(t, p.Backward(slices.Repeat([]float64{1}, m+1), d))
		p.Space().Read(gradient[k*n:][:n], d)
	}
	if !slices.Equal(gradient[:n], gradient[n:]) {
		t.Error("scores for others change the gradient")
	}
}

// notUnderRace skips a long training under the race detector.
func notUnderRace(t *testing.T) {
	t.Helper()
	require.NoRace(t, "a long training; shorter ones run the same goroutines")
}

// Certify measures the scores of a task without decisions again only if they are not the scores of
// the last record.
func TestCertifyTakesTheMeasuresOfTheLastRecord(t *testing.T) {
	e := buildOptions(t, onTable(DemographicParity{}, Table{Dataset: "synthetic-compas"}, nil))
	r := require.Value(e.Optimize(context.Background(), trainer.Settings{Iterations: 5}))(t)
	var calls atomic.Int32
	e.builder.statement.system = nil
	for _, s := range e.splits {
		s.measure = func([]float64) (Measures, error) {
			calls.Add(1)
			return s.last, nil
		}
	}
	taken := require.Value(e.Certify(r))(t)
	if n := calls.Load(); n != 0 {
		t.Errorf("Certify measured %d splits again", n)
	}
	for _, s := range e.splits {
		s.scores = []float64{1} // as if the last record were of another iterate
	}
	again := require.Value(e.Certify(r))(t)
	if n := int(calls.Load()); n != len(e.splits) {
		t.Errorf("Certify measured %d splits of another iterate, want %d", n, len(e.splits))
	}
	if d := cmp.Diff(taken.Splits, again.Splits); d != "" {
		t.Errorf("the record's measures are others (-record +measured)\n%s", d)
	}
}
