package reproduce

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppal/datasets/tabular"
	"ppal/internal/config"
	"ppal/internal/datatest"
	"ppal/internal/require"
	"ppal/internal/study"
	"ppal/trainer"
)

// The documented names exist, and the settings and grids of all contenders resolve.
func TestStudiesResolve(t *testing.T) {
	want := []string{"dp-adult", "dp-bank", "dp-compas", "eo-adult", "eo-bank", "eo-compas", "if-communities", "mnpc-fashion-mnist",
		"mnpc-cifar10", "gdpa-fashion-mnist", "gdpa-fashion-mnist-conv", "gdpa-cifar10", "gdpa-cifar10-conv", "alpha-sweep", "beta-sweep", "duals", "ranking-mslr"}
	var have []string
	for _, f := range Figures() {
		have = append(have, f.Name)
		if f.Title == "" || f.Source == "" {
			t.Errorf("%s has the title %q and the source %q", f.Name, f.Title, f.Source)
		}
		sizes := []Figure{f}
		if full, err := f.Full(); err == nil {
			sizes = append(sizes, full)
		}
		for _, f := range sizes {
			names, comparisons := f.Comparisons(Options{Seeds: []uint64{1, 2}, DataDir: "data", Workers: 2})
			if f.published != nil && !slices.Equal(names[:2], []string{published, automatic}) || len(f.claims) == 0 {
				t.Errorf("%s: comparisons %v, %d claims", f.Name, names, len(f.claims))
			}
			for _, s := range comparisons {
				if want := []uint64{1, 2}; !slices.Equal(s.Seeds, want) && !(s.Title == f.Title+" ("+titleOf(onMQ2008)+")" && slices.Equal(s.Seeds, want[:1])) || s.Budget.Amount <= 0 {
					t.Errorf("%s: seeds %v, budget %v", s.Title, s.Seeds, s.Budget)
				}
				for _, c := range s.Contenders {
					for _, point := range append([]config.Values{nil}, c.Grid...) {
						if _, err := config.Resolve(merged(c.Values, point), nil); err != nil {
							t.Errorf("%s: %s: %v", s.Title, c.Name, err)
						}
					}
				}
			}
		}
	}
	if !slices.Equal(have, want) {
		t.Errorf("the experiments are %v, want %v", have, want)
	}
}

// In a comparison, all searches have the same number of points.
func TestSearchesAreEqual(t *testing.T) {
	for _, f := range Figures() {
		_, comparisons := f.Comparisons(Options{Seeds: []uint64{1}})
		for _, s := range comparisons {
			points := 0
			for _, c := range s.Contenders {
				switch {
				case len(c.Grid) == 0:
				case points == 0:
					points = len(c.Grid)
				case len(c.Grid) != points:
					t.Errorf("%s: %s searches %d points, others %d", s.Title, c.Name, len(c.Grid), points)
				}
			}
		}
	}
}

func TestFullIsLarger(t *testing.T) {
	part := require.Value(Lookup("mnpc-cifar10"))(t)
	all := require.Value(part.Full())(t)
	for f, want := range map[*Figure][3]string{&part: {"1000", "64", "ppal reproduce mnpc-cifar10"}, &all: {"0", "256", "ppal reproduce mnpc-cifar10 --full"}} {
		_, comparisons := f.Comparisons(Options{Seeds: []uint64{1}})
		v := comparisons[0].Contenders[0].Values
		if got := [3]string{v["rows-per-class"], v["hidden"], f.command()}; got != want {
			t.Errorf("%s: %v, want %v", f.Name, got, want)
		}
	}
	if _, err := require.Value(Lookup("dp-adult"))(t).Full(); !errors.Is(err, ErrFull) {
		t.Errorf("all data of an experiment on all data: %v", err)
	}
}

func TestLookup(t *testing.T) {
	if f, err := Lookup("duals"); err != nil || f.Name != "duals" {
		t.Errorf("%v, %v", f.Name, err)
	}
	if _, err := Lookup("dp-mars"); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "dp-adult") {
		t.Errorf("an unknown name: %v", err)
	}
}

// Without the files of MSLR and MQ2008, the figure has the stand-in alone and says so. With MSLR,
// it counts the pairs of its kept queries.
func TestRankedData(t *testing.T) {
	f := require.Value(Lookup("ranking-mslr"))(t)
	dir := t.TempDir()
	check := func(n int, dataset string, texts ...string) {
		t.Helper()
		on := require.Value(f.On(dir))(t)
		names, comparisons := on.Comparisons(Options{Seeds: []uint64{1}, DataDir: dir})
		if set := comparisons[0].Contenders[0].Values["dataset"]; len(names) != n || set != dataset {
			t.Errorf("the comparisons %v, the first on %s", names, set)
		}
		for _, text := range append(texts, "over 470,000 pairs") {
			if !strings.Contains(strings.Join(on.Data, "\n"), text) {
				t.Errorf("no %q in\n%s", text, strings.Join(on.Data, "\n"))
			}
		}
	}
	check(2, "synthetic-mslr", "the data directory has no mslr/Fold1/train.txt", "the data directory has no mq2008/S1.txt", "1000 training queries")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "mslr", "Fold1"), 0o755))
	for part, name := range []string{"train", "vali", "test"} {
		var b strings.Builder
		for q := range 5 {
			for i := range 40 { // all documents of rank 0 are relevant or of the first grade
				fmt.Fprintf(&b, "%d qid:%d 1:%d 133:%d\n", i%2*2, 10*part+q, i, i/2%2)
			}
		}
		datatest.Write(t, filepath.Join(dir, "mslr", "Fold1"), name+".txt", []byte(b.String()))
	}
	check(2, "mslr-filtered", "mslr-filtered with seed 1 has 4 training queries, 140 documents and 1200 pairs.")
	if f.base["dataset"] != "synthetic-mslr" {
		t.Error("a figure on files changed the figure")
	}
}

// The chosen record is the one with the smallest validation error, not the last.
func TestChosenMeasure(t *testing.T) {
	record := func(validation, test float64) trainer.Record {
		return trainer.Record{Measures: map[string]float64{"validation_pair_error": validation, "test_pair_error": test}}
	}
	o := outcome(run("a", record(3, 9), record(1, 5), record(2, 1)), run("b", record(2, 4), trainer.Record{}), run("c", trainer.Record{}))
	judge(t, "the chosen", ahead("b", []string{"a"}, chosenMeasure("test_pair_error")), o, true, study.Confirmed, "b 4; a 5")
	judge(t, "none", ahead("c", []string{"a"}, chosenMeasure("test_pair_error")), o, true, study.CannotTell, "c none")
}

// The counts of three groups, the first two of the same rows, by hand.
func TestGroupCounts(t *testing.T) {
	part := func(rows int, groups ...[]int) *tabular.Table {
		table := &tabular.Table{Labels: make([]int, rows)}
		for _, g := range groups {
			table.Groups = append(table.Groups, tabular.Group{Rows: g})
		}
		return table
	}
	train := part(200, []int{1, 2, 3}, []int{1, 2, 3}, []int{1, 2})             // 2 of 200 are not more than 1%
	other := part(100, []int{7, 9}, []int{7}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9}) // 1 of 100
	if kept, differ, everywhere := countGroups(train, other); kept != 2 || differ != 1 || everywhere != 1 {
		t.Errorf("%d kept, %d differ, %d large in both parts", kept, differ, everywhere)
	}
	f, err := intersectional().On(t.TempDir())
	if err != nil || f.Data != nil {
		t.Errorf("without the file: %q, %v", f.Data, err)
	}
}
