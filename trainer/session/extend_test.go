package session

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ppal/constraints"
	"ppal/internal/disk"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/session/results"
)

// limitedTo trains in dir with a limit of iterations, and returns the summary. The run in dir is
// extended from the limit before; 0: the run is new.
func limitedTo(t *testing.T, dir string, iterations, before int, change func(o *Options)) results.Summary {
	t.Helper()
	s := own(t, func(o *Options) {
		o.CheckpointEvery = time.Hour
		o.Settings.Iterations = iterations
		if change != nil {
			change(o)
		}
	})
	open := func() error { return s.Open(dir) }
	if before > 0 {
		open = func() error { _, err := s.Extend(dir, before); return err }
	}
	require.NoError(t, open())
	require.Value(s.Train(t.Context()))(t)
	require.NoError(t, s.Save(""))
	return s.Summary()
}

// extended returns the notes of a summary about extensions.
func extended(s results.Summary) (notes []string) {
	for _, n := range s.Notes {
		if strings.HasPrefix(n, "The run was extended") {
			notes = append(notes, n)
		}
	}
	return notes
}

// A run that is extended twice has the weights and the records of an uninterrupted run. It needs no
// note. (The tests of package method have all methods.)
func TestExtend(t *testing.T) {
	const first, second, third = 83, 120, 170
	set := func(change func(s *trainer.Settings)) func(o *Options) {
		return func(o *Options) { change(&o.Settings) }
	}
	for name, change := range map[string]func(o *Options){
		"nesterov": nil,
		"gdpa":     func(o *Options) { o.Method = &method.GDPA{} },
		"penalty":  func(o *Options) { o.Method = &method.Penalty{} },
		"best":     set(func(s *trainer.Settings) { s.Output = trainer.OutputBest }),
		"random":   set(func(s *trainer.Settings) { s.Output = trainer.OutputRandom }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole, parts := rundir.Dir(filepath.Join(t.TempDir(), "whole")), rundir.Dir(filepath.Join(t.TempDir(), "parts"))
			want := limitedTo(t, string(whole), third, 0, change)
			if want.Status != string(trainer.IterationLimit) {
				t.Fatalf("the uninterrupted run ended by %q: the test needs another start", want.Status)
			}
			limitedTo(t, string(parts), first, 0, change)
			limitedTo(t, string(parts), second, first, change)
			got := limitedTo(t, string(parts), third, second, change)
			if diff := cmp.Diff(recordsOf(t, string(whole)), recordsOf(t, string(parts))); diff != "" {
				t.Errorf("the records differ (-whole +extended):\n%s", diff)
			}
			for _, path := range []func(rundir.Dir) string{rundir.Dir.Model, rundir.Dir.Best} {
				if a, b := bytesOf(t, path(whole)), bytesOf(t, path(parts)); disk.Sum(a) != disk.Sum(b) {
					t.Errorf("%s differs", filepath.Base(path(whole)))
				}
			}
			if diff := cmp.Diff(want.Certificate, got.Certificate); diff != "" {
				t.Errorf("the certificates differ (-whole +extended):\n%s", diff)
			}
			if diff := cmp.Diff(want.Notes, got.Notes); diff != "" || got.Iterations != third {
				t.Errorf("%d iterations; the notes differ (-whole +extended):\n%s", got.Iterations, diff)
			}
			if _, of, _, err := rundir.ReadSealed(parts.Summary()); err != nil {
				t.Error(err)
			} else {
				for _, path := range []string{parts.Config(), parts.Metrics(), parts.Model()} {
					if _, err := of.Read(path); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}

// Where the course of a run depends on its limit, a note says so, and a second extension keeps it.
func TestExtendNotes(t *testing.T) {
	for name, c := range map[string]struct {
		change        func(o *Options)
		second, third int
		because       string
	}{
		"batches": {func(o *Options) { o.BatchSize = 20 }, 103, 106, "the iterations before its limit use all rows"},
		"decisions": {func(o *Options) {
			o.Data, o.Task = Matrices{Train: unclear(400, 4)}, Decisions{Minimize: constraints.FNR(), SubjectTo: subject(t, "fpr <= 0.1")}
		}, 140, 180, "the rounds of bounds on decisions end at shares of the limit"},
		"records": {func(o *Options) { o.Settings.RecordEvery = 0 }, 400, 800, "its records are at other iterations"},
		"checks":  {func(o *Options) { o.Settings.RecordEvery = 5 }, 400, 800, "its checks are at other iterations"},
		"time":    {func(o *Options) { o.TimeLimit = time.Hour }, 120, 150, "the time limit ends it after another number of iterations"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "run")
			if notes := extended(limitedTo(t, dir, 100, 0, c.change)); notes != nil {
				t.Errorf("a run that was not extended has the notes %q", notes)
			}
			before := 100
			for k, iterations := range []int{c.second, c.third} {
				notes := extended(limitedTo(t, dir, iterations, before, c.change))
				if len(notes) != k+1 || !strings.Contains(notes[k], c.because) {
					t.Errorf("the notes after %d iterations are %q, want %d with %q", iterations, notes, k+1, c.because)
				}
				before = iterations
			}
		})
	}
}

// A run that is killed at any write of its extension continues: with the old limit until
// config.yaml has the new one, then with the new limit. A run without its checkpoint is refused,
// and keeps its files.
func TestExtensionIsKilled(t *testing.T) {
	whole, run := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "run")
	limitedTo(t, whole, 120, 0, nil)
	limitedTo(t, run, 100, 0, nil)
	finished := map[string][]byte{}
	for _, name := range []string{rundir.CheckpointName, "config.yaml", "metrics.jsonl"} {
		finished[name] = bytesOf(t, filepath.Join(run, name))
	}
	resume := func(dir string, iterations int) {
		t.Helper()
		s := own(t, func(o *Options) { o.CheckpointEvery, o.Settings.Iterations = time.Hour, iterations })
		require.Value(s.Resume(dir))(t)
		require.Value(s.Train(t.Context()))(t)
		require.NoError(t, s.Save(""))
	}
	begun := own(t, func(o *Options) { o.CheckpointEvery, o.Settings.Iterations = time.Hour, 120 })
	require.Value(begun.Extend(run, 100))(t)
	require.NoError(t, begun.Close()) // the process ends before the first iteration
	if _, err := os.Stat(rundir.Dir(run).Summary()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a run that continues has the summary of its first end: %v", err)
	}
	early := filepath.Join(t.TempDir(), "early") // killed before config.yaml has the new limit
	require.NoError(t, os.CopyFS(early, os.DirFS(run)))
	for name, data := range finished {
		require.NoError(t, os.WriteFile(filepath.Join(early, name), data, 0o644))
	}
	resume(early, 100)
	limitedTo(t, early, 120, 100, nil)
	resume(run, 120)
	for _, dir := range []string{early, run} {
		if diff := cmp.Diff(recordsOf(t, whole), recordsOf(t, dir)); diff != "" {
			t.Errorf("%s: the records differ (-whole +extended):\n%s", dir, diff)
		}
	}
	require.NoError(t, rundir.RemoveCheckpoint(run))
	s := own(t, func(o *Options) { o.Settings.Iterations = 150 })
	if _, err := s.Extend(run, 120); !errors.Is(err, ErrResume) || !strings.Contains(err.Error(), "no checkpoint") {
		t.Errorf("a run without a checkpoint: %v", err)
	}
	if _, err := os.Stat(rundir.Dir(run).Summary()); err != nil {
		t.Error(err)
	}
}
