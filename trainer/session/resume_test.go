package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ppal/datasets/picture"
	"ppal/internal/disk"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/session/results"
	"ppal/trainer/step"
)

// observer is a recorder that calls each at every iteration.
type observer func(iteration int)

func (observer) Record(*trainer.Record) error { return nil }
func (o observer) Tick(at *problem.Point)     { o(at.Iteration) }

// interrupt trains in dir, and cancels the training after two fifths of the iterations. It returns
// the session.
func interrupt(t *testing.T, dir string, change func(o *Options)) *Session {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	at := 0
	s := own(t, func(o *Options) {
		o.CheckpointEvery = time.Hour
		o.Settings.Recorder = observer(func(iteration int) {
			if iteration == at {
				stop()
			}
		})
		if change != nil {
			change(o)
		}
		at = o.Settings.Iterations*2/5 + 3 // between two records
	})
	require.NoError(t, s.Open(dir))
	r := require.Value(s.Train(ctx))(t)
	if r.Training.Status != trainer.Interrupted || !s.Resumable() {
		t.Errorf("%s, and a checkpoint: %v", r.Training.Status, s.Resumable())
	}
	require.NoError(t, s.Save(""))
	return s
}

// recordsOf returns the records of a run without their times.
func recordsOf(t *testing.T, dir string) []trainer.Record {
	t.Helper()
	list := require.Value(rundir.ReadMetrics(rundir.Dir(dir).Metrics()))(t)
	for i := range list {
		list[i].Seconds = 0
	}
	return list
}

// codesOf returns the codes of a run's warnings.
func codesOf(t *testing.T, dir string) []results.WarningCode {
	t.Helper()
	return require.Value(rundir.ReadSummary(rundir.Dir(dir).Summary()))(t).WarningCodes
}

// bytesOf returns the contents of a file.
func bytesOf(t *testing.T, path string) []byte {
	t.Helper()
	return require.Value(os.ReadFile(path))(t)
}

// A run that was interrupted and then continues, and a run that was killed before its first
// checkpoint, give the files of an undisturbed run. Every kind of model is interrupted. The
// start of conv violates the bounds, so that there is a warning with a code.
func TestResume(t *testing.T) {
	pictures := func(kappa float64, m models.Architecture) func(o *Options) {
		return func(o *Options) {
			o.Data = Images{Dataset: "synthetic", Classes: []int{2, 0, 3}, RowsPerClass: 3, Augment: picture.AugmentFlip}
			o.Task, o.Method, o.Model = NeymanPearson{Kappa: []float64{kappa}}, &method.ALM{Primal: step.Settings{Kind: step.Adam}}, m
			o.BatchSize, o.Settings.Iterations, o.Settings.RecordEvery = 4, 12, 5
		}
	}
	for name, change := range map[string]func(o *Options){
		"linear": nil, "network": pictures(5, models.Spec{Hidden: []int{3}}),
		"conv":       pictures(0.5, models.Conv{Channels: []int{2}}),
		"group norm": pictures(5, models.Conv{Channels: []int{2}, Norm: models.GroupNorm, Pool: models.NoPool}),
		"resnet":     pictures(5, models.ResNet{Channels: []int{2}}),
	} {
		if require.Racing && change != nil {
			continue // TestBatchesResume runs the same goroutines
		}
		t.Run(name, func(t *testing.T) { resumes(t, change) })
	}
}

// resumes is TestResume for the options that change makes.
func resumes(t *testing.T, change func(o *Options)) {
	dir := t.TempDir()
	whole, torn, killed := filepath.Join(dir, "whole"), filepath.Join(dir, "torn"), filepath.Join(dir, "killed")
	s := own(t, change)
	require.NoError(t, s.Open(whole))
	want := require.Value(s.Train(t.Context()))(t)
	require.NoError(t, s.Save(""))
	interrupt(t, torn, change)
	require.NoError(t, os.Mkdir(killed, 0o755))
	config := require.Value(os.ReadFile(rundir.Dir(torn).Config()))(t)
	for name, content := range map[string]string{rundir.Dir(killed).Config(): string(config), rundir.Dir(killed).Metrics(): `{"iteration":0,"ep`} {
		require.NoError(t, os.WriteFile(name, []byte(content), 0o644))
	}
	continued := []string{torn, killed}
	if change != nil {
		continued = continued[:1] // before the first checkpoint, models do not differ
	}
	for _, dir := range continued {
		s := own(t, change)
		require.Value(s.Resume(dir))(t)
		got := require.Value(s.Train(t.Context()))(t)
		require.NoError(t, s.Save(""))
		if diff := cmp.Diff(recordsOf(t, whole), recordsOf(t, dir)); diff != "" {
			t.Errorf("%s: the records differ (-whole +resumed):\n%s", dir, diff)
		}
		if diff := cmp.Diff(want.Certificate, got.Certificate); diff != "" {
			t.Errorf("%s: the certificate differs (-whole +resumed):\n%s", dir, diff)
		}
		for _, file := range []string{filepath.Base(rundir.Dir(whole).Best()), filepath.Base(rundir.Dir(whole).Model())} {
			if !slices.Equal(bytesOf(t, filepath.Join(whole, file)), bytesOf(t, filepath.Join(dir, file))) {
				t.Errorf("%s: %s differs", dir, file)
			}
		}
		if diff := cmp.Diff(codesOf(t, whole), codesOf(t, dir)); diff != "" {
			t.Errorf("%s: the codes of the warnings differ (-whole +resumed):\n%s", dir, diff)
		}
		if diff := cmp.Diff(want.Training.Trend, got.Training.Trend, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s: the trend differs (-whole +resumed):\n%s", dir, diff)
		}
		if _, err := rundir.ReadCheckpoint(dir); !errors.Is(err, rundir.ErrNoCheckpoint) { // these runs write none
			t.Errorf("%s: a finished run has a checkpoint: %v", dir, err)
		}
	}
}

// Resume refuses a run that does not fit, in one line, and changes no file.
func TestResumeRefuses(t *testing.T) {
	alter := func(name, old, new string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, name)
			data := require.Value(os.ReadFile(path))(t)
			changed := strings.Replace(string(data), old, new, 1)
			if changed == string(data) {
				t.Fatalf("%s does not contain %q", name, old)
			}
			require.NoError(t, os.WriteFile(path, []byte(changed), 0o644))
		}
	}
	source := filepath.Join(t.TempDir(), "run")
	interrupt(t, source, nil)
	for name, c := range map[string]struct {
		prepare func(t *testing.T, dir string)
		change  func(o *Options)
		err     error
		text    string
	}{
		"damaged":         {alter(rundir.CheckpointName, "numbers.", "nUmbers."), nil, ErrResume, "damaged checkpoint"},
		"another format":  {alter(rundir.CheckpointName, `"version":"`+strconv.Itoa(rundir.CheckpointVersion)+`"`, `"version":"`+strconv.Itoa(rundir.CheckpointVersion+1)+`"`), nil, ErrResume, ", which wrote the run, or start a new run with --config"},
		"another program": {nil, func(o *Options) { o.Files.Version = "v9" }, ErrResume, "the version"},
		"other settings":  {alter("config.yaml", "iterations: 300", "iterations: 301"), nil, ErrResume, "config.yaml has changed"},
		"other records":   {alter("metrics.jsonl", `"iteration":0`, `"iteration":9`), nil, ErrResume, "records"},
		"missing records": {func(t *testing.T, dir string) {
			require.NoError(t, os.Truncate(filepath.Join(dir, "metrics.jsonl"), 10))
		}, nil, ErrResume, "records"},
		"no settings": {func(t *testing.T, dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, "config.yaml")))
		}, nil, os.ErrNotExist, "config.yaml"},
		"another process": {func(t *testing.T, dir string) {
			l := require.Value(disk.LockFolder(dir))(t)
			t.Cleanup(func() { _ = l.Release() })
		}, nil, disk.ErrHeld, "another ppal is at work"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			require.NoError(t, os.CopyFS(dir, os.DirFS(source)))
			if c.prepare != nil {
				c.prepare(t, dir)
			}
			before, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
			require.NoError(t, err)
			s := own(t, c.change)
			_, err = s.Resume(dir)
			if !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want %v with %q", err, c.err, c.text)
			}
			if after, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl")); err != nil || string(after) != string(before) {
				t.Errorf("the records changed: %v", err)
			}
			if s.Dir() != "" {
				t.Error("the directory is open")
			}
		})
	}
}

// A run that continues on another number of threads gives the records and the certificate of an
// undisturbed run, without a note.
func TestResumeOnOtherThreads(t *testing.T) {
	rows := func(threads int) func(o *Options) {
		return func(o *Options) { o.Data, o.Device.Threads = Matrices{Train: line(5000), Test: line(100)}, threads }
	}
	whole, torn := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "torn")
	s := own(t, rows(1))
	require.NoError(t, s.Open(whole))
	want := require.Value(s.Train(t.Context()))(t)
	interrupt(t, torn, rows(2))
	s = own(t, rows(3))
	notes, err := s.Resume(torn)
	if err != nil || len(notes) != 1 {
		t.Fatalf("%q, %v, want one note", notes, err)
	}
	got := require.Value(s.Train(t.Context()))(t)
	if diff := cmp.Diff(want.Certificate, got.Certificate); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(recordsOf(t, whole), recordsOf(t, torn)); diff != "" {
		t.Error(diff)
	}
}

// A run continues with other kernels, with a note.
func TestResumeElsewhere(t *testing.T) {
	require.NoRace(t, "TestResumeOnOtherThreads runs the same goroutines")
	dir := filepath.Join(t.TempDir(), "run")
	interrupt(t, dir, func(o *Options) { o.Device.SIMD = NoSIMD })
	s := own(t, nil)
	notes, err := s.Resume(dir)
	if err != nil || len(notes) != 2 {
		t.Fatalf("%q, %v, want two notes", notes, err)
	}
	r := require.Value(s.Train(t.Context()))(t)
	if r.Training.Iterations != 300 || r.Certificate.Epsilon > 1e-3 {
		t.Errorf("%d iterations, epsilon %v", r.Training.Iterations, r.Certificate.Epsilon)
	}
	require.NoError(t, s.Save(""))
	if n := s.Summary().Notes; len(n) == 0 || !strings.Contains(n[0], "rounding errors") {
		t.Errorf("notes %q", n)
	}
}

// A directory that refuses the weights or the summary does not lose them: they are in the user's
// cache.
func TestRescue(t *testing.T) {
	require.NoRace(t, "TestResume runs the same goroutines")
	for _, name := range []string{"model.safetensors", "summary.json"} {
		cache := t.TempDir()
		t.Setenv("XDG_CACHE_HOME", cache)
		dir := filepath.Join(t.TempDir(), "run")
		s := own(t, nil)
		require.NoError(t, s.Open(dir))
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name, "in the way"), 0o755))
		require.Value(s.Train(t.Context()))(t)
		err := s.Save("")
		var rescued *RescueError
		if !errors.As(err, &rescued) || !strings.HasPrefix(rescued.Dir, cache) || !strings.Contains(err.Error(), rescued.Dir) || strings.Contains(err.Error(), "\n") {
			t.Fatalf("%s: error %v, want a *RescueError in %s", name, err, cache)
		}
		if s.Summary().Status == "" {
			t.Errorf("%s: no summary for the table", name)
		}
		for _, file := range []string{"model.safetensors", "best.safetensors", "summary.json", "config.yaml"} {
			if _, err := os.Stat(filepath.Join(rescued.Dir, file)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// rows.csv is written at the same time as the certificate, and is rescued with the model.
func TestRescueRows(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	s := require.Value(New(t.Context(), onTable(DemographicParity{}, Table{Dataset: "synthetic-compas"}, nil)))(t)
	defer s.Close()
	dir := filepath.Join(t.TempDir(), "run")
	require.NoError(t, errors.Join(s.Open(dir), os.MkdirAll(filepath.Join(dir, "rows.csv", "in the way"), 0o755)))
	require.Value(s.Train(t.Context()))(t)
	var rescued *RescueError
	if err := s.Save(""); !errors.As(err, &rescued) {
		t.Fatalf("error %v, want a *RescueError", err)
	}
	for _, file := range []string{"model.safetensors", "rows.csv", "model.json", "summary.json"} {
		if _, err := os.Stat(filepath.Join(rescued.Dir, file)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "model.json")); err == nil {
		t.Error("model.json, the last file of the model, is in the directory that refuses rows.csv")
	}
}

// fullDisk refuses what is written to metrics.jsonl once it is full.
type fullDisk struct {
	disk.System
	full bool
}

func (d *fullDisk) OpenFile(path string, flags int, perm os.FileMode) (disk.Handle, error) {
	h, err := d.System.OpenFile(path, flags, perm)
	if filepath.Base(path) == "metrics.jsonl" {
		return &fullFile{h, d}, err
	}
	return h, err
}

type fullFile struct {
	disk.Handle
	disk *fullDisk
}

func (f *fullFile) Write(p []byte) (int, error) {
	if f.disk.full {
		return 0, syscall.ENOSPC
	}
	return f.Handle.Write(p)
}

// A directory that refuses a record ends the training, and keeps the weights.
func TestRecordRefused(t *testing.T) {
	require.NoRace(t, "TestResume runs the same goroutines")
	dir := filepath.Join(t.TempDir(), "run")
	full := &fullDisk{System: disk.Local}
	disk.Local = full
	defer func() { disk.Local = full.System }()
	s := own(t, func(o *Options) {
		o.Settings.RecordEvery = 10
		o.Settings.Recorder = observer(func(iteration int) { full.full = full.full || iteration == 100 })
	})
	require.NoError(t, s.Open(dir))
	r := require.Value(s.Train(t.Context()))(t)
	if r.Training.Status != trainer.Interrupted || r.Training.Iterations != 101 {
		t.Errorf("status %s after %d iterations, want an interruption after 101", r.Training.Status, r.Training.Iterations)
	}
	if err := s.Save(""); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v, want the reason of the end", err)
	}
	sum, err := rundir.ReadSummary(rundir.Dir(dir).Summary())
	if err != nil || sum.Error == "" {
		t.Errorf("the summary: %q, %v", sum.Error, err)
	}
	if _, err := os.Stat(rundir.Dir(dir).Model()); err != nil {
		t.Error(err)
	}
}
