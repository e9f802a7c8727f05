package plots

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot/plotter"

	"ppal/trainer"
)

func TestWriteComparison(t *testing.T) {
	dir := t.TempDir()
	if keep := os.Getenv("PPAL_PLOTS"); keep != "" { // keeps the pictures for a look
		dir = filepath.Join(keep, "comparison")
	}
	c := Comparison{Title: "dp on adult", Measures: []string{"validation_error"}, Marks: []Mark{{"violation", "counts as met", 1e-3}}}
	for k, name := range []string{"ppala", "gdpa", "ssg"} {
		m := Method{Name: name}
		for seed := range 3 {
			run := sample([]string{"b"}).Records
			for i := range run {
				run[i].Seconds *= 1 + float64(k) + 0.1*float64(seed)
				run[i].GradientEvaluations = run[i].Iteration * (k + 1)
				run[i].Objective *= 1 + 0.5*float64(k) + 0.2*float64(seed)
				run[i].MaxViolation = run[i].Infeasibility
				run[i].Measures = map[string]float64{"validation_error": 0.2 + 0.01*float64(seed)}
			}
			m.Runs = append(m.Runs, run)
		}
		c.Methods = append(c.Methods, m)
	}
	names, err := WriteComparison(dir, c)
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != 5*3+1 {
		t.Errorf("%d pictures: %v", len(names), names)
	}
	content := wellFormed(t, filepath.Join(dir, "violation-seconds.svg"))
	for _, text := range []string{"ppala", "gdpa", "ssg", "counts as met", "seconds of training", "dp on adult"} {
		if !strings.Contains(content, text) {
			t.Errorf("violation-seconds.svg lacks %q", text)
		}
	}
	if strings.Contains(content, "NaN") {
		t.Error("a picture holds a number that is not finite")
	}
}

// The overview shows the listed quantities. The axis shows epochs if each iteration is a pass over
// the rows.
func TestOverview(t *testing.T) {
	run := sample([]string{"b"}).Records
	for i := range run {
		run[i].Epoch, run[i].Measures = float64(run[i].Iteration), map[string]float64{"validation_error": 0.2}
	}
	c := Comparison{Title: "if", Methods: []Method{{Name: "plada", Runs: [][]trainer.Record{run}}},
		Measures: []string{"validation_error"}, Overview: []string{"validation_error", "objective"}}
	dir := t.TempDir()
	if _, err := WriteComparison(dir, c); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"validation error": true, "iteration (epoch)": true, "largest violation": false, "gradient evaluations": false} {
		if strings.Contains(wellFormed(t, filepath.Join(dir, Overview)), name) != want {
			t.Errorf("overview.svg shows %q: want %v", name, want)
		}
	}
	run[len(run)-1].Epoch /= 2
	if a := c.iterations(); a.label != "iteration" {
		t.Errorf("half a pass an iteration is called %q", a.label)
	}
}

func TestSpread(t *testing.T) {
	same := meanAndRange([]plotter.XYs{{{X: 0, Y: 1}, {X: 2, Y: 3}}, {{X: 0, Y: 3}, {X: 2, Y: 7}}})
	if diff := cmp.Diff(plotter.XYs{{X: 0, Y: 2}, {X: 2, Y: 5}}, same.points); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(plotter.XYs{{X: 0, Y: 1}, {X: 2, Y: 3}, {X: 2, Y: 7}, {X: 0, Y: 3}}, same.band); diff != "" {
		t.Error(diff)
	}
	other := meanAndRange([]plotter.XYs{{{X: 0, Y: 0}, {X: 4, Y: 4}}, {{X: 1, Y: 2}, {X: 3, Y: 6}}})
	first, last := other.points[0], other.points[len(other.points)-1]
	if first != (plotter.XY{X: 1, Y: 1.5}) || last != (plotter.XY{X: 3, Y: 4.5}) || len(other.points) > stretches {
		t.Errorf("from %v to %v in %d points", first, last, len(other.points))
	}
	var zigzag plotter.XYs // a method that alternates: the line is its mean, the band is its range
	for i := range 402 {
		zigzag = append(zigzag, plotter.XY{X: float64(i), Y: float64(i % 2)})
	}
	wall := meanAndRange([]plotter.XYs{zigzag})
	if len(wall.points) > stretches || len(wall.band) != 2*len(wall.points) {
		t.Fatalf("%d points, a band of %d", len(wall.points), len(wall.band))
	}
	if at := len(wall.points) / 2; math.Abs(wall.points[at].Y-0.5) > 0.15 || wall.band[at].Y != 0 || wall.band[len(wall.band)-1-at].Y != 1 {
		t.Errorf("a zigzag: %v in a band from %v to %v", wall.points[at], wall.band[at], wall.band[len(wall.band)-1-at])
	}
	if one := meanAndRange([]plotter.XYs{{{X: 1, Y: 2}}}); one.band != nil || len(one.points) != 1 {
		t.Errorf("a single record: %+v", one)
	}
}
