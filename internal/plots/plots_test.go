package plots

import (
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"ppal/trainer"
)

// sample returns a run of four classes that becomes feasible.
func sample(constraints []string) Run {
	run := Run{Title: "mnpc, ppala", Objective: "T-shirt/top", Constraints: constraints}
	for range constraints {
		run.Bounds = append(run.Bounds, 0.2)
	}
	for k := 0; k <= 1000; k += 5 {
		t := float64(k)
		r := trainer.Record{Iteration: k, Seconds: t / 40, Objective: 1.5*math.Exp(-t/60) + 2e-3,
			Stationarity: 0.5*math.Exp(-t/100) + 1e-5, Complementarity: 1e-2 * math.Exp(-t/80)}
		for j := range constraints {
			g := 1.3*math.Exp(-t/(40+20*float64(j))) - 0.02*float64(j)
			r.Constraints = append(r.Constraints, g)
			r.Infeasibility = max(r.Infeasibility, g)
			r.Multipliers = append(r.Multipliers, 0.3*float64(j)*(1-math.Exp(-t/90)))
			r.Auxiliary = append(r.Auxiliary, 0.3*float64(j)*(1-math.Exp(-t/130)))
		}
		run.Records = append(run.Records, r)
	}
	return run
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	if keep := os.Getenv("PPAL_PLOTS"); keep != "" { // keeps the pictures for a look
		dir = keep
	}
	run := sample([]string{"Trouser", "Pullover", "Dress"})
	run.Bounded = "loss"
	got, err := Write(dir, run)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"objective-iterations.svg", "objective-seconds.svg", "violations-iterations.svg", "violations-seconds.svg",
		"residuals-iterations.svg", "residuals-seconds.svg", "multipliers-iterations.svg", "multipliers-seconds.svg", "overview.svg",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, texts := range map[string][]string{
		"objective-iterations.svg":  {"objective and bounded losses", "T-shirt/top", "Trouser", "Pullover", "Dress", "bound 0.2", "iteration"},
		"violations-seconds.svg":    {"Trouser (bound 0.2)", "(0 drawn at ", "seconds of training"},
		"residuals-iterations.svg":  {"stationarity", "infeasibility", "complementarity"},
		"multipliers-seconds.svg":   {"Dress", "dashed: auxiliary (mu)"},
		"overview.svg":              {"KKT residuals", "multipliers", "violation of each bound"},
		"violations-iterations.svg": {"max(0, loss - bound)"},
	} {
		content := wellFormed(t, filepath.Join(dir, name))
		for _, text := range texts {
			if !strings.Contains(content, text) {
				t.Errorf("%s lacks %q", name, text)
			}
		}
		if strings.Contains(content, "NaN") || strings.Contains(content, "Inf") {
			t.Errorf("%s holds a number that is not finite", name)
		}
	}
}

// texts returns the positions of a plot's horizontal texts, measured from the top left corner, and
// the size of the plot.
func texts(t *testing.T, path string) (places map[string][2]float64, width, height float64) {
	t.Helper()
	content := wellFormed(t, path)
	if n, err := fmt.Sscanf(content[strings.Index(content, "viewBox"):], "viewBox=\"0 0 %f %f\"", &width, &height); n != 2 {
		t.Fatal(err)
	}
	places = map[string][2]float64{}
	for _, m := range regexp.MustCompile(`<text x="([^"]+)" y="([^"]+)" transform="scale\(1, -1\)"\s+style="[^"]*">([^<]*)<`).FindAllStringSubmatch(content, -1) {
		x, errX := strconv.ParseFloat(m[1], 64)
		y, errY := strconv.ParseFloat(m[2], 64)
		if errX != nil || errY != nil {
			t.Fatal(errX, errY)
		}
		// y points upwards from the bottom edge and is negative
		places[html.UnescapeString(m[3])] = [2]float64{x, height + y}
	}
	return places, width, height
}

// A name that is wider than the picture continues in further lines, so that no legend is cut off.
func TestVeryLongNames(t *testing.T) {
	dir := t.TempDir()
	name := "gap(positive_rate, native_country*relationship, min 100) <= 0.01: positive_rate[native_country=United-States, relationship=Own-child] - " +
		"positive_rate[native_country=Mexico, relationship=Husband]"
	if _, err := Write(dir, sample([]string{name, "short", "fpr <= 0.2"})); err != nil {
		t.Fatal(err)
	}
	style := plot.NewLegend().TextStyle
	sans(&style, fontSize-1)
	for _, file := range []string{"objective-iterations.svg", "violations-seconds.svg", "multipliers-iterations.svg", Overview} {
		places, width, _ := texts(t, filepath.Join(dir, file))
		for line, at := range places {
			if strings.Contains(name, line) && at[0]+float64(style.Width(line))*fallbackFont > width {
				t.Errorf("%s: %q begins at %.0f of %.0f", file, line, at[0], width)
			}
		}
		last := strings.Fields(name)[len(strings.Fields(name))-1]
		found := slices.ContainsFunc(slices.Collect(maps.Keys(places)), func(line string) bool { return strings.HasSuffix(line, last) })
		if !found {
			t.Errorf("%s lacks the end of the long name", file)
		}
		if _, twice := places["fpr <= 0.2 (bound 0.2)"]; twice {
			t.Errorf("%s repeats the bound", file)
		}
	}
}

// Long names do not shrink the plot. The legend is below the plot, in a taller picture. Titles
// start inside the picture.
func TestLongNames(t *testing.T) {
	var long []string
	for k := range 20 {
		long = append(long, fmt.Sprintf("racepctblack>q%02d & racePctHisp>q05 & racePctAsian>q95", 5*k))
	}
	run := sample(long)
	run.Title = "multiplier-model on synthetic-communities"
	dir := t.TempDir()
	if _, err := Write(dir, run); err != nil {
		t.Fatal(err)
	}
	places, w, h := texts(t, filepath.Join(dir, "objective-iterations.svg"))
	if w != width.Points() || h <= height.Points()+100 {
		t.Errorf("%g x %g, want %v wide and taller than %v", w, h, width, height)
	}
	axis := places["iteration"]
	if axis[0] < w/3 {
		t.Errorf("the middle of the plot is at %v of %v: it is squeezed", axis[0], w)
	}
	for name, at := range places {
		legend := strings.HasPrefix(name, "racepct")
		if (legend || strings.Contains(name, "multiplier-model")) && (at[0] < 0 || at[1] < 0 || at[1] > h) {
			t.Errorf("%q is at %v, outside of %g x %g", name, at, w, h)
		}
		if legend && at[1] < axis[1] {
			t.Errorf("%q is at %v, want below the axis at %v", name, at, axis)
		}
	}
	if _, w, h = texts(t, filepath.Join(dir, Overview)); w != overviewWidth.Points() || h <= overviewHeight.Points()+200 {
		t.Errorf("the overview is %g x %g", w, h)
	}
}

// The title names values that a logarithmic axis cannot show. A value at a power of ten does not
// look like 0.
func TestHeading(t *testing.T) {
	for _, tc := range []struct {
		values []float64
		want   string
	}{
		{[]float64{0.02, 1}, "title"},
		{[]float64{0, 0.02}, "title (0 drawn at 0.01)"},
		{[]float64{0, 0.01}, "title (0 drawn at 0.001)"},
		{[]float64{-1, 0.001}, "title (0 and less drawn at 1e-4)"},
	} {
		c := chart{title: "title", logarithmic: true, curves: []curve{{}}}
		for i, y := range tc.values {
			c.curves[0].points = append(c.curves[0].points, plotter.XY{X: float64(i), Y: y})
		}
		if got := c.finish().heading(); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.values, got, tc.want)
		}
	}
}

// Curves of one point can be distinguished when the colours repeat.
func TestMarksDiffer(t *testing.T) {
	n := len(palette())
	if a, b := constraintStyle(0).mark(), constraintStyle(n).mark(); a.Color != b.Color || a.Shape == b.Shape {
		t.Errorf("%+v and %+v", a, b)
	}
}

// The error names a plot that cannot be written.
func TestUnwritablePicture(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, Overview), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(dir, sample([]string{"b"})); err == nil || !strings.Contains(err.Error(), Overview) {
		t.Errorf("%v", err)
	}
}

// wellFormed checks an XML file and returns its content.
func wellFormed(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(string(data))); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return string(data)
		} else if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
}

// Write accepts runs of methods without multipliers, and runs with a single record, only zeros, or
// many records.
func TestWriteEdges(t *testing.T) {
	bare := sample([]string{"b"})
	for i := range bare.Records {
		bare.Records[i].Multipliers, bare.Records[i].Auxiliary = nil, nil
	}
	single := sample([]string{"b", "c"})
	single.Records = single.Records[:1]
	zero := sample([]string{"b"})
	zero.Records = []trainer.Record{{Constraints: []float64{-0.2}}, {Iteration: 1, Constraints: []float64{-0.2}}}
	many := sample(strings.Split("b c d e f g h i j", " "))
	for len(many.Records) < 5000 {
		many.Records = append(many.Records, many.Records...)
	}
	for name, tc := range map[string]struct {
		run   Run
		files int
	}{"no multipliers": {bare, 7}, "one record": {single, 9}, "zeros": {zero, 7}, "many": {many, 9}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			names, err := Write(dir, tc.run)
			if err != nil {
				t.Fatal(err)
			}
			if len(names) != tc.files {
				t.Errorf("%d files, want %d: %v", len(names), tc.files, names)
			}
			for _, n := range names {
				if content := wellFormed(t, filepath.Join(dir, n)); strings.Contains(content, "NaN") {
					t.Errorf("%s holds a NaN", n)
				}
			}
		})
	}
}

// A run of one record has a marker for each series, in its colour.
func TestSingleRecordIsMarked(t *testing.T) {
	run := sample([]string{"b", "c"})
	run.Records = run.Records[:1]
	dir := t.TempDir()
	if _, err := Write(dir, run); err != nil {
		t.Fatal(err)
	}
	for name, marks := range map[string]int{"objective-iterations.svg": 3, "violations-seconds.svg": 2, "residuals-iterations.svg": 3} {
		content := wellFormed(t, filepath.Join(dir, name))
		circles := 0 // a circle is a path with an arc
		for line := range strings.Lines(content) {
			if strings.Contains(line, "<path") && strings.Contains(line, "A") {
				circles++
			}
		}
		if circles != 2*marks { // each marker is in the picture and in the legend
			t.Errorf("%s: %d marks, want %d", name, circles, 2*marks)
		}
	}
}

func TestThin(t *testing.T) {
	records := make([]trainer.Record, 4321)
	for i := range records {
		records[i].Iteration = i
	}
	got := thin(records)
	if len(got) > mostPoints+1 || got[0].Iteration != 0 || got[len(got)-1].Iteration != 4320 {
		t.Errorf("%d records from %d to %d", len(got), got[0].Iteration, got[len(got)-1].Iteration)
	}
}

func TestDecades(t *testing.T) {
	label := func(min, max float64) (labels []string) {
		for _, tick := range (decades{}).Ticks(math.Log10(min), math.Log10(max)) {
			if tick.Label != "" {
				labels = append(labels, tick.Label)
			}
		}
		return labels
	}
	for _, tc := range []struct {
		min, max float64
		want     string
	}{
		{0.1, 1, "0.1 0.2 0.5 1"},
		{1e-5, 1, "1e-5 1e-4 0.001 0.01 0.1 1"},
		{1e-12, 10, "1e-12 1e-10 1e-8 1e-6 1e-4 0.01 1"},
	} {
		if got := strings.Join(label(tc.min, tc.max), " "); got != tc.want {
			t.Errorf("%g to %g: %s, want %s", tc.min, tc.max, got, tc.want)
		}
	}
}
