package session

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppal/internal/datatest"
	"ppal/internal/require"
)

// recordSteps returns the steps of the events with an objective.
func recordSteps(t *testing.T, path string) (steps []int) {
	t.Helper()
	for _, e := range datatest.ReadEvents(t, path) {
		if _, ok := e.Scalars["objective"]; ok {
			steps = append(steps, int(e.Step))
		}
	}
	return steps
}

// shownSteps returns the steps that TensorBoard shows of the event files in dir: a file that begins
// with a start replaces the steps of earlier files from this start on.
func shownSteps(t *testing.T, dir string) (steps []int) {
	t.Helper()
	for k, path := range datatest.EventFiles(t, dir) {
		if k > 0 {
			start := datatest.ReadEvents(t, path)[1]
			if !start.Start {
				t.Fatalf("%s does not begin with a start: %+v", path, start)
			}
			steps = slices.DeleteFunc(steps, func(step int) bool { return step >= int(start.Step) })
		}
		steps = append(steps, recordSteps(t, path)...)
	}
	return steps
}

// recordedSteps returns the iterations of the records in metrics.jsonl.
func recordedSteps(t *testing.T, dir string) (steps []int) {
	t.Helper()
	for _, r := range recordsOf(t, dir) {
		steps = append(steps, r.Iteration)
	}
	return steps
}

// The event files of a run that is extended twice show the records of metrics.jsonl, each once. The
// record at the end of the shorter run is not among them.
func TestExtendTensorBoard(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	on := func(o *Options) { o.TensorBoard = true }
	limitedTo(t, dir, 83, 0, on)
	limitedTo(t, dir, 121, 83, on)
	limitedTo(t, dir, 150, 121, on)
	got, want := shownSteps(t, dir), recordedSteps(t, dir)
	if !slices.Equal(got, want) || slices.Contains(want, 83) || want[len(want)-1] != 150 {
		t.Errorf("TensorBoard shows the steps %v, the records are at %v", got, want)
	}
}

// The event files of a run that was interrupted and then continues hold every record of
// metrics.jsonl: the second file begins after the last record before the checkpoint.
func TestTensorBoard(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	on := func(o *Options) { o.TensorBoard = true }
	interrupt(t, dir, on)
	before := recordsOf(t, dir)
	if steps := recordSteps(t, datatest.EventFiles(t, dir)[0]); len(steps) != len(before) {
		t.Errorf("%d events for %d records", len(steps), len(before))
	}
	s := own(t, on)
	require.Value(s.Resume(dir))(t)
	require.Value(s.Train(t.Context()))(t)
	require.NoError(t, s.Save(""))
	files := datatest.EventFiles(t, dir)
	if len(files) != 2 {
		t.Fatalf("files %q", files)
	}
	if got, want := shownSteps(t, dir), recordedSteps(t, dir); !slices.Equal(got, want) {
		t.Errorf("TensorBoard shows the steps %v, the records are at %v", got, want)
	}
	second := datatest.ReadEvents(t, files[1])
	config, err := os.ReadFile(filepath.Join(dir, "config.yaml"))
	if err != nil || !strings.Contains(second[2].Texts["settings"], string(config)) || !strings.Contains(string(config), "tensorboard: true") {
		t.Errorf("settings %q, %v", second[2].Texts, err)
	}
}

// A run without --tensorboard, and a run that ends before its first record, leave no event file.
func TestNoTensorBoard(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	interrupt(t, dir, nil)
	if files := datatest.EventFiles(t, dir); len(files) > 0 {
		t.Errorf("files %q", files)
	}
	s := own(t, func(o *Options) { o.TensorBoard, o.Files.Version = true, "v9" })
	require.NoError(t, s.Open(filepath.Join(dir, "discarded")))
	require.NoError(t, s.discard())
	if _, err := os.Stat(filepath.Join(dir, "discarded")); !os.IsNotExist(err) {
		t.Errorf("the directory is still there: %v", err)
	}
}
