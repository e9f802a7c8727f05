package report

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/chart"
	"ppal/internal/require"
	"ppal/trainer"
)

// A comparison has a picture of each quantity over each axis, and an overview.
func TestWriteComparison(t *testing.T) {
	dir := t.TempDir()
	c := PlottedComparison{Title: "dp on adult", Measures: []string{"validation_error"}, Met: 1e-3}
	for k, name := range []string{"ppala", "gdpa", "ssg"} {
		m := PlottedMethod{Name: name}
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
	names := require.Value(c.Write(dir))(t)
	if len(names) != 5*3+1 {
		t.Errorf("%d pictures: %v", len(names), names)
	}
	content := wellFormed(t, filepath.Join(dir, "violation-seconds.svg"))
	for _, text := range []string{"ppala", "gdpa", "ssg", "counts as met", "seconds of training", "dp on adult", "Largest violation"} {
		if !strings.Contains(content, text) {
			t.Errorf("violation-seconds.svg lacks %q", text)
		}
	}
}

// The overview shows the listed quantities over the epochs, which are the iterations if each of
// them is a pass over the rows.
func TestOverview(t *testing.T) {
	run := sample([]string{"b"}).Records
	for i := range run {
		run[i].Epoch, run[i].Measures = float64(run[i].Iteration), map[string]float64{"validation_error": 0.2}
	}
	c := PlottedComparison{Title: "if", Methods: []PlottedMethod{{Name: "plada", Runs: [][]trainer.Record{run}}},
		Measures: []string{"validation_error"}, Overview: []string{"validation_error", "objective"}}
	dir := t.TempDir()
	require.Value(c.Write(dir))(t)
	for name, want := range map[string]bool{"Validation error": true, "iteration (epoch)": true, "Largest violation": false, "gradient evaluations": false} {
		if strings.Contains(wellFormed(t, filepath.Join(dir, overview)), name) != want {
			t.Errorf("overview.svg shows %q: want %v", name, want)
		}
	}
	run[len(run)-1].Epoch /= 2
	if v := c.Charts()[0].Views; v[0].Axis != "iteration" || len(v) != 4 || v[3].Axis != "epoch" {
		t.Errorf("half a pass an iteration has the axes %+v", v)
	}
	require.Value(c.Write(dir))(t)
	if text := wellFormed(t, filepath.Join(dir, overview)); !strings.Contains(text, "epoch") || strings.Contains(text, "iteration") {
		t.Error("the overview is not over the epochs")
	}
}

// Spread gives the median and the range of runs, also of runs with different places, and of runs
// that zigzag.
func TestSpread(t *testing.T) {
	got := spread([]line{{[]float64{0, 1}, []float64{1, 5}}, {[]float64{0, 1}, []float64{2, 9}}, {[]float64{0, 1}, []float64{0, 7}}})
	want := chart.Curve{X: []float64{0, 1}, Y: []float64{1, 7}, Low: []float64{0, 5}, High: []float64{2, 9}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	other := spread([]line{{[]float64{0, 4}, []float64{0, 4}}, {[]float64{1, 3}, []float64{2, 6}}})
	n := len(other.X)
	if n > stretches || other.X[0] != 1 || other.Y[0] != 1.5 || other.X[n-1] != 3 || other.Y[n-1] != 4.5 {
		t.Errorf("%d places from %v to %v", n, other.X[0], other.X[n-1])
	}
	var zigzag line // a method that alternates: the line is in the middle, the band is the range
	for i := range 802 {
		zigzag.x, zigzag.y = append(zigzag.x, float64(i)), append(zigzag.y, float64(i%2))
	}
	wall := spread([]line{zigzag})
	at := len(wall.X) / 2
	if len(wall.X) > stretches || wall.Low[at] != 0 || wall.High[at] != 1 {
		t.Errorf("a zigzag: %d points, a band from %v to %v", len(wall.X), wall.Low[at], wall.High[at])
	}
	if one := spread([]line{{[]float64{1}, []float64{3}}}); one.Low != nil || one.Y[0] != 3 {
		t.Errorf("a single record: %+v", one)
	}
}

// A start that is far from all later records is left out of a chart with a linear axis, and the
// note gives its values. Other starts stay.
func TestFarStart(t *testing.T) {
	for first, axis := range map[float64]float64{0.5: 1, 0.16: 0, 0.05: 0} {
		var runs [][]trainer.Record
		for seed := range 2 {
			var run []trainer.Record
			for k := range 8 {
				y := 0.1 + 0.01*float64(k)
				if k == 0 {
					y = first + 0.02*float64(seed)
				}
				run = append(run, trainer.Record{Iteration: 100 * k, Epoch: float64(k), Seconds: float64(k + seed), Measures: map[string]float64{"error": y}})
			}
			runs = append(runs, run)
		}
		c := &PlottedComparison{Methods: []PlottedMethod{{"a", runs}}, Measures: []string{"error"}}
		own := named(c.Charts(), "error")[0]
		for _, v := range own.Views {
			if x := v.Curves[0].X[0]; v.Axis == "epoch" && x != axis {
				t.Errorf("start %v: the curve begins at epoch %v, want %v", first, x, axis)
			}
		}
		if noted := strings.Contains(own.Note, "Without the start: 0.5 to 0.52."); noted != (axis == 1) {
			t.Errorf("start %v: the note is %q", first, own.Note)
		}
	}
}
