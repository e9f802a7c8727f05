package session

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/constraints"
	"ppal/datasets/tabular"
	"ppal/internal/plots"
	"ppal/internal/report"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/session/internal/load"
	"ppal/trainer/session/results"
)

// The rates of a run on a table agree with its measures. summary.json has the rates of every group.
// The times of the summary add up to the total.
func TestRatesOfATable(t *testing.T) {
	s := require.Value(New(t.Context(), Options{
		Data: Table{Dataset: "synthetic-compas", TableOptions: tabular.TableOptions{Split: tabular.DefaultSplit}},
		Task: EqualizedOdds{}, Settings: trainer.Settings{Iterations: 30}, Files: Files{Renderer: report.Renderer{}},
	}))(t)
	defer s.Close()
	r := require.Value(s.Train(t.Context()))(t)
	for _, split := range r.Splits {
		if split.Rates == nil || split.ROC == nil {
			t.Fatalf("%s: no rates", split.Name)
		}
		if d := math.Abs(split.Rates.Overall["error"].Value - split.Named["error"]); d > 1e-12 {
			t.Errorf("%s: the error differs by %v from the measure", split.Name, d)
		}
		if n := len(split.Rates.ByGroup); n != 2 {
			t.Fatalf("%s: %d groups", split.Name, n)
		}
		a, b := split.Rates.ByGroup[0], split.Rates.ByGroup[1]
		gap := a.Rates["tpr"].Value - b.Rates["tpr"].Value
		if d := math.Abs(math.Abs(gap) - math.Abs(split.Named["tpr_gap"])); d > 1e-12 {
			t.Errorf("%s: the gap of the true positive rates is %v, the measure %v", split.Name, gap, split.Named["tpr_gap"])
		}
		if held := split.Name != results.Training; held != (a.Rates["tpr"].Interval != nil) {
			t.Errorf("%s: interval %v", split.Name, a.Rates["tpr"].Interval)
		}
		at := results.ROCPoint{FPR: split.Rates.Overall["fpr"].Value, TPR: split.Rates.Overall["tpr"].Value}
		if d := distance(split.ROC, at); d > 0.02 {
			t.Errorf("%s: the chosen threshold %v is %v from the ROC curve", split.Name, at, d)
		}
	}
	dir := filepath.Join(t.TempDir(), "run")
	require.NoError(t, s.Save(dir))
	sum := require.Value(rundir.ReadSummary(rundir.Dir(dir).Summary()))(t)
	if diff := cmp.Diff(r.Splits[2].Rates, sum.Rates[results.Test]); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{plots.GroupRatesFile, plots.ROCFile} {
		if _, err := os.Stat(filepath.Join(rundir.Dir(dir).Plots(), name)); err != nil {
			t.Error(err)
		}
	}
	parts := sum.Seconds + sum.SecondsReading + sum.SecondsMeasuring
	if named := sum.SecondsCertificates + sum.SecondsRounds + sum.SecondsRecords + sum.SecondsPlots; sum.SecondsCertificates <= 0 ||
		sum.SecondsRecords <= 0 || sum.SecondsPlots <= 0 || named > sum.SecondsMeasuring {
		t.Errorf("%v s of certificates, %v of rounds, %v of records, %v of plots, %v of measuring in all",
			sum.SecondsCertificates, sum.SecondsRounds, sum.SecondsRecords, sum.SecondsPlots, sum.SecondsMeasuring)
	}
	if sum.SecondsReading <= 0 || sum.SecondsMeasuring <= 0 || math.Abs(parts-sum.SecondsTotal) > 1e-9 {
		t.Errorf("%v s of training, %v of reading, %v of measuring, %v in all", sum.Seconds, sum.SecondsReading, sum.SecondsMeasuring, sum.SecondsTotal)
	}
	data := require.Value(os.ReadFile(rundir.Dir(dir).Summary()))(t)
	var keys struct {
		Rates map[string]struct {
			ByGroup []struct {
				Group string
				Rates map[string]struct {
					Value    float64
					Interval []float64
				}
			} `json:"by_group"`
		}
	}
	require.NoError(t, json.Unmarshal(data, &keys))
	if g := keys.Rates["test"].ByGroup; len(g) != 2 || len(g[0].Rates["fpr"].Interval) != 2 {
		t.Errorf("%+v", g)
	}
}

// distance returns the distance from p to the nearest vertex of the curve.
func distance(curve []results.ROCPoint, p results.ROCPoint) float64 {
	least := math.Inf(1)
	for _, q := range curve {
		least = min(least, math.Hypot(q.FPR-p.FPR, q.TPR-p.TPR))
	}
	return least
}

// Every value of an attribute is a group, in addition to the groups of the task. No group occurs
// twice.
func TestRateGroups(t *testing.T) {
	r := load.Rows{
		Labels: make([]int, 4), Groups: []constraints.Group{{Name: "sex=Female", Rows: []int{0, 2}}},
		Attributes: []constraints.Attribute{
			{Name: "sex", Values: []string{"Female", "Male"}, Of: []int{0, 1, 0, 1}},
			{Name: "age<25", Values: []string{"no", "yes"}, Of: []int{0, -1, 1, 1}},
		},
	}
	want := []results.Group{{Name: "sex=Female", Rows: []int{0, 2}}, {Name: "sex=Male", Rows: []int{1, 3}},
		{Name: "age<25=no", Rows: []int{0}}, {Name: "age<25=yes", Rows: []int{2, 3}}}
	got := require.Value(r.RateGroups(nil))(t)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
