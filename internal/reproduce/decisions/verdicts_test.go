package decisions

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppal/constraints"
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

// cells returns the same counts for every split. The arguments are group 0 with labels 0 and 1,
// then group 1.
func cells(n00, n01, n10, n11 float64) Counts {
	var c Counts
	for s := range c {
		c[s] = [2][2]float64{{n00, n01}, {n10, n11}}
	}
	return c
}

// total returns 100 and 50 rows of group 0, and 40 and 20 rows of group 1.
func total() Counts { return cells(100, 50, 40, 20) }

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-12 {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestMeasure(t *testing.T) {
	accepted := cells(10, 40, 8, 12)
	dp := measure(demographicParity, total(), accepted, 0)
	near(t, "error", dp.Error, (10+8+10+8)/210.)
	near(t, "gap of positive rates", dp.Rates[0], 50/150.-20/60.)
	eo := measure(equalizedOdds, total(), accepted, 2)
	near(t, "gap of true positive rates", eo.Rates[0], 0.8-0.6)
	near(t, "gap of false positive rates", eo.Rates[1], 0.2-0.1)
	near(t, "larger gap", eo.largest(), 0.2)
	np := measure(neymanPearson, total(), accepted, 1)
	near(t, "false positive rate", np.largest(), 18/140.)
	near(t, "false negative rate", np.Error, 1-52/70.)
}

// A bound is met with an excess of one row of its own cells. It is not met with an excess of two
// rows, and it is not judged if one row weighs too much.
func TestMetToOneRow(t *testing.T) {
	p := Problem{Kind: neymanPearson, Bound: 0.05} // 7 of 140 rows
	for accepted, want := range map[float64]bool{7: true, 8: true, 9: false} {
		if p.met(total(), cells(accepted, 50, 0, 20)) != want {
			t.Errorf("%v of 140 false positives for 5 %%: met is %v", accepted, !want)
		}
	}
	odds := Problem{Kind: equalizedOdds, Bound: 0.1} // the true positive rates count 50 and 20 rows, the false ones 100 and 40
	for _, c := range []struct {
		accepted Counts
		want     [2]constraints.State
	}{
		{cells(10, 25, 4, 10), [2]constraints.State{constraints.Met, constraints.Met}},
		{cells(10, 25, 9, 10), [2]constraints.State{constraints.Met, constraints.NotJudged}}, // 0.225 - 0.1 with one row of 40
		{cells(10, 25, 8.5, 10), [2]constraints.State{constraints.Met, constraints.NotJudged}},
		{cells(10, 35, 9.5, 10), [2]constraints.State{constraints.NotMet, constraints.NotMet}},
	} {
		list := odds.judged(total(), c.accepted)
		if got := [2]constraints.State{list[0].State, list[1].State}; got != c.want {
			t.Errorf("%v: %v, want %v", c.accepted[0], got, c.want)
		}
		if list[0].State == constraints.NotMet && list[0].Tolerance != 1/20. {
			t.Errorf("the tolerance of true positive rates is %v", list[0].Tolerance)
		}
	}
}

// Two classifiers on either side of the limit are mixed so that the gap equals the limit.
func TestEqualGapMixesUpToTheLimit(t *testing.T) {
	fair, sharp := cells(0, 0, 0, 0), cells(0, 50, 0, 8) // gaps 0 and 1/3 - 8/60 = 0.2; errors 70/210 and 12/210
	m, ok := equalGap(demographicParity, total(), []Counts{fair, sharp}, 0.05)
	if !ok {
		t.Fatal("the limit is not reached")
	}
	got := measure(demographicParity, total(), m, 0)
	near(t, "gap", got.largest(), 0.05+rounding)
	if share := (got.Error - 70/210.) / (12/210. - 70/210.); share < 0.2499 || share > 0.2501 {
		t.Errorf("a share of %v is the sharper classifier's, want a quarter", share)
	}
}

// Gaps of opposite signs cancel in a mixture.
func TestEqualGapUsesSignedGaps(t *testing.T) {
	up, down := cells(0, 50, 0, 8), cells(0, 20, 0, 20) // +0.2 and -0.2
	m, ok := equalGap(demographicParity, total(), []Counts{up, down}, 0)
	if !ok {
		t.Fatal("the mixture without a gap is not found")
	}
	if gap := measure(demographicParity, total(), m, 0).largest(); gap > 1e-8 {
		t.Errorf("gap %v", gap)
	}
}

// A single classifier is the result if its gap is within the limit. Beyond the limit, the result is
// empty.
func TestEqualGapOfOneClassifier(t *testing.T) {
	good, bad := cells(0, 50, 0, 20), cells(100, 50, 40, 20)
	m, ok := equalGap(equalizedOdds, total(), []Counts{bad, good}, 0.01)
	if !ok || m != good {
		t.Errorf("%v %v, want the classifier without an error", m, ok)
	}
	if _, ok := equalGap(neymanPearson, total(), []Counts{bad}, 0.5); ok {
		t.Error("a classifier beyond the limit was used")
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
		if got, ok := with(Own, nil, 1, 1, 1, c.points...).best(parity); !ok || got.Accepted != c.want {
			t.Errorf("%v, want %v", got.Accepted, c.want)
		}
	}
	if _, ok := with(Own, nil, 1, 1, 1).best(parity); ok {
		t.Error("a fit without points has a best point")
	}
}
