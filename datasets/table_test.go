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
	"ppal/internal/loader"
	"ppal/internal/require"
)

// fewLabels returns a table of four rows.
func fewLabels() *tabular.Table {
	return &tabular.Table{
		Features: &matrix.Dense{Rows: 4, Cols: 1, Data: []float64{1, 0, 2, 0}},
		Columns:  []string{"x"},
		Labels:   []int{1, -1, 1, 1},
		Classes:  []string{"-1", "+1"},
		Groups:   []tabular.Group{{Name: "a", Rows: []int{0, 3}}, {Name: "b", Rows: []int{1, 2}}},
	}
}

func TestTablePartition(t *testing.T) {
	table := fewLabels()
	a, b, err := table.Partition()
	if err != nil || a.Name != "a" || b.Name != "b" || table.Rows() != 4 || !slices.Equal(table.ClassCounts(), []int{1, 3}) {
		t.Error(a, b, err)
	}
	for name, groups := range map[string][]tabular.Group{
		"0 groups, want one group and the rest": nil,
		"3 groups":                              {{Name: "a", Rows: []int{0}}, {Name: "b", Rows: []int{1}}, {Name: "c", Rows: []int{2, 3}}},
		"a and b overlap or leave rows out":     {{Name: "a", Rows: []int{0, 1}}, {Name: "b", Rows: []int{1, 2, 3}}},
		"c and d overlap or leave rows out":     {{Name: "c", Rows: []int{0, 1}}, {Name: "d", Rows: []int{1, 2}}},
		"low and b overlap or leave rows out":   {{Name: "low", Rows: []int{0}}, {Name: "b", Rows: []int{1, 2}}},
	} {
		table.Groups = groups
		_, _, err := table.Partition()
		datatest.CheckError(t, err, dataerr.ErrGroup, name)
	}
	if of, ok := tabular.Exclusive(fewLabels().Groups, 4); !ok || !slices.Equal(of, []int{1, 2, 2, 1}) {
		t.Errorf("groups %v, %t", of, ok)
	}
}

// TestTableSHA256 checks that the checksum covers all contents of a table, for any type of
// features.
func TestTableSHA256(t *testing.T) {
	sum := fewLabels().SHA256()
	same := fewLabels()
	same.Features = &matrix.CSR{Rows: 4, Cols: 1, Starts: []int{0, 1, 1, 2, 2}, Columns: []int32{0, 0}, Values: []float64{1, 2}}
	if same.SHA256() != sum {
		t.Error("the features' form changes the checksum")
	}
	for name, change := range map[string]func(t *tabular.Table){
		"feature": func(t *tabular.Table) { t.Features.(*matrix.Dense).Data[1] = 1e-300 },
		"label":   func(t *tabular.Table) { t.Labels[0] = -1 },
		"group":   func(t *tabular.Table) { t.Groups[0].Rows[0] = 2 },
		"shape":   func(t *tabular.Table) { t.Features = &matrix.Dense{Rows: 2, Cols: 2, Data: []float64{1, 0, 2, 0}} },
	} {
		other := fewLabels()
		change(other)
		if other.SHA256() == sum {
			t.Errorf("another %s leaves the checksum", name)
		}
	}
}

// threeOfThem returns the text of a table with 40 rows, of which three rows are in group a.
func threeOfThem() string {
	var text strings.Builder
	text.WriteString("g,x,y\n")
	for i := range 40 {
		fmt.Fprintf(&text, "%s,%d,%d\n", string("abbb"[min(i%14, 3)]), i, i/2%2)
	}
	return text.String()
}

// TestTableEmptyGroup checks that a group without rows in a split is an error with the names of the
// group and the split. Overlapping groups may be empty in held-out splits.
func TestTableEmptyGroup(t *testing.T) {
	text := threeOfThem()
	_, err := everything(t, text, tabular.TableOptions{Label: "y", Groups: []string{"g=a"}, Split: tabular.Split{Train: 90, Validation: 5, Test: 5}})
	datatest.CheckError(t, err, dataerr.ErrEmpty, "csv: no rows of group g=a among the validation rows; use another --split or --seed")
	got := require.Value(everything(t, text, tabular.TableOptions{Label: "y", Groups: []string{"g=a", "x<20"}, Split: tabular.Split{Train: 90, Validation: 5, Test: 5}}))(t)
	empty := false
	for _, p := range got.Parts() {
		if names := []string{p.Groups[0].Name, p.Groups[1].Name}; !cmp.Equal(names, []string{"g=a", "x<20"}) {
			t.Errorf("%s has groups %q", p.Name, names)
		}
		empty = empty || len(p.Groups[0].Rows) == 0
	}
	if !empty || len(got.Train.Groups[0].Rows) == 0 {
		t.Error("no held-out part lacks the group: the test shows nothing")
	}
}

func TestTableKinds(t *testing.T) {
	_, err := LoadTable("", "fashion-mnist", tabular.TableOptions{})
	datatest.CheckError(t, err, dataerr.ErrKind, "fashion-mnist is a set of pictures, want a table")
	_, _, err = LoadImages("", "adult", 1)
	datatest.CheckError(t, err, dataerr.ErrKind, "adult is a table, want pictures")
	_, err = LoadTable("", "nonsense", tabular.TableOptions{})
	datatest.CheckError(t, err, dataerr.ErrUnknownDataset, "nonsense")
	for _, opts := range []tabular.TableOptions{{File: "x"}, {Label: "x"}, {Missing: tabular.MissingImputed}, {Separator: ','}, {Categorical: []string{"x"}}} {
		_, err := LoadTable("", "synthetic-compas", opts)
		datatest.CheckError(t, err, dataerr.ErrOption, "synthetic-compas does not take")
	}
	_, err = LoadTable("", "libsvm", tabular.TableOptions{File: "x", Label: "y"})
	datatest.CheckError(t, err, dataerr.ErrOption, "libsvm does not take a label")
}

// The list shows no two data sets with the same name or description.
func TestDescriptionsDiffer(t *testing.T) {
	seen := map[string]bool{"": true}
	for _, d := range All() {
		if seen[d.Name] || seen[d.Description] {
			t.Errorf("%s: %s", d.Name, d.Description)
		}
		seen[d.Name], seen[d.Description] = true, true
	}
}

// An error has the parts of its position and its advice that are known. Several problems share
// their advice, and no data set is offered in place of the user's own file.
func TestErrorTexts(t *testing.T) {
	one := &dataerr.FileError{Path: "own.csv", Offset: -1, Err: dataerr.ErrColumn}
	for _, tc := range []struct {
		err  error
		want string
	}{
		{one, "datasets: own.csv: invalid column"},
		{&dataerr.FileError{Path: "f", Offset: 7, Err: dataerr.ErrFormat, Advice: "convert it"}, "datasets: f: byte 7: wrong format; convert it"},
		{&dataerr.FileError{Path: "f", Offset: 0, Line: 2, Err: dataerr.ErrFormat}, "datasets: f: line 2: wrong format"},
		{&dataerr.FileError{Path: "f", Offset: 0, Line: 2, Column: 3, Err: dataerr.ErrFormat}, "datasets: f: line 2, column 3: wrong format"},
		{(&dataerr.Problems{Path: "own.csv", List: []*dataerr.FileError{one}}).Found([]string{"--dates expand"}), "datasets: own.csv: invalid column"},
		{(&dataerr.Problems{Path: "own.csv", List: []*dataerr.FileError{one, one}}).Found(nil), "datasets: own.csv: 2 problems:\n  invalid column\n  invalid column"},
		{(&dataerr.Problems{Path: "own.csv", List: []*dataerr.FileError{one, one}}).Found([]string{"--a", "--b c"}),
			"datasets: own.csv: 2 problems:\n  invalid column\n  invalid column\n  for all of them: --a --b c"},
		{Dataset{Name: "csv", Own: true}.advise(&dataerr.FileError{Path: "f", Offset: -1, Err: dataerr.ErrFormat}), "datasets: f: wrong format"},
		{Dataset{Name: "a", Files: make([]File, 1)}.advise(&dataerr.FileError{Path: "f", Offset: -1, Err: dataerr.ErrFormat}),
			"datasets: f: wrong format; get it with `ppal data fetch a`"},
	} {
		if got := tc.err.Error(); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
	if err := new(dataerr.Problems).Found([]string{"--a"}); err != nil {
		t.Error(err)
	}
}

// Each option belongs to a kind of data sets.
func TestOptionsOfEachKind(t *testing.T) {
	for name, tc := range map[string]struct {
		opts   tabular.TableOptions
		sparse bool // a libsvm file takes the option too
	}{
		"your own file":       {tabular.TableOptions{File: "f"}, true},
		"a choice of classes": {tabular.TableOptions{Classes: []string{"a", "b"}}, true},
		"a label":             {tabular.TableOptions{Label: "y"}, false},
		"categorical columns": {tabular.TableOptions{Categorical: []string{"c"}}, false}, "a list of features": {tabular.TableOptions{Features: []string{"x"}}, false},
		"a choice for missing values": {tabular.TableOptions{Missing: tabular.MissingDropped}, false}, "a choice for dates": {tabular.TableOptions{Dates: tabular.DatesExpanded}, false},
		"a decimal sign": {tabular.TableOptions{Decimal: tabular.DecimalComma}, false}, "a separator": {tabular.TableOptions{Separator: ';'}, false},
		"a test file": {tabular.TableOptions{TestFile: "t"}, false}, "a split column": {tabular.TableOptions{SplitColumn: "s"}, false},
		"a choice for unknown categories": {tabular.TableOptions{Unknown: tabular.UnknownIgnored}, false},
	} {
		for _, d := range []Dataset{{Name: "bank"}, {Name: "adult", Sparse: true}, {Name: "csv", Own: true}, {Name: "libsvm", Own: true, Sparse: true}} {
			tc.opts.Split = tabular.DefaultSplit
			err := checkOptions(&tc.opts, d)
			refused := err != nil && strings.Contains(err.Error(), d.Name+" does not take "+name)
			if takes := d.Own && (tc.sparse || !d.Sparse); refused == takes {
				t.Errorf("%s, %s: %v", d.Name, name, err)
			}
		}
	}
	wrong := tabular.TableOptions{Split: tabular.DefaultSplit, Label: "y", Dates: "never"}
	datatest.CheckError(t, checkOptions(&wrong, Dataset{Name: "csv", Own: true}), dataerr.ErrOption, `Dates is "never", want one of `)
	for name, want := range map[string][]string{"": {"f"}, "t": {"f", "t"}} {
		if got := (&tabular.TableOptions{File: "f", TestFile: name}).OwnFiles(); !slices.Equal(got, want) {
			t.Errorf("files %q, want %q", got, want)
		}
	}
}

// A label without values is not a column to ignore, and the advice names only classes that remain.
func TestAdvice(t *testing.T) {
	r := loader.Remedy{Dropped: true, Columns: []*loader.UserColumn{
		{Name: "y", Label: true, Profile: &columnar.Profile{Rows: 3, Missing: 2}}, {Name: "x", Feature: true, Profile: &columnar.Profile{Rows: 3, Missing: 2}},
	}}
	if got := r.Flags(&tabular.TableOptions{}); !slices.Equal(got, []string{"--ignore x", "--missing drop"}) {
		t.Errorf("flags %q", got)
	}
	rows := "x,part,y\n1,train,a\n2,train,%s\n3,test,b\n4,test,c\n"
	for class, want := range map[string]string{
		"a": "class b (1 in the file), c (1 in the file) among the training rows; use another --split", "b": "rows; leave out such classes (--classes a,b), or use another",
	} {
		_, err := everything(t, fmt.Sprintf(rows, class), tabular.TableOptions{Label: "y", SplitColumn: "part"})
		if class == "b" {
			want = strings.Replace(want, "b (1", "b (2", 1)
		}
		datatest.CheckError(t, err, dataerr.ErrEmpty, want)
	}
	// of groups that overlap, only the training rows need each one
	_, err := everything(t, "x,part,y\n1,train,a\n2,train,b\n9,test,b\n1,test,a\n", tabular.TableOptions{Label: "y=a", SplitColumn: "part", Groups: []string{"x<5", "x>1"}})
	if err != nil {
		t.Error(err)
	}
	_, err = everything(t, "x,part,y\n1,train,a\n2,train,b\n9,test,b\n1,test,a\n", tabular.TableOptions{Label: "y=a", SplitColumn: "part", Groups: []string{"x<20", "x>5"}})
	datatest.CheckError(t, err, dataerr.ErrEmpty, "no rows of group x>5 among the training rows")
}

// loaded loads a table, which must succeed.
func loaded(t *testing.T, name string, opts tabular.TableOptions) *tabular.Tables {
	t.Helper()
	return require.Value(LoadTable("", name, opts))(t)
}
