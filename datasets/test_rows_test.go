package datasets

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/require"
)

// Missing and unknown values of the test file are refused as those of the first file.
func TestValuesOfTheTestFile(t *testing.T) {
	const text = "x,c,a,y\n1,p,1,no\n2,q,2,yes\n3,p,1,no\n4,q,2,yes\n"
	for name, tc := range map[string]struct {
		test string
		opts tabular.TableOptions
		want error
	}{
		"a missing label":         {"x,c,a,y\n1,p,1,no\n2,q,2,\n", tabular.TableOptions{Missing: tabular.MissingImputed}, dataerr.ErrMissing},
		"a missing group":         {"x,c,a,y\n1,,1,no\n2,q,2,yes\n", tabular.TableOptions{Groups: []string{"c"}, Ignore: []string{"c"}}, dataerr.ErrMissing},
		"an unknown label":        {"x,c,a,y\n1,p,1,no\n2,q,2,maybe\n", tabular.TableOptions{Unknown: tabular.UnknownIgnored}, dataerr.ErrCategory},
		"an unknown category":     {"x,c,a,y\n1,p,1,no\n2,r,2,yes\n", tabular.TableOptions{Unknown: tabular.UnknownIgnored}, nil},
		"a missing number":        {"x,c,a,y\n1,p,1,no\n,q,2,yes\n", tabular.TableOptions{Missing: tabular.MissingImputed}, dataerr.ErrMissing},
		"a missing category":      {"x,c,a,y\n1,p,1,no\n1,,2,yes\n", tabular.TableOptions{Missing: tabular.MissingFlagged}, dataerr.ErrMissing},
		"an attribute of numbers": {"x,c,a,y\n1,p,1,no\n2,q,2,yes\n", tabular.TableOptions{Categorical: []string{"a"}, Ignore: []string{"a"}, Attributes: []string{"a"}}, nil},
	} {
		dir := t.TempDir()
		tc.opts.Label, tc.opts.Split = "y=yes", tabular.Split{Train: 100}
		tc.opts.File, tc.opts.TestFile = datatest.Write(t, dir, "own.csv", []byte(text)), datatest.Write(t, dir, "test.csv", []byte(tc.test))
		got, err := LoadTable("", "csv", tc.opts)
		if tc.want != nil {
			datatest.CheckError(t, err, tc.want, "test.csv")
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(tc.opts.Attributes) > 0 {
			if a := got.Test.Attributes[0]; !slices.Equal(a.Values, []string{"1", "2"}) || !slices.Equal(a.Of, []int{0, 1}) {
				t.Errorf("%s: %+v", name, a)
			}
		}
	}
}

// Dates are features, attributes and groups at once; the first value may be missing; dropped
// columns are told.
func TestColumnsOfTheFile(t *testing.T) {
	const text = "born,x,c,y\n2024-05-13,NA,p,0\n2024-06-13,2,q,1\n2024-05-13,4,q,0\n"
	opts := tabular.TableOptions{Label: "y", Dates: tabular.DatesExpanded, Missing: tabular.MissingImputed, Attributes: []string{"born"}, Groups: []string{"c"}}
	got, err := everything(t, text, opts)
	require.NoError(t, err)
	want := []string{"born day", "born month", "born weekday", "x", "x missing", "c=p", "c=q"}
	if a := got.Train.Attributes[0]; cmp.Diff(want, got.Train.Columns) != "" || !slices.Equal(a.Values, []string{"2024-05-13", "2024-06-13"}) || !slices.Equal(a.Of, []int{0, 1, 0}) {
		t.Errorf("%q, %+v", got.Train.Columns, a)
	}
	// the dates of the test file are those of the file
	for _, tc := range []struct {
		rows, unknown string
		want          []int // nil: an error
	}{
		{"2024-06-13,1,p,0\n2024-05-13,1,q,1\n", tabular.UnknownRefused, []int{1, 0}},
		{"2024-07-01,1,p,0\n2024-06-13,1,q,1\n", tabular.UnknownRefused, nil},
		{"2024-07-01,1,p,0\n2024-06-13,1,q,1\n", tabular.UnknownIgnored, []int{-1, 1}},
	} {
		dir, own := t.TempDir(), opts
		own.File, own.TestFile = datatest.Write(t, dir, "own.csv", []byte(text)), datatest.Write(t, dir, "test.csv", []byte("born,x,c,y\n"+tc.rows))
		own.Split, own.Unknown = tabular.Split{Train: 100}, tc.unknown
		got, err := LoadTable("", "csv", own)
		if tc.want == nil {
			datatest.CheckError(t, err, dataerr.ErrCategory, `test.csv: line 2, column 1: born: unknown category "2024-07-01", want one of 2024-05-13, 2024-06-13`)
		} else if err != nil || !slices.Equal(got.Test.Attributes[0].Of, tc.want) {
			t.Errorf("%s, %s: %v", tc.rows, tc.unknown, err)
		}
	}
	// the date is not a column with the value p
	byValue := tabular.TableOptions{Label: "y", Dates: tabular.DatesExpanded, Missing: tabular.MissingImputed, Values: []string{"p"}}
	if got, err := everything(t, text, byValue); err != nil || len(got.Train.Attributes) != 1 || got.Train.Attributes[0].Name != "c" {
		t.Errorf("%v, %+v", err, got)
	}
	// a column of numbers is not a category, too
	many := datatest.RowsText("x,y", 1100, func(i int) string { return fmt.Sprintf("%d.5,%d", i, i%2) })
	if _, err := everything(t, many, tabular.TableOptions{Label: "y", Attributes: []string{"x<500"}}); err != nil {
		t.Error(err)
	}
	opts.DropSensitive = true
	if got, err = everything(t, text, opts); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"x", "x missing"}, got.Train.Columns); diff != "" || got.Uses[2].Became != "ignored" || got.Uses[1].Became != "number" {
		t.Errorf("%s %+v", diff, got.Uses)
	}
	opts.Groups, opts.Attributes, opts.DropSensitive = []string{"born"}, nil, false
	if got, err = everything(t, text, opts); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]tabular.Group{{Name: "born=2024-05-13", Rows: []int{0, 2}, Conditions: []string{"born=2024-05-13"}}, {Name: "born=2024-06-13", Rows: []int{1}, Conditions: []string{"born=2024-06-13"}}}, got.Train.Groups); diff != "" {
		t.Error(diff)
	}
	_, err = everything(t, "born,born day,y\n2024-05-13,1,0\n2024-06-13,2,1\n", tabular.TableOptions{Label: "y", Dates: tabular.DatesExpanded})
	datatest.CheckError(t, err, dataerr.ErrColumn, `"born day" is a column and a part of dates`)
	_, err = everything(t, "x,y\n", tabular.TableOptions{Label: "y"})
	datatest.CheckError(t, err, dataerr.ErrTruncated, "the file has no rows")
}

// The rows of the test file have the numbers after those of the first file, with those of dropped
// rows, and the label's condition applies to texts too.
func TestNumbersOfTestRows(t *testing.T) {
	dir := t.TempDir()
	opts := tabular.TableOptions{Label: "y!=red", Missing: tabular.MissingDropped, File: datatest.Write(t, dir, "own.csv", []byte("x,c,y\n1,a,red\nNA,a,red\n3,b,blue\n4,a,red\n5,b,green\n")),
		TestFile: datatest.Write(t, dir, "test.csv", []byte("x,c,y\n6,b,red\n?,a,red\n8,a,blue\n")), Split: tabular.Split{Train: 100}}
	got := loaded(t, "csv", opts)
	if diff := cmp.Diff([][]int{{0, 2, 3, 4}, {5, 7}}, [][]int{got.Train.Source, got.Test.Source}); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]int{{-1, 1, -1, 1}, {-1, 1}}, [][]int{got.Train.Labels, got.Test.Labels}); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]tabular.FileRows{{Name: opts.File, Rows: 5}, {Name: opts.TestFile, Rows: 3}}, got.Files); diff != "" {
		t.Error(diff)
	}
	row := make([]float64, 3)
	got.Test.Features.Float64(row, 0, 1)
	if e := got.Preparation.Encodings[0]; !slices.Equal(row, []float64{(6 - e.Center) / e.Scale, 0, 1}) || math.Abs(e.Center-3.25) > 1e-15 {
		t.Errorf("features %v, centre %v", row, e.Center)
	}
	opts.TestFile, opts.SplitColumn, opts.Label = "", "x", "c=a"
	opts.File = datatest.Write(t, dir, "split.csv", []byte("x,c,z\n0,a,1\n1,b,2\n"))
	_, err := LoadTable("", "csv", opts)
	datatest.CheckError(t, err, dataerr.ErrSplit, `the split column "x" holds "0", want train`)
}
