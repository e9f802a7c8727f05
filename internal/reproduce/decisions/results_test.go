package decisions

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The journal keeps every run and finds a run by its key. It drops a line that an interrupted call
// left incomplete.
func TestJournal(t *testing.T) {
	dir := t.TempDir()
	j, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	f := with(Own, nil, 1, 1, 2, cells(1, 2, 3, 4))
	if err := j.add(f); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, resultsFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(whole, `{"kind":"dp","sec`...), 0o644); err != nil {
		t.Fatal(err)
	}
	if j, err = openJournal(dir); err != nil {
		t.Fatal(err)
	}
	got, ok := j.find(with(Own, nil, 1, 1, 0))
	if !ok || got.Points[0].Accepted != f.Points[0].Accepted || got.Seconds != 2 {
		t.Errorf("%v %+v", ok, got)
	}
	if _, ok := j.find(with(Own, nil, 2, 1, 0)); ok {
		t.Error("found a run that was not done")
	}
	if err := j.add(with(Own, nil, 2, 1, 1)); err != nil {
		t.Fatal(err)
	}
	if err := j.add(with(Own, nil, 2, 1, 7)); err != nil { // replaces the run with the same key
		t.Fatal(err)
	}
	if j, err = openJournal(dir); err != nil || len(j.fits) != 2 || j.fits[1].Seconds != 7 {
		t.Fatal(err, len(j.fits))
	}
	if err := os.WriteFile(path, append(whole, "no JSON\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := openJournal(dir); err == nil || !strings.Contains(err.Error(), "results.jsonl:2") {
		t.Errorf("%v, want the line", err)
	}
}

// Best returns the smallest error among the points that meet the bound. If no point meets the
// bound, Best returns the smallest violation.
func TestBest(t *testing.T) {
	fair, better, unmet, worse := cells(0, 40, 0, 16), cells(0, 45, 0, 18), cells(0, 50, 0, 10), cells(0, 50, 0, 0)
	for _, c := range []struct {
		points []Counts
		want   Counts
	}{{[]Counts{unmet, fair, better}, better}, {[]Counts{worse, unmet}, unmet}} {
		if got, ok := with(Own, nil, 1, 1, 1, c.points...).Best(parity); !ok || got.Accepted != c.want {
			t.Errorf("%v, want %v", got.Accepted, c.want)
		}
	}
	if _, ok := with(Own, nil, 1, 1, 1).Best(parity); ok {
		t.Error("a fit without points has a best point")
	}
}
