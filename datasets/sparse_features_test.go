package datasets

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/datatest"
	"ppal/internal/newrows"
	"ppal/internal/require"
)

const fewSparse = `# a comment

2 1:0.5 3:1
1 2:4
2 1:-1 2:1
1 3:2
`

func TestOwnLIBSVM(t *testing.T) {
	load := func(text string, opts tabular.TableOptions) (*tabular.Tables, error) {
		opts.File, opts.Split = datatest.Write(t, t.TempDir(), "own.txt", []byte(text)), tabular.Split{Train: 100}
		return LoadTable("", "libsvm", opts)
	}
	got := require.Value(load(fewSparse, tabular.TableOptions{Groups: []string{"3"}}))(t)
	table := got.Train
	want := &matrix.CSR{Rows: 4, Cols: 3, Starts: []int{0, 2, 3, 5, 6}, Columns: []int32{0, 2, 1, 0, 1, 2}, Values: []float64{0.5, 1, 4, -1, 1, 2}}
	if diff := cmp.Diff(want, table.Features); diff != "" || table.Columns != nil {
		t.Error(diff, table.Columns)
	}
	if diff := cmp.Diff(&tabular.Preparation{Numbers: []int{1, 2, 3}, Indices: 3}, got.Preparation); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{1, -1, 1, -1}, table.Labels); diff != "" || !slices.Equal(table.Classes, []string{"label 1", "label 2"}) {
		t.Error(diff, table.Classes)
	}
	if diff := cmp.Diff([]tabular.Group{{Name: "feature 3", Rows: []int{0, 3}, Conditions: []string{"3"}}, {Name: columnar.TheRest, Rows: []int{1, 2}, Conditions: []string{}}}, table.Groups); diff != "" {
		t.Error(diff)
	}
	got = require.Value(load(fewSparse+"1 2:1 3:1\n", tabular.TableOptions{Groups: []string{"1", "3"}, DropSensitive: true}))(t)
	want = &matrix.CSR{Rows: 5, Cols: 1, Starts: []int{0, 0, 1, 2, 2, 3}, Columns: []int32{0, 0, 0}, Values: []float64{4, 1, 1}}
	if diff := cmp.Diff(want, got.Train.Features); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"2"}, got.Train.Columns); diff != "" || len(got.Train.Groups) != 2 {
		t.Error(diff, got.Train.Groups)
	}
	if diff := cmp.Diff(&tabular.Preparation{Numbers: []int{2}, Indices: 3}, got.Preparation); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float64{0, 4, 1, 0, 1}, prepared(t, got.Preparation, fewSparse+"1 2:1 3:1\n")); diff != "" {
		t.Error("the same rows, prepared as new ones:", diff)
	}
	// Feature 2 has entries exactly where feature 1 has none, so it is dropped too.
	got = require.Value(load("1 1:1 3:1\n0 2:1 3:1\n1 1:2\n0 2:5\n", tabular.TableOptions{Groups: []string{"1"}, DropSensitive: true}))(t)
	if diff := cmp.Diff([]string{"3"}, got.Train.Columns); diff != "" {
		t.Error(diff)
	}
	for _, tc := range []struct {
		text string
		opts tabular.TableOptions
		want error
		says string
	}{
		{"1 1:1\n1 2:1\n", tabular.TableOptions{}, dataerr.ErrLabel, "own.txt: label out of range: all are 1, want at least two values"},
		{fewSparse, tabular.TableOptions{Classes: []string{"1", "4"}}, dataerr.ErrClass, `--classes: there is no "4"`},
		{manySparse(101), tabular.TableOptions{}, dataerr.ErrLabel, "it has 101 values (0.5, 1.5, ...), want at most 100 classes"},
		{fewSparse, tabular.TableOptions{Groups: []string{"4"}}, dataerr.ErrColumn, `unknown feature "4", want a number from 1 to 3`},
		{fewSparse, tabular.TableOptions{Ignore: []string{"0"}}, dataerr.ErrColumn, `unknown feature "0"`},
		{fewSparse, tabular.TableOptions{Ignore: []string{"1", "2", "3"}}, dataerr.ErrColumn, "no feature is left"},
		{"1 1:x\n", tabular.TableOptions{}, dataerr.ErrNumber, "line 1"},
		{"1 1:1\n# far\n2 3:1 33554433:1\n1 2:1\n", tabular.TableOptions{}, dataerr.ErrIndex, "line 3: invalid feature index: a feature has the index 33554433, the limit is 33554432"},
		{fewSparse, tabular.TableOptions{DropSensitive: true}, dataerr.ErrOption, "--drop-sensitive needs groups"},
	} {
		_, err := load(tc.text, tc.opts)
		datatest.CheckError(t, err, tc.want, tc.says)
	}
}

// manySparse returns a file with many different labels.
func manySparse(labels int) string {
	var text strings.Builder
	for i := range labels {
		fmt.Fprintf(&text, "%d.5 1:1\n", i)
	}
	return text.String()
}

// Three labels are three classes, in the order of the numbers.
func TestOwnLIBSVMClasses(t *testing.T) {
	file := datatest.Write(t, t.TempDir(), "own.txt", []byte("10 1:1\n2 2:1\n-1 1:2\n2 1:1\n"))
	got := loaded(t, "libsvm", tabular.TableOptions{File: file, Split: tabular.Split{Train: 100}})
	if diff := cmp.Diff([]string{"-1", "2", "10"}, got.Train.Classes) + cmp.Diff([]int{2, 1, 0, 1}, got.Train.Labels); diff != "" {
		t.Error(diff)
	}
	if classes, err := newrows.LabelClasses(&got.Label, []string{"2.0", "10"}); err != nil || classes[0] != 1 || classes[1] != 2 {
		t.Error(classes, err)
	}
	got = loaded(t, "libsvm", tabular.TableOptions{File: file, Split: tabular.Split{Train: 100}, Classes: []string{"10", "2"}})
	if diff := cmp.Diff([]string{"10", "2"}, got.Train.Classes) + cmp.Diff([]int{-1, 1, 1}, got.Train.Labels) + cmp.Diff([]int{0, 1, 3}, got.Train.Source); diff != "" {
		t.Error(diff)
	}
}

// writeAdult writes a small Adult: rows of a9a, and of a9a.t, which lacks feature 123.
func writeAdult(t *testing.T, train, test string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	datatest.Write(t, dir, "adult/a9a", []byte(train))
	datatest.Write(t, dir, "adult/a9a.t", []byte(test))
	return dir
}

const (
	smallA9A  = "-1 3:1 67:1 72:1 \n+1 5:1 71:1 73:1 123:1 \n"
	smallA9At = "-1 1:1 67:1 73:1 \n+1 2:1 68:1 72:1 \n"
)

func TestLoadAdult(t *testing.T) {
	got := require.Value(LoadTable(writeAdult(t, smallA9A, smallA9At+"-1 73:1\n"), "adult", tabular.TableOptions{Split: tabular.Split{Train: 100}}))(t)
	want := &matrix.CSR{Rows: 5, Cols: 123, Starts: []int{0, 3, 7, 10, 13, 14}, Columns: []int32{2, 66, 71, 4, 70, 72, 122, 0, 66, 72, 1, 67, 71, 72}}
	if diff := cmp.Diff(want, got.Train.Features); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]tabular.Group{{Name: "sex=Female", Rows: []int{0, 3}, Conditions: []string{"sex=Female"}}, {Name: "sex=Male", Rows: []int{1, 2, 4}, Conditions: []string{"sex=Male"}}}, got.Train.Groups); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{-1, 1, -1, 1, -1}, got.Train.Labels); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]tabular.FileRows{{Name: "adult/a9a", Rows: 2}, {Name: "adult/a9a.t", Rows: 3}}, got.Files); diff != "" {
		t.Error(diff)
	}
	if c := got.Train.Columns; len(c) != 123 || c[66] != "race=White" || c[70] != "race=Black" || c[4] != "age=50-90" {
		t.Errorf("columns %q", c)
	}
}

// TestLoadAdultDropSensitive checks that DropSensitive removes the features of sex, or of race if
// the groups are by race.
func TestLoadAdultDropSensitive(t *testing.T) {
	dir := writeAdult(t, smallA9A+"-1 4:1 71:1 72:1 \n+1 5:1 67:1 73:1 123:1 \n", smallA9At)
	for group, left := range map[string]struct {
		features int
		gone     string
	}{"": {121, "sex="}, "71": {118, "race="}, "race=White": {118, "race="}} {
		opts := tabular.TableOptions{Split: tabular.Split{Train: 100}, DropSensitive: true}
		if group != "" {
			opts.Groups = []string{group}
		}
		got := require.Value(LoadTable(dir, "adult", opts))(t)
		if _, cols := got.Train.Features.Dims(); cols != left.features || len(got.Train.Columns) != cols {
			t.Errorf("groups %q: %d features", group, cols)
		}
		if all := strings.Join(got.Train.Columns, " "); strings.Contains(all, left.gone) {
			t.Errorf("groups %q: %s", group, all)
		}
	}
}

func TestLoadAdultErrors(t *testing.T) {
	for _, tc := range []struct {
		name, train, test string
		want              error
		says              string
	}{
		{"label", smallA9A, smallA9At + "\n3 72:1\n", dataerr.ErrLabel,
			"a9a.t: line 4: label out of range: 3, want -1 or +1; get it with `ppal data fetch adult`"},
		{"both sexes", smallA9A + "+1 72:1 73:1\n", smallA9At, dataerr.ErrFormat,
			"a9a: line 3: wrong format: want one of the features 72 (female) and 73 (male)"},
		{"no sex", "+1 71:1\n", smallA9At, dataerr.ErrFormat, "a9a: line 1: wrong format: want one of"},
		{"feature 124", smallA9A + "+1 72:1 124:1\n", smallA9At, dataerr.ErrIndex, "a9a: line 3: invalid feature index"},
		{"empty", "", smallA9At, dataerr.ErrTruncated, "a9a: truncated"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := LoadTable(writeAdult(t, tc.train, tc.test), "adult", tabular.TableOptions{Split: tabular.Split{Train: 100}})
			datatest.CheckError(t, err, tc.want, tc.says)
		})
	}
}
