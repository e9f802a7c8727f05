package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/tensorboard/eventfile"
	"ppal/trainer"
)

// recordSteps returns the steps of the events with an objective.
func recordSteps(t *testing.T, path string) (steps []int) {
	t.Helper()
	for _, e := range eventfile.Read(t, path) {
		if _, ok := e.Scalars["objective"]; ok {
			steps = append(steps, int(e.Step))
		}
	}
	return steps
}

// The event files of a run that was interrupted and then continues hold every record of
// metrics.jsonl: the second file begins after the last record before the checkpoint.
func TestTensorBoard(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	on := func(o *Options) { o.TensorBoard = true }
	interrupt(t, dir, on)
	before := recordsOf(t, dir)
	if steps := recordSteps(t, eventfile.Files(t, dir)[0]); len(steps) != len(before) {
		t.Errorf("%d events for %d records", len(steps), len(before))
	}
	s := own(t, on)
	if _, err := s.Resume(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(""); err != nil {
		t.Fatal(err)
	}
	files := eventfile.Files(t, dir)
	if len(files) != 2 {
		t.Fatalf("files %q", files)
	}
	second := eventfile.Read(t, files[1])
	if !second[1].Start {
		t.Fatalf("the second file does not begin with a start: %+v", second[:3])
	}
	var steps []int
	for _, step := range recordSteps(t, files[0]) {
		if step < int(second[1].Step) {
			steps = append(steps, step)
		}
	}
	steps = append(steps, recordSteps(t, files[1])...)
	records := recordsOf(t, dir)
	if len(steps) != len(records) {
		t.Fatalf("%d events for %d records", len(steps), len(records))
	}
	for i, r := range records {
		if r.Iteration != steps[i] {
			t.Errorf("event %d has step %d, the record %d", i, steps[i], r.Iteration)
		}
	}
	config, err := os.ReadFile(filepath.Join(dir, "config.yaml"))
	if err != nil || !strings.Contains(second[2].Texts["settings"], string(config)) || !strings.Contains(string(config), "tensorboard: true") {
		t.Errorf("settings %q, %v", second[2].Texts, err)
	}
}

// A run without --tensorboard, and a run that ends before its first record, leave no event file.
func TestNoTensorBoard(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	interrupt(t, dir, nil)
	if files := eventfile.Files(t, dir); len(files) > 0 {
		t.Errorf("files %q", files)
	}
	s := own(t, func(o *Options) { o.TensorBoard, o.Files.Version = true, "v9" })
	if err := s.Open(filepath.Join(dir, "discarded")); err != nil {
		t.Fatal(err)
	}
	if err := s.discard(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "discarded")); !os.IsNotExist(err) {
		t.Errorf("the directory is still there: %v", err)
	}
}

// If the event file refuses a record, the training continues with one warning, and no record is
// lost.
func TestTensorBoardRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	var warnings []string
	var s *Session
	s = own(t, func(o *Options) {
		o.TensorBoard, o.Settings.RecordEvery = true, 10
		o.Settings.Warn = func(w trainer.Warning) { warnings = append(warnings, w.Text) }
		o.Settings.Recorder = observer(func(iteration int) {
			if iteration == 100 {
				_ = s.files.events.Close()
			}
		})
	})
	if err := s.Open(dir); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Train(t.Context()); err != nil || r.Training.Status == trainer.Interrupted {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := s.Save(""); err != nil {
		t.Error(err)
	}
	told := 0
	for _, w := range warnings {
		if strings.Contains(w, "the records for TensorBoard cannot be written") {
			told++
		}
	}
	if records := recordsOf(t, dir); told != 1 || records[len(records)-1].Iteration != 300 {
		t.Errorf("warnings %q, %d records", warnings, len(records))
	}
}
