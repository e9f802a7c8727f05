package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/config"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/problem"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// disc is a trial problem: minimise -x - y on a disc, from a start that depends on the seed.
type disc struct {
	problem  problem.Problem
	method   trainer.Method
	settings trainer.Settings
	summary  results.Summary
}

func openDisc(_ context.Context, cfg config.Train, s trainer.Settings) (Trial, error) {
	f := problem.Functions{N: 2, M: 1,
		F:         func(x []float64) float64 { return -x[0] - x[1] },
		Gradient:  func(d, x []float64) { d[0], d[1] = -1, -1 },
		G:         func(g, x []float64) { g[0] = x[0]*x[0] + x[1]*x[1] - 2 },
		JacobianT: func(d, x, w []float64) { d[0], d[1] = 2*w[0]*x[0], 2*w[0]*x[1] },
	}
	p, err := f.New([]float64{0.1 * float64(cfg.Session.Settings.Seed), 0.5})
	if err != nil {
		return nil, err
	}
	m, err := cfg.TrainerMethod()
	return &disc{problem: p, method: m, settings: s}, err
}

func (d *disc) Close() error { return nil }

func (d *disc) Optimize(ctx context.Context) (*trainer.Result, error) {
	s := d.settings
	s.Measure = func() (map[string]float64, error) { return map[string]float64{"test_error": 0.25}, nil }
	r, err := trainer.Train(ctx, d.problem, d.method, s)
	if err == nil {
		x := make([]float64, 2)
		d.problem.Space().Read(x, problem.Iterate)
		d.summary.Objective, d.summary.MaxViolation = -x[0]-x[1], max(0, x[0]*x[0]+x[1]*x[1]-2)
		d.summary.Test = map[string]float64{"error": 0.25}
	}
	return r, err
}

func (d *disc) Certify() (*session.Result, error) { return nil, nil }

func (d *disc) Summary() results.Summary { return d.summary }

func discStudy(grid ...config.Values) *Comparison {
	return &Comparison{
		Title: "disc", Seeds: []uint64{1, 2}, Budget: Budget{Gradients, 101}, Workers: 2, Threads: 1, Measures: []string{"test_error"},
		Contenders: []Contender{
			{Name: "ppala", Values: config.Values{"method": "ppala"}},
			{Name: "gdpa", Values: config.Values{"method": "gdpa"}, Grid: grid},
		},
	}
}

func readComparison(t *testing.T, parts ...string) string {
	t.Helper()
	data := require.Value(os.ReadFile(filepath.Join(parts...)))(t)
	return string(data)
}

func TestEveryRunHasTheBudget(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	var told float64
	o := require.Value(Compare(t.Context(), discStudy(), dir, openDisc, func(done float64, total int, _ string) {
		if total != 4 {
			t.Errorf("%d runs in all, want 4", total)
		}
		told = done
	}))(t)
	if told != 4 || len(o.Runs) != 4 {
		t.Errorf("%v of 4 runs told, %d there", told, len(o.Runs))
	}
	for _, r := range o.Runs {
		if r.Last().GradientEvaluations != 101 {
			t.Errorf("%s, seed %d: %d gradients, want 101", r.Contender, r.Seed, r.Last().GradientEvaluations)
		}
		if a, b := r.Records[0].Objective, -0.5-0.1*float64(r.Seed); a != b {
			t.Errorf("%s, seed %d starts at f = %v, want %v", r.Contender, r.Seed, a, b)
		}
	}
	lines := strings.Split(strings.TrimSpace(readComparison(t, dir, "results.jsonl")), "\n")
	want := 0
	for _, r := range o.Runs {
		want += len(r.Records)
	}
	if len(lines) != want || !strings.HasPrefix(lines[0], `{"method":"ppala","seed":1,"iteration":0,`) || !strings.Contains(lines[0], `"test_error":0.25`) {
		t.Errorf("%d lines, want %d; the first is %s", len(lines), want, lines[0])
	}
	summary := readComparison(t, dir, "summary.md")
	for _, text := range []string{"# disc", "101 gradients", "| ppala | -2 ", "2 of 2", "`--method gdpa`"} {
		if !strings.Contains(summary, text) {
			t.Errorf("summary.md lacks %q:\n%s", text, summary)
		}
	}
}

// A continued comparison runs only the missing runs, and gives the same result as an uninterrupted
// comparison.
func TestContinued(t *testing.T) {
	whole, dir := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "parts")
	s := discStudy()
	s.Workers = 1
	require.Value(Compare(t.Context(), s, whole, openDisc, nil))(t)
	var opened atomic.Int32
	ctx, cancel := context.WithCancel(t.Context())
	counting := func(ctx context.Context, cfg config.Train, s trainer.Settings) (Trial, error) {
		if opened.Add(1) == 3 {
			cancel()
		}
		return openDisc(ctx, cfg, s)
	}
	if _, err := Compare(ctx, s, dir, counting, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want the context's error", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "summary.md")); err == nil {
		t.Error("an interrupted comparison has a summary")
	}
	opened.Store(10)
	require.Value(Compare(t.Context(), s, dir, counting, nil))(t)
	if again := opened.Load() - 10; again != 2 {
		t.Errorf("%d runs were done again, want the 2 that were not finished", again)
	}
	strip := func(text string) string { // removes the one key that may differ
		var kept []string
		for _, part := range strings.Split(text, ",") {
			if !strings.HasPrefix(part, `"seconds"`) {
				kept = append(kept, part)
			}
		}
		return strings.Join(kept, ",")
	}
	if diff := cmp.Diff(strip(readComparison(t, whole, "results.jsonl")), strip(readComparison(t, dir, "results.jsonl"))); diff != "" {
		t.Error(diff)
	}
	s.Title = "another"
	if _, err := Compare(t.Context(), s, dir, openDisc, nil); !errors.Is(err, ErrComparison) {
		t.Errorf("another study in the same folder: %v", err)
	}
}

func TestSearchIsRecorded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	o := require.Value(Compare(t.Context(), discStudy(config.Values{"gdpa-step": "1e-6"}, config.Values{"gdpa-step": "1e-3"}, config.Values{"gdpa-step": "1"}), dir, openDisc, nil))(t)
	var got []string
	for _, p := range o.Search {
		got = append(got, fmt.Sprintf("%s, seed %d: %v", p.Settings["gdpa-step"], p.Seed, p.Chosen))
	}
	want := []string{"1e-6, seed 1: false", "1e-3, seed 1: true", "1, seed 1: false", "1e-3, seed 2: true", "1e-6, seed 2: false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, r := range o.Of("gdpa") {
		if step := r.Config.Text("gdpa-step"); step != "0.001" {
			t.Errorf("seed %d ran with the step %s", r.Seed, step)
		}
	}
	if n := strings.Count(readComparison(t, dir, "search.jsonl"), "\n"); n != 5 {
		t.Errorf("search.jsonl has %d lines", n)
	}
}

func TestRanked(t *testing.T) {
	for name, tc := range map[string]struct {
		tried []SearchPoint
		want  []int
	}{
		"feasible first":     {[]SearchPoint{{Objective: 1, MaxViolation: 1}, {Objective: 9, Feasible: true}}, []int{1, 0}},
		"then the objective": {[]SearchPoint{{Objective: 2, Feasible: true}, {Objective: 1, Feasible: true}}, []int{1, 0}},
		"or the violation":   {[]SearchPoint{{Objective: 1, MaxViolation: 2}, {Objective: 5, MaxViolation: 1}}, []int{1, 0}},
		"failures last":      {[]SearchPoint{{Failure: "f is NaN"}, {Objective: 5, MaxViolation: 1}}, []int{1, 0}},
		"equals as they are": {[]SearchPoint{{Objective: 1, Feasible: true}, {Objective: 1, Feasible: true}}, []int{0, 1}},
	} {
		if diff := cmp.Diff(tc.want, ranked(tc.tried)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// The search does not choose a point that is best on one seed and fails or ends infeasible on the
// other seed.
func TestChooseByBothSeeds(t *testing.T) {
	first := []SearchPoint{{Objective: 3, Feasible: true}, {Objective: 1, Feasible: true}, {Objective: 2, Feasible: true}, {Objective: 9, Feasible: true}}
	finals := []int{1, 2, 0}
	good := SearchPoint{Objective: 2, Feasible: true}
	for name, tc := range map[string]struct {
		second []SearchPoint
		want   int
	}{
		"one seed":         {nil, 1},
		"equal on both":    {[]SearchPoint{good, good, good}, 1},
		"fails":            {[]SearchPoint{{Failure: "f is NaN"}, good, good}, 2},
		"infeasible":       {[]SearchPoint{{Objective: 0, MaxViolation: 1}, good, good}, 2},
		"worse on average": {[]SearchPoint{{Objective: 9, Feasible: true}, {Objective: 5, Feasible: true}, {Objective: 3, Feasible: true}}, 0},
	} {
		a, b := slices.Clone(first), slices.Clone(tc.second)
		if got := choose(finals, a, b); got != tc.want || !a[got].Chosen || b != nil && !b[slices.Index(finals, got)].Chosen {
			t.Errorf("%s: %d of %+v %+v, want %d", name, got, a, b, tc.want)
		}
	}
}

// The divergence of a method is a result. It does not end the comparison.
func TestDivergenceIsReported(t *testing.T) {
	s := discStudy()
	s.Contenders[1].Values = config.Values{"method": "gdpa", "gdpa-step": "1e200", "gdpa-step-decay": "constant"}
	dir := filepath.Join(t.TempDir(), "new")
	for range 2 { // the second time, the failure is read from the file
		o := require.Value(Compare(t.Context(), s, dir, openDisc, nil))(t)
		if r := o.Of("gdpa")[0]; r.Failure == "" {
			t.Errorf("no failure; the last record is %+v", r.Last())
		}
		if text := o.Markdown(); !strings.Contains(text, "0 of 2, 2 failed") || strings.Contains(text, "NaN ±") {
			t.Errorf("the table:\n%s", text)
		}
	}
}

func TestReadGrid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "grid.yaml")
	write := func(text string) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	write("gdpa:\n  gdpa-step: [1e-3, 1e-2]\n  gdpa-penalty: [1, 2]\nppala: {alpha: 3}\n")
	got := require.Value(ReadGrid(path))(t)
	want := map[string][]config.Values{
		"gdpa": {
			{"gdpa-step": "1e-3", "gdpa-penalty": "1"}, {"gdpa-step": "1e-3", "gdpa-penalty": "2"},
			{"gdpa-step": "1e-2", "gdpa-penalty": "1"}, {"gdpa-step": "1e-2", "gdpa-penalty": "2"},
		},
		"ppala": {{"alpha": "3"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for text, where := range map[string]string{
		"gdpa: [1]": ":1:", "gdpa:\n  stepp: [1]": ":2:", "gdpa:\n  gdpa-step: []": ":2:", "gdpa:\n  gdpa-step: [[1]]": ":2:", "- a": ":1:", "a: {": "grid.yaml",
		"gdpp:\n  step: [1]": "unknown method gdpp; did you mean gdpa?", "": ":1:", "# gdpa": ":1:", "{}": ":1:", "gdpa: {}": ":1:",
	} {
		write(text)
		if _, err := ReadGrid(path); !errors.Is(err, ErrComparison) || !strings.Contains(err.Error(), where) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestParseBudget(t *testing.T) {
	for text, want := range map[string]Budget{
		"iterations": {Iterations, 300}, "gradients": {Gradients, 300}, "seconds:2.5": {Seconds, 2.5}, "gradients:7": {Gradients, 7},
	} {
		if got, err := ParseBudget(text, 300); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"seconds", "hours:1", "gradients:-1", "iterations:x", ""} {
		if _, err := ParseBudget(text, 300); !errors.Is(err, ErrComparison) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestStatistic(t *testing.T) {
	s := NewStatistic([]float64{1, 2, 3})
	if s.Mean != 2 || math.Abs(s.Deviation-1) > 1e-15 || s.String() != "2 ± 1" {
		t.Errorf("%+v: %s", s, s)
	}
	if text := NewStatistic(nil).String(); text != "-" {
		t.Error(text)
	}
}

// A failed run does not shorten its contender's curve.
func TestShown(t *testing.T) {
	o := &Compared{Runs: []ComparedRun{{Contender: "a", Seed: 1, Failure: "NaN"}, {Contender: "a", Seed: 2}, {Contender: "b", Seed: 1, Failure: "NaN"}}}
	if a, b := o.shown("a"), o.shown("b"); len(a) != 1 || a[0].Seed != 2 || len(b) != 1 {
		t.Errorf("shown: %+v and %+v", a, b)
	}
}

// The note counts the records without near stationarity and gives the reason.
func TestNearNote(t *testing.T) {
	near := func(reason string) trainer.Record {
		return trainer.Record{NearStationarity: &certify.Stationarity{Distance: 1}, NearReason: reason}
	}
	o := &Compared{Comparison: discStudy(), Runs: []ComparedRun{
		{Contender: "ppala", Records: []trainer.Record{near(""), {}, near("it is infeasible"), near("")}},
		{Contender: "gdpa", Records: []trainer.Record{near(""), {}}},
	}}
	text := o.Markdown()
	if !strings.Contains(text, "near stationarity could not be measured at 1 of 3 records; the last reason: it is infeasible") {
		t.Errorf("the summary:\n%s", text)
	}
	if note := o.nearNote("gdpa"); note != "" {
		t.Errorf("a note without need: %s", note)
	}
}

// A grid whose best point lies on its edge grows until the best point lies inside, or to the limit.
func TestGridsGrow(t *testing.T) {
	for _, tc := range []struct {
		steps  []string
		inside bool
	}{{[]string{"1e-6", "1.1e-6"}, false}, {[]string{"10", "1"}, true}, {[]string{"1e-3", "1e-1", "10"}, true}} {
		var grid []config.Values
		for _, s := range tc.steps {
			grid = append(grid, config.Values{"gdpa-step": s})
		}
		told, all := 0.0, 0
		o := require.Value(Compare(t.Context(), discStudy(grid...), t.TempDir(), openDisc, func(done float64, total int, _ string) { told, all = done, total }))(t)
		if told != float64(all) {
			t.Errorf("%v: %v of %d runs done", tc.steps, told, all)
		}
		values, chosen := map[string]bool{}, 0
		for _, p := range o.Search {
			values[p.Settings["gdpa-step"]] = true
			if p.Chosen && p.Seed == 1 {
				chosen++
			}
		}
		if inside := o.edges("gdpa") == nil; inside != tc.inside || chosen != 1 {
			t.Errorf("%v grew to %v, the best point inside: %v, chosen %d", tc.steps, values, inside, chosen)
		}
		if !tc.inside && (len(values) != len(grid)+extensions || !strings.Contains(o.Markdown(), "gdpa-step is on the edge of the search")) {
			t.Errorf("%v grew to %v", tc.steps, values)
		}
	}
	c := Contender{Values: config.Values{"method": "gdpa"}, Grid: []config.Values{{"gdpa-perturbation": "0.5"}, {"gdpa-perturbation": "0.9"}, {"gdpa-perturbation": "0.7"}}}
	if grid, fresh := c.beyond(1); len(grid) != 3 || fresh != nil { // 1.16 is not below 1
		t.Errorf("%v, %v", grid, fresh)
	}
	if grid, fresh := c.beyond(2); len(grid) != 3 || fresh != nil { // inside
		t.Errorf("%v, %v", grid, fresh)
	}
	if grid, fresh := c.beyond(0); len(fresh) != 1 || grid[3]["gdpa-perturbation"] != "0.357" {
		t.Errorf("%v, %v", grid, fresh)
	}
	c.Grid = []config.Values{{"gdpa-step": "auto", "primal": "nesterov"}, {"gdpa-step": "0.1"}, {"gdpa-step": "1"}} // a word is no edge
	if grid, fresh := c.beyond(2); len(fresh) != 1 || grid[3]["gdpa-step"] != "10" {
		t.Errorf("%v, %v", grid, fresh)
	}
	if grid, fresh := c.beyond(0); fresh != nil {
		t.Errorf("%v, %v", grid, fresh)
	}
}

// A record whose model gave up the class of the objective is feasible nowhere: neither as the best
// record nor at the end nor in the search.
func TestGivenUpIsNotFeasible(t *testing.T) {
	for _, given := range [][]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
		r := ComparedRun{Records: []trainer.Record{{Objective: 1, GivenUp: given[0]}, {Objective: 2, GivenUp: given[1]}}}
		best, known := r.Best()
		if known != (!given[0] || !given[1]) || known && (best == 1) == given[0] || r.Met() == given[1] || r.MetThroughout() == given[1] ||
			newSearchPoint(&r, nil).Feasible == given[1] {
			t.Errorf("%v: best %v, %t; met %t", given, best, known, r.Met())
		}
		o := &Compared{Runs: []ComparedRun{r}}
		if strings.Contains(o.judgedBy(), "no longer decides") != (given[0] || given[1]) {
			t.Errorf("%v: %s", given, o.judgedBy())
		}
	}
}
