package plots

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot/plotter"
)

// The curve rises by the share of a problem at each ratio, and ends at the picture's right end.
func TestProfileStaircase(t *testing.T) {
	got := ProfileSolver{"a", []float64{1, 2, 500}}.staircase(4)
	want := plotter.XYs{{X: 0, Y: 0}, {X: 0, Y: 0}, {X: 0, Y: 0.25}, {X: 1, Y: 0.25}, {X: 1, Y: 0.5}, {X: 7, Y: 0.5}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWriteProfile(t *testing.T) {
	dir := t.TempDir()
	if keep := os.Getenv("PPAL_PLOTS"); keep != "" { // keeps the pictures for a look
		dir = keep
	}
	path := filepath.Join(dir, "profile.svg")
	err := WriteProfile(path, Profile{"tau = 0.001", "evaluations", 3, []ProfileSolver{{"ppal", []float64{1, 1, 2}}, {"rival, penalty 10", []float64{1, 3}}}})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || len(text) < 1000 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}
