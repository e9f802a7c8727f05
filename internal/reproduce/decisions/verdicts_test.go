package decisions

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/internal/study"
)

// parity is the problem of the tests: a gap of at most 0.05 with rows of 1/60.
var parity = Problem{Kind: demographicParity, Data: Dataset{Name: "compas"}, Bound: 0.05}

// with returns a fit of a contender. Its classifiers accept the given numbers of rows.
func with(contender string, setting Setting, split uint64, repeat int, seconds float64, accepted ...Counts) Fit {
	f := Fit{Kind: parity.Kind, Dataset: parity.Data.Name, Bound: parity.Bound, Split: split, Contender: contender, Setting: setting, Repeat: repeat,
		Seconds: seconds, CPU: seconds / 2, Totals: total()}
	for _, a := range accepted {
		f.Points = append(f.Points, Point{Models: 1, Accepted: a})
	}
	return f
}

// onTest replaces the number of accepted positive test rows of group 0.
func onTest(c Counts, accepted float64) Counts {
	c[2][0][1] = accepted
	return c
}

// eg returns the contender of the tests: ExponentiatedGradient with one setting.
func eg() Contender {
	return Contender{Name: exponentiatedGradient, grid: func(Problem) []Axis { return []Axis{numbers("eps", 1, 2, 3)} }}
}

// compared returns an outcome in which ppal and ExponentiatedGradient make the same training
// decisions on two splits. theirs is the number of positive test rows that ExponentiatedGradient
// accepts on each split; ppal accepts 40. own and others are the times of ppal and
// ExponentiatedGradient.
func compared(theirs [2]float64, own, others [2]float64) *Outcome {
	o := &Outcome{Options: Options{Problems: []Problem{parity}, Contenders: []Contender{eg()}, Splits: 2}}
	at := cells(0, 40, 0, 16) // no gap
	o.Fits = append(o.Fits, with(exponentiatedGradient, Setting{"eps": 2.}, 1, 0, 1, at))
	for i := range 2 {
		o.Fits = append(o.Fits, with(Own, nil, uint64(i+1), 1, own[i], onTest(at, 40)), with(exponentiatedGradient, Setting{"eps": 2.}, uint64(i+1), 1, others[i], onTest(at, theirs[i])))
	}
	return o
}

func TestVerdictOnBounds(t *testing.T) {
	o := compared([2]float64{40, 40}, [2]float64{1, 1}, [2]float64{10, 10})
	if v := o.Bounds(parity); v.Ruling != study.Confirmed || v.Numbers != "2 of 2" {
		t.Error(v)
	}
	o.Fits[3].Points[0].Accepted = cells(0, 50, 0, 10) // a gap of 1/6 on split 2
	if v := o.Bounds(parity); v.Ruling != study.NotConfirmed || v.Numbers != "1 of 2" {
		t.Error(v)
	}
	o.Fits = o.Fits[:3]
	if v := o.Bounds(parity); v.Ruling != study.CannotTell {
		t.Error(v)
	}
}

func TestVerdictOnErrors(t *testing.T) {
	for _, c := range []struct {
		theirs [2]float64 // accepted positives of the other library: more is better
		ruling study.Ruling
	}{
		{[2]float64{30, 30}, study.Confirmed},
		{[2]float64{50, 30}, study.Confirmed},    // within two standard errors
		{[2]float64{50, 49}, study.NotConfirmed}, // a difference of 9.5 rows with a standard error of 0.5
	} {
		if v := compared(c.theirs, [2]float64{1, 1}, [2]float64{1, 1}).Errors(parity); v.Ruling != c.ruling {
			t.Errorf("%v: %v, want %s", c.theirs, v, c.ruling)
		}
	}
	o := compared([2]float64{50, 50}, [2]float64{1, 1}, [2]float64{1, 1})
	o.Fits[4].Points[0].Accepted = cells(0, 50, 0, 0) // a gap of 1/3 on split 2, ppal's is 0
	if v := o.Errors(parity); v.Ruling != study.CannotTell {
		t.Error(v)
	}
}

func TestVerdictOnTimes(t *testing.T) {
	for _, c := range []struct {
		others [2]float64
		ruling study.Ruling
	}{{[2]float64{10, 12}, study.Confirmed}, {[2]float64{9, 10}, study.NotConfirmed}} {
		if v := compared([2]float64{40, 40}, [2]float64{1, 1}, c.others).times(parity); v.Ruling != c.ruling {
			t.Errorf("%v: %v, want %s", c.others, v, c.ruling)
		}
	}
	np := Problem{Kind: neymanPearson, Data: parity.Data, Bound: 0.05}
	if v := compared([2]float64{40, 40}, [2]float64{1, 1}, [2]float64{1, 1}).times(np); v.Ruling != study.CannotTell {
		t.Error(v)
	}
}

// The search takes the setting with the smallest training error among those that meet the bound.
// Among equally good settings, an inner setting precedes a setting at the end of the grid.
func TestChosen(t *testing.T) {
	fair, better, unmet := cells(0, 40, 0, 16), cells(0, 45, 0, 18), cells(0, 50, 0, 10)
	for _, c := range []struct {
		at   [3]Counts // at eps 1, 2, 3
		want float64
	}{
		{[3]Counts{fair, better, unmet}, 2},
		{[3]Counts{better, fair, unmet}, 1},
		{[3]Counts{better, better, better}, 2},
		{[3]Counts{unmet, unmet, fair}, 3},
	} {
		var fits []Fit
		for i, a := range c.at {
			fits = append(fits, with(exponentiatedGradient, Setting{"eps": float64(i + 1)}, 1, 0, 1, a))
		}
		best, ok := chosen(parity, eg(), fits)
		if !ok || best["eps"] != c.want {
			t.Errorf("chose %v, want %v", best, c.want)
		}
		if edges := eg().atEdge(parity, best); (len(edges) > 0) != (c.want != 2) {
			t.Errorf("eps %v: at the edge on %v", c.want, edges)
		}
	}
	for what, fit := range map[string]Fit{"a failed run": with(exponentiatedGradient, Setting{"eps": 1.}, 1, 0, 1),
		"a setting of an older grid": with(exponentiatedGradient, Setting{"eps": 9.}, 1, 0, 1, fair)} {
		if best, ok := chosen(parity, eg(), []Fit{fit}); ok {
			t.Errorf("%s: chose %v", what, best)
		}
	}
}

// The report has a line for each contender, the verdicts, and the settings at an end of their
// grids.
func TestReport(t *testing.T) {
	o := compared([2]float64{30, 32}, [2]float64{1, 1}, [2]float64{10, 14})
	o.Fits[0].Setting, o.Fits[2].Setting, o.Fits[4].Setting = Setting{"eps": 3.}, Setting{"eps": 3.}, Setting{"eps": 3.}
	o.Versions = map[string]string{"fairlearn": "0.15.0"}
	dir := t.TempDir()
	require.NoError(t, o.Write(dir))
	text := require.Value(os.ReadFile(filepath.Join(dir, "summary.md")))(t)
	for _, want := range []string{"fairlearn 0.15.0", "| demographic parity on COMPAS | **confirmed**, 2 of 2 | **confirmed**, +4.29 ± 0.48, ExponentiatedGradient |",
		"| **confirmed**, 12.0 (10.0 to 14.0), CPU 12.0 |", "| ppal | 2 of 2 | 6.67 ± 0.00 | 0.00 |",
		"| ExponentiatedGradient (draws) | 2 of 2 |", "- ExponentiatedGradient: eps 3", "| +4.29 ± 0.48 |",
		"- ExponentiatedGradient on demographic parity on COMPAS: eps 3 is at an end of its grid"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "plots", "dp-compas.svg")); err != nil {
		t.Error(err)
	}
}

// The compared problems are those of docs/evidence/other-libraries.md. The grid of every contender
// contains values on both sides of the bound.
func TestProblemsAndGrids(t *testing.T) {
	var names []string
	for _, p := range problems() {
		names = append(names, p.name())
		for _, c := range contenders() {
			grid := c.Grid(p)
			if fairlearn := c.Worker == "fairlearn"; (len(grid) == 0) != (fairlearn && p.Kind == neymanPearson || p.Scores && c.Name != "ThresholdOptimizer") {
				t.Errorf("%s has %d settings for %s", c.Name, len(grid), p.name())
			}
			if c.Name == exponentiatedGradient && len(grid) > 0 {
				for _, b := range []float64{p.Bound / 2, p.Bound} {
					if !slices.ContainsFunc(grid, func(s Setting) bool { return s["difference_bound"] == b && len(c.atEdge(p, s)) == 0 }) {
						t.Errorf("%s: no difference_bound %v inside the grid", p.name(), b)
					}
				}
			}
			if size := fixedSize(grid); c.Name == "GridSearch" && len(grid) > 0 && size < 21 {
				t.Errorf("GridSearch has %v points", size)
			}
		}
	}
	want := "dp-adult dp-adult-scores dp-bank dp-bank-scores dp-compas dp-compas-scores eo-adult eo-adult-scores eo-bank eo-bank-scores eo-compas eo-compas-scores np-bank-1 np-bank-5 np-bank-10 np-adult-1 np-adult-5 np-adult-10"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("problems %s, want %s", got, want)
	}
}

func fixedSize(grid []Setting) int {
	if len(grid) == 0 {
		return 0
	}
	size, _ := grid[0]["grid_size"].(int)
	return size
}
