package save_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/datatest"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/session/internal/save"
)

func TestRecorder(t *testing.T) {
	dir := t.TempDir()
	clock := time.Unix(1_700_000_000, 500_000_000)
	now := func() time.Time { clock = clock.Add(time.Second); return clock }
	r := require.Value(save.NewEventRecorder(dir, []string{"gap(tpr, sex) <= 0.1", "a\x1b\xff", "a\x1b\xff"}, []byte("seed: 1\n"), 0, now))(t)
	x := 0.5
	record := trainer.Record{
		Iteration: 7, Seconds: 3, Epoch: 2, GradientEvaluations: 9, Objective: 0.25, MaxViolation: 0.125, Stationarity: 1, Infeasibility: 2, Complementarity: 3,
		Constraints: []float64{1, 2, 3}, Multipliers: []float64{4, 5, 6}, StepSize: &x, Certificate: certify.Certificate{Epsilon: 3},
		Measures: map[string]float64{"train_error": 0.1, "test_error_of_rows": 0.2},
	}
	require.NoError(t, r.Record(&record))
	list := datatest.EventFiles(t, dir)
	if len(list) != 1 || !strings.HasPrefix(filepath.Base(list[0]), "events.out.tfevents.1700000001.") {
		t.Fatalf("files %q", list)
	}
	none, noText := map[string]float32{}, map[string]string{}
	want := []datatest.Event{
		{Time: 1_700_000_001.5, Version: "brain.Event:2", Scalars: none, Texts: noText},
		{Time: 1_700_000_002.5, Scalars: none, Texts: map[string]string{"settings": "```yaml\nseed: 1\n```\n"}},
		{Time: 1_700_000_003.5, Step: 7, Texts: noText, Scalars: map[string]float32{
			"objective": 0.25, "max_violation": 0.125, "residuals/epsilon": 3, "residuals/stationarity": 1, "residuals/feasibility": 2, "residuals/complementarity": 3,
			"run/seconds": 3, "run/epoch": 2, "run/gradient_evaluations": 9, "step/step_size": 0.5,
			"constraints/gap(tpr, sex) <= 0.1": 1, "constraints/a\ufffd\ufffd": 2, "constraints/a\ufffd\ufffd (2)": 3,
			"multipliers/gap(tpr, sex) <= 0.1": 4, "multipliers/a\ufffd\ufffd": 5, "multipliers/a\ufffd\ufffd (2)": 6,
			"train/error": 0.1, "test/error_of_rows": 0.2,
		}},
	}
	if diff := cmp.Diff(want, datatest.ReadEvents(t, list[0])); diff != "" { // the record is in the file before Close
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// A run that continues writes a file of its own, which TensorBoard reads last, and which tells
// TensorBoard to drop the steps that the run repeats. This holds also if the clock jumps back.
func TestContinue(t *testing.T) {
	dir := t.TempDir()
	for k, seconds := range []int64{1_700_000_000, 1_700_000_000, 1_600_000_000} {
		w := require.Value(save.CreateEvents(dir, time.Unix(seconds, 0), int64(10*k)))(t)
		list := datatest.EventFiles(t, dir)
		if len(list) != k+1 || !strings.Contains(list[k], fmt.Sprint(1_700_000_000+k)) {
			t.Fatalf("files %q", list)
		}
		events := datatest.ReadEvents(t, list[k])
		if started := len(events) == 2 && events[1].Start && events[1].Step == int64(10*k); started != (k > 0) {
			t.Errorf("start at step %d: %+v", 10*k, events)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	w := require.Value(save.CreateEvents(dir, time.Now(), 0))(t)
	if err := w.Remove(); err != nil || len(datatest.EventFiles(t, dir)) != 3 {
		t.Errorf("%q, %v", datatest.EventFiles(t, dir), err)
	}
	if _, err := save.CreateEvents(filepath.Join(dir, "none"), time.Now(), 0); err == nil || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
}
