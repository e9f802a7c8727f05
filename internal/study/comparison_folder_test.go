package study

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/config"
	"ppal/internal/disk"
	"ppal/internal/option"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/session/results"
	"ppal/trainer/step"
)

// countedOpener returns an opener that counts the runs.
func countedOpener(n *atomic.Int32) Opener {
	return func(ctx context.Context, cfg config.Train, s trainer.Settings) (Trial, error) {
		n.Add(1)
		return openDisc(ctx, cfg, s)
	}
}

// journal returns the lines of results.jsonl without the key that differs between equal runs.
func journal(t *testing.T, dir string) string {
	t.Helper()
	var kept []string
	for _, part := range strings.Split(readComparison(t, dir, "results.jsonl"), ",") {
		if !strings.HasPrefix(part, `"seconds"`) {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, ",")
}

// grid is a search of two points.
var grid = []config.Values{{"gdpa-step": "0.1"}, {"gdpa-step": "0.01"}}

// Several comparisons in one directory share the runs: each run is trained once, all return the
// outcome of a comparison alone, and a comparison with more seeds adds them.
func TestTogether(t *testing.T) {
	whole, dir := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "shared")
	all := discStudy(grid...)
	all.Seeds = []uint64{1, 2, 7}
	want := require.Value(Compare(t.Context(), all, whole, openDisc, nil))(t)
	var mu sync.Mutex
	opened := map[string]int{}
	counting := func(ctx context.Context, cfg config.Train, s trainer.Settings) (Trial, error) {
		mu.Lock()
		opened[fmt.Sprint(cfg.Options, cfg.Session.Settings.Seed, s.RecordEvery)]++
		mu.Unlock()
		return openDisc(ctx, cfg, s)
	}
	var group sync.WaitGroup
	for i := range 4 {
		s := discStudy(grid...)
		if i > 0 {
			s.Seeds = []uint64{1, 2, 7}
		}
		group.Go(func() {
			o, err := Compare(t.Context(), s, dir, counting, nil)
			if err != nil {
				t.Error(err)
			} else if i > 0 && len(o.Runs) != len(want.Runs) {
				t.Errorf("%d runs, want %d", len(o.Runs), len(want.Runs))
			}
		})
	}
	group.Wait()
	if diff := cmp.Diff(journal(t, whole), journal(t, dir)); diff != "" {
		t.Error(diff)
	}
	for run, n := range opened {
		if n != 1 {
			t.Errorf("%s was trained %d times", run, n)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*", "*.lock"))
	if _, stat := os.Stat(filepath.Join(dir, disk.LockName)); err != nil || len(left) > 0 || stat == nil {
		t.Errorf("locks are left: %v", left)
	}
}

// Seeds are added to a finished comparison; runs that exist are not repeated. A search on one seed
// gets no second one.
func TestMoreSeeds(t *testing.T) {
	dir := t.TempDir()
	s := discStudy()
	s.Seeds = []uint64{5}
	require.Value(Compare(t.Context(), s, dir, openDisc, nil))(t)
	more, runs := discStudy(), 0
	o, err := Compare(t.Context(), more, dir, func(ctx context.Context, cfg config.Train, s trainer.Settings) (Trial, error) {
		runs++
		return openDisc(ctx, cfg, s)
	}, nil)
	if err != nil || runs != 4 || len(o.Runs) != 6 || !slices.Equal(o.Comparison.Seeds, []uint64{5, 1, 2}) {
		t.Errorf("%d runs trained, %d in all, seeds %v: %v", runs, len(o.Runs), o.Comparison.Seeds, err)
	}
	one, two := discStudy(grid...), discStudy(grid...)
	one.Seeds = []uint64{1}
	dir = t.TempDir()
	require.Value(Compare(t.Context(), one, dir, openDisc, nil))(t)
	if _, err := Compare(t.Context(), two, dir, openDisc, nil); !errors.Is(err, ErrComparison) {
		t.Errorf("a second seed of a search: %v", err)
	}
}

func TestSeeds(t *testing.T) {
	for text, want := range map[string][]uint64{"3": {1, 2, 3}, "11-13": {11, 12, 13}, "7-7": {7}, "1,4, 6-7": {1, 4, 6, 7}} {
		got, err := ParseSeeds(text)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
		if again, err := ParseSeeds(seedFlag(got)); err != nil || !slices.Equal(again, got) {
			t.Errorf("%v is written as %s: %v, %v", got, seedFlag(got), again, err)
		}
	}
	for _, text := range []string{"", "0", "-3", "x", "3-1", "1,1", "2-4,3", "1-", "0-2", "1-99999", "1-18446744073709551615", "1.5"} {
		if got, err := ParseSeeds(text); err == nil {
			t.Errorf("%q: %d seeds", text, len(got))
		}
	}
}

// A comparison that is refused leaves no lock.
func TestRefusedStudy(t *testing.T) {
	dir := t.TempDir()
	require.Value(Compare(t.Context(), discStudy(), dir, openDisc, nil))(t)
	s := discStudy()
	s.Title = "another"
	for range 2 {
		if _, err := Compare(t.Context(), s, dir, openDisc, nil); !errors.Is(err, ErrComparison) {
			t.Errorf("another study: %v", err)
		}
	}
}

// A run whose records or mark were damaged is done again, with the results of an undisturbed
// comparison.
func TestDamagedRunsAreRepeated(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	s := discStudy()
	require.Value(Compare(t.Context(), s, dir, openDisc, nil))(t)
	want := journal(t, dir)
	records, mark := filepath.Join(dir, "runs", "gdpa-seed2.jsonl"), filepath.Join(dir, "runs", "gdpa-seed2.done")
	whole := readComparison(t, records)
	lines := strings.SplitAfter(whole, "\n")
	for name, damage := range map[string]struct{ path, text string }{
		"cut at a line":       {records, strings.Join(lines[:len(lines)/2], "")},
		"cut in a line":       {records, whole[:len(whole)/2]},
		"empty":               {records, ""},
		"another number":      {records, strings.Replace(whole, `"objective":-`, `"objective":-9`, 1)},
		"empty mark":          {mark, ""},
		"mark cut":            {mark, `{"records":`},
		"mark of other lines": {mark, strings.Replace(readComparison(t, mark), `"records":`, `"records":1`, 1)},
	} {
		require.NoError(t, os.WriteFile(damage.path, []byte(damage.text), 0o644))
		var opened atomic.Int32
		if _, err := Compare(t.Context(), s, dir, countedOpener(&opened), nil); err != nil {
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
	do := func(change func(s *Comparison)) (int, error) {
		other := *s
		change(&other)
		var opened atomic.Int32
		_, err := Compare(t.Context(), &other, dir, countedOpener(&opened), nil)
		return int(opened.Load()), err
	}
	// After a failure before a run has ended, another study has the folder.
	failing := func(context.Context, config.Train, trainer.Settings) (Trial, error) {
		return nil, errors.New("no data")
	}
	if _, err := Compare(t.Context(), s, dir, failing, nil); err == nil {
		t.Fatal("no error")
	}
	s.Title, s.Version, s.Data = "another", "2", file("def")
	if n, err := do(func(*Comparison) {}); n != 4 || err != nil {
		t.Fatalf("%d runs, %v", n, err)
	}
	if n, err := do(func(s *Comparison) { s.Workers = 1 }); n != 0 || err != nil {
		t.Errorf("other workers: %d runs, %v", n, err)
	}
	for text, change := range map[string]func(s *Comparison){
		"another version of ppal (2, this program is 3)": func(s *Comparison) { s.Version = "3" },
		"rows.csv has changed":                           func(s *Comparison) { s.Data = file("abc") },
		"holds another comparison":                       func(s *Comparison) { s.Threads = 2 },
	} {
		if n, err := do(change); n != 0 || !errors.Is(err, ErrComparison) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %d runs, %v", text, n, err)
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "study.yaml"), []byte("{"), 0o644))
	if _, err := do(func(*Comparison) {}); !errors.Is(err, ErrComparison) {
		t.Errorf("study.yaml is no YAML: %v", err)
	}
}

// Comparisons with other seeds, merged, are the comparison with all seeds.
func TestMerge(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole")
	all := discStudy()
	all.Seeds = []uint64{1, 2, 7, 8}
	require.Value(Compare(t.Context(), all, whole, openDisc, nil))(t)
	var dirs []string
	part := func(title string, seeds ...uint64) string {
		dir := t.TempDir()
		s := discStudy()
		s.Title, s.Seeds = title, seeds
		require.Value(Compare(t.Context(), s, dir, openDisc, nil))(t)
		return dir
	}
	dirs = []string{part("disc", 1, 2), part("disc", 2, 7), part("disc", 8)}
	into := filepath.Join(t.TempDir(), "all")
	for range 2 { // again, into the same folder
		o, err := MergeComparisons(t.Context(), dirs, into, []string{"test_error"})
		if err != nil || len(o.Runs) != 8 {
			t.Fatalf("%+v, %v", o, err)
		}
	}
	if diff := cmp.Diff(journal(t, whole), journal(t, into)); diff != "" {
		t.Error(diff)
	}
	for _, file := range []string{"summary.tex", "summary.md"} { // but for the seconds
		if a, b := len(readComparison(t, whole, file)), len(readComparison(t, into, file)); a == 0 || b < a*9/10 {
			t.Errorf("%s: %d and %d bytes", file, a, b)
		}
	}
	if curves := strings.Count(readComparison(t, into, "curves.csv"), "\nobjective,iteration (epoch),ppala,"); curves < 2 {
		t.Errorf("curves.csv has %d points of ppala's objective", curves)
	}
	if _, err := MergeComparisons(t.Context(), []string{dirs[0], part("another", 9)}, t.TempDir(), nil); !errors.Is(err, ErrComparison) {
		t.Errorf("another study: %v", err)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dirs[2], "runs", "gdpa-seed8.jsonl"), []byte("{}\n"), 0o644))
	if _, err := MergeComparisons(t.Context(), dirs, t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "gdpa-seed8.jsonl") {
		t.Errorf("damaged records: %v", err)
	}
}

// The interval of a paired difference: hand-computed for two values, wide enough for noise, and
// unaffected by what the methods share.
func TestPaired(t *testing.T) {
	for _, tc := range []struct {
		differences []float64
		want        string
	}{
		{nil, "-"},
		{[]float64{1, 3}, "2"},
		{[]float64{-1, -1, -1, -1, -1}, "-1, -1 to -1: lower"},
		{[]float64{0, 0, 0, 0, 0}, "0, 0 to 0: equal"},
		{[]float64{1, 2, 3, 4, 5}, "3, 1.8 to 4.2: higher"}, // 97.5% of the 3,125 means are at most 4.2
		{[]float64{-1, 1, -1, 1, -1, 1}, "0, -0.667 to 0.667: cannot be told"},
	} {
		if got := NewPaired(tc.differences).String(); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.differences, got, tc.want)
		}
	}
}

// The table for a terminal and summary.json have the numbers of summary.md.
func TestTextAndJSON(t *testing.T) {
	dir := t.TempDir()
	s := discStudy()
	s.Seeds = []uint64{1, 2, 3, 4, 5}
	o := require.Value(Compare(t.Context(), s, dir, openDisc, nil))(t)
	var all struct {
		Methods []struct {
			Name        string
			Numbers     map[string]Statistic
			Differences map[string]Paired
		}
	}
	require.NoError(t, json.Unmarshal([]byte(readComparison(t, dir, "summary.json")), &all))
	text, markdown := o.Text(), readComparison(t, dir, "summary.md")
	for i, m := range all.Methods {
		if len(m.Numbers) < 5 || len(m.Differences) != i*5 {
			t.Errorf("%s has %d numbers and %d differences", m.Name, len(m.Numbers), len(m.Differences))
		}
		for name, number := range m.Numbers {
			if !strings.Contains(text, number.String()) || !strings.Contains(markdown, number.String()) {
				t.Errorf("%s of %s, %v, is missing:\n%s", name, m.Name, number, text)
			}
		}
		for name, difference := range m.Differences {
			if difference.Interval == nil || !strings.Contains(text, difference.String()) || !strings.Contains(markdown, difference.String()) {
				t.Errorf("the difference %s of %s, %v, is missing:\n%s", name, m.Name, difference, text)
			}
		}
	}
}

// TestEqualSteps checks that every method with a choice of primal steps takes the automatic
// first-order step, and that the summary names the other methods.
func TestEqualSteps(t *testing.T) {
	var own []string
	s := &Comparison{}
	for _, d := range method.All() {
		values := config.Values{"method": d.Name}
		switch d.Name {
		case "multiplier-model":
			values["problem"], values["if-form"] = "if", "sampled"
		case "nl-iapial":
			values["model"], values["phi"] = "linear", "logistic"
		}
		s.Contenders = append(s.Contenders, Contender{Name: d.Name, Values: values})
		cfg, err := resolve(values)
		if err != nil {
			t.Fatal(d.Name, err)
		}
		m, err := cfg.TrainerMethod()
		if err != nil {
			t.Fatal(d.Name, err)
		}
		if !slices.ContainsFunc(option.Of(d.New()), func(o *option.Option) bool { return o.Name == "primal" }) {
			own = append(own, d.Name)
			continue
		}
		rule, ok := m.(interface{ PrimalStep() step.Settings })
		if !ok {
			t.Fatalf("%s has --primal and no primal step", d.Name)
		}
		if p := rule.PrimalStep(); p.Kind != step.Nesterov || p.Fixed || p.Eta != 0 {
			t.Errorf("%s takes the step %+v", d.Name, p)
		}
		if g, ok := m.(*method.GDPA); ok && !g.Automatic {
			t.Error("the step size of gdpa has the published limit")
		}
	}
	got := (&Compared{Comparison: s}).steps()
	if want := strings.Join(own, ", ") + ": steps and step sizes of their own"; len(own) == 0 || !strings.Contains(got, want) || strings.Count(got, ";") != 1 {
		t.Errorf("steps: %s; want two kinds, one of them %s", got, want)
	}
}

// TestPublishedSteps checks the settings that give GDPA its published step.
func TestPublishedSteps(t *testing.T) {
	for text, given := range map[string]config.Values{
		"gradient with gdpa-step 0.001":    {"preset": "paper"},
		"gradient with gdpa-step 0.01":     {"gdpa-step": "0.01"},
		"gradient with gdpa-step 0.002":    {"primal": "gradient", "gdpa-step": "0.002"},
		"nesterov with the automatic size": {"primal": "nesterov"},
	} {
		s := &Comparison{Contenders: []Contender{{Name: "gdpa", Values: merged(config.Values{"method": "gdpa"}, given)}}}
		if got := (&Compared{Comparison: s}).steps(); got != "gdpa: "+text {
			t.Errorf("%v: %s, want %s", given, got, text)
		}
		s.Contenders[0].Values = config.Values{"method": "gdpa"} // the search has chosen the settings
		o := &Compared{Comparison: s, Search: []SearchPoint{{Contender: "gdpa", Settings: config.Values{"gdpa-step": "7"}}, {Contender: "gdpa", Settings: given, Chosen: true}}}
		if got := o.steps(); got != "gdpa: "+text {
			t.Errorf("%v chosen: %s, want %s", given, got, text)
		}
	}
}
