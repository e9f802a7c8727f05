package session

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/decide"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/method"
	"ppal/trainer/step"
)

// A session on contradictory bounds says so in its summary, with bounds on surrogates and on
// decisions: the error cannot be small and the positive rate large.
func TestConflictInSummary(t *testing.T) {
	require.NoRace(t, "TestConfidenceOfRates runs the same goroutines")
	for _, on := range []constraints.BoundsOn{constraints.OnSurrogate, constraints.OnDecisions} {
		task := Decisions{SubjectTo: subject(t, "positive_rate <= 0.1", "tpr >= 0.9"), BoundsOn: on}
		o := onTable(task, Table{Dataset: "synthetic-compas"}, func(o *Options) { o.Settings.Iterations = 600 })
		s := require.Value(New(t.Context(), o))(t)
		defer s.Close()
		r := require.Value(s.Train(t.Context()))(t)
		require.NoError(t, s.Save(filepath.Join(t.TempDir(), "run")))
		sum := require.Value(rundir.ReadSummary(filepath.Join(s.Dir(), "summary.json")))(t)
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
	require.NoRace(t, "TestConfidenceOfRates runs the same goroutines")
	for _, iterations := range []int{150, 300, 600} {
		task := Decisions{SubjectTo: subject(t, "positive_rate <= 0.05", "tpr >= 0.8"), BoundsOn: constraints.OnDecisions}
		s := require.Value(New(t.Context(), onTable(task, Table{Dataset: "synthetic-compas"}, func(o *Options) { o.Settings.Iterations = iterations })))(t)
		r := require.Value(s.Train(t.Context()))(t)
		if c := r.Training.Infeasible; c == nil || c.Stationarity > 0.01 {
			t.Errorf("%d iterations: %v, %+v", iterations, r.Training.Status, c)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// On the real tables the measurement of near stationarity solves the proximal problem of every
// record or shows that the proximal problem is infeasible.
func TestNearStationarityOnRealTables(t *testing.T) {
	root := os.Getenv("PPAL_DATA")
	if root == "" {
		t.Skip("PPAL_DATA is not set")
	}
	for _, tc := range []struct {
		problem Task
		dataset string
		solved  int // least number of solved problems of the three iterates
	}{
		{DemographicParity{}, "compas", 2}, {EqualizedOdds{}, "bank", 2},
	} {
		t.Run(fmt.Sprintf("%T-%s", tc.problem, tc.dataset), func(t *testing.T) {
			table := Table{Dataset: tc.dataset, Dir: root, TableOptions: tabular.TableOptions{Split: tabular.Split{Train: 100}}}
			e := buildOptions(t, onTable(tc.problem, table, func(o *Options) { o.Method = &method.PLADA{XStep: method.ProxLinear} }))
			defer e.Close()
			l := &nearRecords{}
			require.Value(e.Optimize(t.Context(), trainer.Settings{Iterations: 60, RecordEvery: 30, NearEvery: 1, Recorder: l}))(t)
			solved := 0
			for _, n := range l.near {
				switch {
				case n.Reason == "" && n.Distance >= 0 && n.Error < math.Max(1e-3, 0.05*n.Distance):
					solved++
				case !strings.Contains(n.Reason, "infeasible"):
					t.Errorf("distance %v with error %v: %q", n.Distance, n.Error, n.Reason)
				}
			}
			if len(l.near) != 3 || solved < tc.solved {
				t.Errorf("%d of %d solved, want %d of 3", solved, len(l.near), tc.solved)
			}
		})
	}
}

// nearRecords keeps the measurements of near stationarity of a run.
type nearRecords struct{ near []certify.Stationarity }

// Record implements trainer.Recorder.
func (l *nearRecords) Record(r *trainer.Record) error {
	if r.NearStationarity != nil {
		l.near = append(l.near, *r.NearStationarity)
	}
	return nil
}

// unclear returns rows of three skewed features that say little about the label.
func unclear(n int, seed uint64) *Matrix {
	random := rand.New(rand.NewPCG(seed, 0))
	x, labels := &matrix.Dense{Rows: n, Cols: 3, Data: make([]float64, 3*n)}, make([]int, n)
	for i := range n {
		a, b, c := random.ExpFloat64(), random.ExpFloat64(), math.Floor(random.ExpFloat64()/5)
		copy(x.Data[3*i:], []float64{a - 1, b - 1, c})
		labels[i] = -1
		if random.Float64() < 1/(1+math.Exp(0.4+0.75*(a-1)-0.9*math.Log1p(3.5*b)+0.7)) {
			labels[i] = 1
		}
	}
	return &Matrix{Features: x, Labels: labels}
}

// TestRoundsBeginAnew checks that a run under a bound on precision does not stay where multipliers
// grow without effect: a round begins anew, and the run ends below the false negative rate of the
// weights of the loss, 0.932. With quasi-Newton steps every run converges.
func TestRoundsBeginAnew(t *testing.T) {
	require.NoRace(t, "TestConfidenceOfRates runs the same goroutines")
	momentum := step.Settings{Kind: step.Nesterov}
	for name, m := range map[string]func() trainer.Method{
		"alm":           func() trainer.Method { return &method.ALM{} },
		"alm, nesterov": func() trainer.Method { return &method.ALM{Primal: momentum} },
		"ppala":         func() trainer.Method { return &method.PPALA{Primal: momentum} },
		"plada":         func() trainer.Method { return &method.PLADA{Primal: momentum} },
		"gdpa":          func() trainer.Method { return &method.GDPA{Primal: &momentum, Automatic: true} },
	} {
		anew := 0
		for seed := range uint64(2) {
			o := Options{Data: Matrices{Train: unclear(1500, 4)}, Task: Decisions{Minimize: constraints.FNR(), SubjectTo: subject(t, "precision >= 0.8")},
				Method: m(), Settings: trainer.Settings{Iterations: 800, Seed: seed}, Device: Device{Kind: CPU, Threads: 2}}
			r := trained(t, o)
			if name == "alm" && r.Training.Status != trainer.RoundsEnded {
				t.Errorf("seed %d: %s after %d iterations", seed, r.Training.Status, r.Training.Iterations)
			}
			i := slices.IndexFunc(r.Training.Notes, func(note string) bool { return strings.Contains(note, "began anew") })
			if i < 0 {
				continue
			}
			if anew++; name == "alm" && !strings.HasPrefix(r.Training.Notes[i], "2 rounds") { // the first converges
				t.Errorf("seed %d: %s", seed, r.Training.Notes[i])
			}
			if *r.Outcome.Objective.Train > 0.93 {
				t.Errorf("%s, seed %d: a false negative rate of %v", name, seed, *r.Outcome.Objective.Train)
			}
		}
		if anew == 0 {
			t.Errorf("%s: no round began anew: the rows test nothing", name)
		}
	}
}

// A method without a penalty warns that no round gained on the weights of the loss.
func TestCannotBeginAnew(t *testing.T) {
	require.NoRace(t, "TestConfidenceOfRates runs the same goroutines")
	r := trained(t, Options{Data: Matrices{Train: unclear(1500, 4)}, Task: Decisions{Minimize: constraints.FNR(), SubjectTo: subject(t, "precision >= 0.8")},
		Method: &method.GDA{}, Settings: trainer.Settings{Iterations: 800}, Device: Device{Kind: CPU, Threads: 2}})
	if !r.Training.Warnings.Has(decide.WarnStuck) {
		t.Errorf("the warnings are %q", r.Training.Warnings.Texts())
	}
}
