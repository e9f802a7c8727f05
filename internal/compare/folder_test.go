package compare

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/config"
	"ppal/internal/dirlock"
	"ppal/trainer"
	"ppal/trainer/session/results"
)

// counted returns an opener that counts the runs.
func counted(n *atomic.Int32) Opener {
	return func(ctx context.Context, cfg config.Train, s trainer.Settings) (Trial, error) {
		n.Add(1)
		return openDisc(ctx, cfg, s)
	}
}

// journal returns the lines of results.jsonl without the key that differs between equal runs.
func journal(t *testing.T, dir string) string {
	t.Helper()
	var kept []string
	for _, part := range strings.Split(read(t, dir, "results.jsonl"), ",") {
		if !strings.HasPrefix(part, `"seconds"`) {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, ",")
}

// Of two comparisons in one directory, the second is refused while the first is at work, and the
// first gives the results of a comparison alone.
func TestOneAtATime(t *testing.T) {
	whole, dir := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "shared")
	if _, err := Do(t.Context(), discStudy(), whole, openDisc, nil); err != nil {
		t.Fatal(err)
	}
	var begin sync.Once
	meddling := func(ctx context.Context, cfg config.Train, s trainer.Settings) (Trial, error) {
		begin.Do(func() {
			if _, err := Do(ctx, discStudy(), dir, openDisc, nil); !errors.Is(err, dirlock.ErrHeld) {
				t.Errorf("the second comparison: %v, want ErrHeld", err)
			}
		})
		return openDisc(ctx, cfg, s)
	}
	if _, err := Do(t.Context(), discStudy(), dir, meddling, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(journal(t, whole), journal(t, dir)); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(dir, dirlock.Name)); err == nil {
		t.Error("the lock is left")
	}
	// a refused comparison leaves no lock either
	s := discStudy()
	s.Title = "another"
	for range 2 {
		if _, err := Do(t.Context(), s, dir, openDisc, nil); !errors.Is(err, ErrStudy) {
			t.Errorf("another study: %v", err)
		}
	}
}

// A run whose records or mark were damaged is done again, with the results of an undisturbed
// comparison.
func TestDamagedRunsAreRepeated(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	s := discStudy()
	if _, err := Do(t.Context(), s, dir, openDisc, nil); err != nil {
		t.Fatal(err)
	}
	want := journal(t, dir)
	records, mark := filepath.Join(dir, "runs", "gdpa-seed2.jsonl"), filepath.Join(dir, "runs", "gdpa-seed2.done")
	whole := read(t, records)
	lines := strings.SplitAfter(whole, "\n")
	for name, damage := range map[string]struct{ path, text string }{
		"cut at a line":       {records, strings.Join(lines[:len(lines)/2], "")},
		"cut in a line":       {records, whole[:len(whole)/2]},
		"empty":               {records, ""},
		"another number":      {records, strings.Replace(whole, `"objective":-`, `"objective":-9`, 1)},
		"empty mark":          {mark, ""},
		"mark cut":            {mark, `{"records":`},
		"mark of other lines": {mark, strings.Replace(read(t, mark), `"records":`, `"records":1`, 1)},
	} {
		if err := os.WriteFile(damage.path, []byte(damage.text), 0o644); err != nil {
			t.Fatal(err)
		}
		var opened atomic.Int32
		if _, err := Do(t.Context(), s, dir, counted(&opened), nil); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if opened.Load() != 1 {
			t.Errorf("%s: %d runs were done, want the damaged one", name, opened.Load())
		}
		if diff := cmp.Diff(want, journal(t, dir)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A comparison continues with another number of parallel runs, and not with other data or another
// version of the program.
func TestWhatContinues(t *testing.T) {
	file := func(sum string) []results.DataFile {
		return []results.DataFile{{Name: "rows.csv", Bytes: 3, SHA256: sum}}
	}
	dir := filepath.Join(t.TempDir(), "new")
	s := discStudy()
	s.Version, s.Data = "1", file("abc")
	do := func(change func(s *Study)) (int, error) {
		other := *s
		change(&other)
		var opened atomic.Int32
		_, err := Do(t.Context(), &other, dir, counted(&opened), nil)
		return int(opened.Load()), err
	}
	// Before a run has finished, data and version may change.
	failing := func(context.Context, config.Train, trainer.Settings) (Trial, error) {
		return nil, errors.New("no data")
	}
	if _, err := Do(t.Context(), s, dir, failing, nil); err == nil {
		t.Fatal("no error")
	}
	s.Version, s.Data = "2", file("def")
	if n, err := do(func(*Study) {}); n != 4 || err != nil {
		t.Fatalf("%d runs, %v", n, err)
	}
	if n, err := do(func(s *Study) { s.Workers = 1 }); n != 0 || err != nil {
		t.Errorf("other workers: %d runs, %v", n, err)
	}
	for text, change := range map[string]func(s *Study){
		"another version of ppal (2, this program is 3)": func(s *Study) { s.Version = "3" },
		"rows.csv has changed":                           func(s *Study) { s.Data = file("abc") },
		"holds another comparison":                       func(s *Study) { s.Threads = 2 },
	} {
		if n, err := do(change); n != 0 || !errors.Is(err, ErrStudy) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %d runs, %v", text, n, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "study.yaml"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := do(func(*Study) {}); !errors.Is(err, ErrStudy) {
		t.Errorf("study.yaml is no YAML: %v", err)
	}
}
