package study

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/relay"
	"ppal/internal/require"
)

// entry is a record of the tests.
type entry struct {
	Name  string `json:"name"`
	Value int    `json:"value"`
}

// key returns the key of an entry, which has a name.
func key(e entry) (string, error) {
	if e.Name == "" {
		return "", errors.New("no name")
	}
	return e.Name, nil
}

// open opens the journal in a directory.
func open(t *testing.T, dir string) *Journal[entry] {
	t.Helper()
	return require.Value(OpenJournal(filepath.Join(dir, "results.jsonl"), key))(t)
}

// jobs returns n jobs, which count their runs. The value of a record is the number of the job.
func jobs(n int, runs *atomic.Int32) []Job[entry] {
	var list []Job[entry]
	for i := range n {
		name := fmt.Sprint("job", i)
		list = append(list, Job[entry]{Key: name, Name: name, Do: func(context.Context, int) (entry, error) {
			runs.Add(1)
			return entry{name, i}, nil
		}})
	}
	return list
}

// Run returns the records in the order of the jobs, for any number of workers. Each worker has at
// most one job at a time. A second study on the same journal runs only the jobs that are missing.
func TestRun(t *testing.T) {
	for _, workers := range []int{0, 1, 3, 20} {
		dir := t.TempDir()
		var runs, busy atomic.Int32
		list := jobs(10, &runs)
		using := make([]sync.Mutex, max(1, workers))
		for i := range list {
			do := list[i].Do
			list[i].Do = func(ctx context.Context, worker int) (entry, error) {
				if !using[worker].TryLock() {
					t.Error("a worker has two jobs")
				}
				defer using[worker].Unlock()
				if n := busy.Add(1); int(n) > len(using) {
					t.Errorf("%d jobs at a time, want at most %d", n, workers)
				}
				defer busy.Add(-1)
				return do(ctx, worker)
			}
		}
		s := &Study[entry]{Store: open(t, dir), Workers: workers, Total: 10}
		require.Value(s.Run(t.Context(), list[:6]))(t)
		var last float64
		again := &Study[entry]{Store: open(t, dir), Workers: workers, Total: 10, Progress: func(done float64, total int, _ string) {
			if done < last || total != 10 {
				t.Errorf("%v of %d jobs after %v", done, total, last)
			}
			last = done
		}}
		records, err := again.Run(t.Context(), list)
		if err != nil || runs.Load() != 10 || last != 10 {
			t.Errorf("%d workers: %v, %d runs, %v reported", workers, err, runs.Load(), last)
		}
		for i, r := range records {
			if r != (entry{list[i].Name, i}) {
				t.Errorf("record %d is %v", i, r)
			}
		}
	}
}

// The first error cancels the jobs at work and the jobs that have not begun. The records before it
// are kept.
func TestFirstError(t *testing.T) {
	dir := t.TempDir()
	broken := errors.New("broken")
	var runs atomic.Int32
	list := jobs(9, &runs)
	waiting := make(chan struct{})
	list[1].Do = func(ctx context.Context, _ int) (entry, error) {
		close(waiting)
		<-ctx.Done()
		return entry{}, context.Cause(ctx)
	}
	list[2].Do = func(context.Context, int) (entry, error) {
		<-waiting
		return entry{}, broken
	}
	j := open(t, dir)
	if _, err := (&Study[entry]{Store: j, Workers: 2}).Run(t.Context(), list); !errors.Is(err, broken) {
		t.Errorf("%v, want the first error", err)
	}
	if diff := cmp.Diff([]entry{{"job0", 0}}, j.Records()); diff != "" || runs.Load() != 1 {
		t.Errorf("%d runs: %s", runs.Load(), diff)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(broken)
	if _, err := (&Study[entry]{Store: j}).Run(ctx, list); !errors.Is(err, broken) || runs.Load() != 1 {
		t.Errorf("%v, %d runs after the end", err, runs.Load())
	}
}

// A panic of a job reaches the caller of Run.
func TestPanic(t *testing.T) {
	defer func() {
		if p, ok := recover().(*relay.Panic); !ok || p.Value != "bug" {
			t.Errorf("%v", p)
		}
	}()
	s := &Study[entry]{Store: open(t, t.TempDir()), Workers: 2}
	_, err := s.Run(t.Context(), []Job[entry]{{Key: "a", Do: func(context.Context, int) (entry, error) { panic("bug") }}})
	t.Errorf("no panic: %v", err)
}

// A job without a record is done, and is repeated in a later study.
func TestNoRecord(t *testing.T) {
	j := open(t, t.TempDir())
	list := []Job[entry]{{Key: "a", Do: func(context.Context, int) (entry, error) { return entry{"a", 1}, fmt.Errorf("none: %w", ErrNoRecord) }}}
	for range 2 {
		var told []string
		s := &Study[entry]{Store: j, Total: 1, Progress: func(done float64, total int, _ string) { told = append(told, fmt.Sprint(done, "/", total)) }}
		records, err := s.Run(t.Context(), list)
		if err != nil || len(records) != 1 || records[0] != (entry{}) || len(j.Records()) != 0 || strings.Join(told, " ") != "0/1 1/1" {
			t.Errorf("%v, %v, %v, told %v", err, records, j.Records(), told)
		}
	}
}

// Progress adds the shares of the running jobs.
func TestShare(t *testing.T) {
	var told []float64
	s := &Study[entry]{Store: open(t, t.TempDir()), Progress: func(done float64, _ int, _ string) { told = append(told, done) }}
	list := jobs(2, new(atomic.Int32))
	for i := range list {
		do := list[i].Do
		list[i].Do = func(ctx context.Context, worker int) (entry, error) {
			s.Share(list[i].Name, 0.5)
			return do(ctx, worker)
		}
	}
	require.Value(s.Run(t.Context(), list))(t)
	s.Share("a", 0.25) // two jobs at the same time
	s.Share("b", 0.5)
	if diff := cmp.Diff([]float64{0, 0.5, 1, 1, 1.5, 2, 2.25, 2.75}, told); diff != "" {
		t.Error(diff)
	}
}
