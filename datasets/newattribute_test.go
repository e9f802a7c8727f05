package datasets

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/loader"
	"ppal/internal/newrows"
	"ppal/internal/require"
)

// TestNewAttribute makes attributes of new rows: of categories, of numbers, and of conditions, as
// the training read them.
func TestNewAttribute(t *testing.T) {
	absent := &tabular.Preparation{Absent: []string{"?", ""}}
	number := tabular.Reading{Columns: []tabular.ColumnReading{{Column: "c", Number: true}}}
	comma := tabular.Reading{Columns: []tabular.ColumnReading{{Column: "c", Number: true, Decimal: ","}}}
	text, flag := tabular.Reading{Columns: []tabular.ColumnReading{{Column: "c"}}}, tabular.Reading{Missing: tabular.MissingFlagged}
	flagged := tabular.Reading{Missing: tabular.MissingFlagged, Columns: number.Columns}
	for _, test := range []struct {
		reading       tabular.Reading
		text          string
		texts, values []string
		want          tabular.Attribute
	}{
		{text, "c", []string{"b", "a", "?", "b"}, nil, tabular.Attribute{Name: "c", Values: []string{"a", "b"}, Of: []int{1, 0, -1, 1}}},
		{text, "c", []string{"b", "a", "?", "b"}, []string{"z", "b"}, tabular.Attribute{Name: "c", Values: []string{"z", "b", "a"}, Of: []int{1, 2, -1, 1}}},
		{text, "c", []string{"01", "1", "1.0"}, []string{"01", "1"}, tabular.Attribute{Name: "c", Values: []string{"01", "1", "1.0"}, Of: []int{0, 1, 2}}},
		{tabular.Reading{}, "c", []string{"01", "1"}, nil, tabular.Attribute{Name: "c", Values: []string{"01", "1"}, Of: []int{0, 1}}}, // not used in training
		{number, "c", []string{"10", "9", "10", "9.0"}, nil, tabular.Attribute{Name: "c", Values: []string{"9", "10"}, Of: []int{1, 0, 1, 0}}},
		{number, "c", []string{"10", "9", "?"}, []string{"9.0", "10.0"}, tabular.Attribute{Name: "c", Values: []string{"9.0", "10.0"}, Of: []int{1, 0, -1}}},
		{comma, "c", []string{"1,50", "2", "1.000,5"}, []string{"1,5", "2,0"}, tabular.Attribute{Name: "c", Values: []string{"1,5", "2,0", "1.000,5"}, Of: []int{0, 1, 2}}},
		{comma, "c=1,5", []string{"1,50", "2"}, []string{"c=1,5", columnar.TheRest}, tabular.Attribute{Name: "c=1,5", Values: []string{"c=1,5", columnar.TheRest}, Of: []int{0, 1}}},
		{comma, "c<2.5", []string{"2,4", "2,6"}, nil, tabular.Attribute{Name: "c<2.5", Values: []string{"c<2.5", columnar.TheRest}, Of: []int{0, 1}}},
		{flagged, "c", []string{"10", "?"}, []string{"9", "10", columnar.TheMissing}, tabular.Attribute{Name: "c", Values: []string{"9", "10", columnar.TheMissing}, Of: []int{1, 2}}},
		{flagged, "c<10", []string{"10", "9", "?"}, nil, tabular.Attribute{Name: "c<10", Values: []string{"c<10", columnar.TheRest}, Of: []int{1, 0, 1}}},
		{flagged, "c=missing", []string{"10", "?"}, nil, tabular.Attribute{Name: "c=missing", Values: []string{"c=missing", columnar.TheRest}, Of: []int{1, 0}}},
		{flagged, "c=missing", []string{"10", "9"}, nil, tabular.Attribute{Name: "c=missing", Values: []string{"c=missing", columnar.TheRest}, Of: []int{1, 1}}},
		{flag, "c!=a", []string{"a", "b", "?"}, nil, tabular.Attribute{Name: "c!=a", Values: []string{"c!=a", columnar.TheRest}, Of: []int{1, 0, 1}}},
		{tabular.Reading{}, "c<10", []string{"10", "9", "?"}, nil, tabular.Attribute{Name: "c<10", Values: []string{"c<10", columnar.TheRest}, Of: []int{1, 0, -1}}},
		{text, "c=b", []string{"b", "a", "?"}, nil, tabular.Attribute{Name: "c=b", Values: []string{"c=b", columnar.TheRest}, Of: []int{0, 1, -1}}},
		{text, "c=z", []string{"b", "a"}, []string{"c=z", columnar.TheRest}, tabular.Attribute{Name: "c=z", Values: []string{"c=z", columnar.TheRest}, Of: []int{1, 1}}},
	} {
		got, err := newrows.NewAttribute(&test.reading, test.text, "c", test.texts, test.values, absent)
		if err != nil {
			t.Errorf("%s of %q: %v", test.text, test.texts, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s of %q: %s", test.text, test.texts, diff)
		}
		groups := got.Groups()
		for i, k := range got.Of {
			for v := range groups {
				if slices.Contains(groups[v].Rows, i) != (v == k) {
					t.Errorf("row %d with the value %d: group %d is %v", i, k, v, groups[v].Rows)
				}
			}
		}
	}
	if _, err := newrows.NewAttribute(&text, "d", "c", nil, nil, absent); err == nil {
		t.Error("an attribute of an unknown column")
	}
	if _, err := newrows.NewAttribute(&text, "c=z", "c", []string{"a"}, nil, absent); err == nil {
		t.Error("an attribute of an unknown category")
	}
	if _, err := newrows.NewAttribute(&number, "c", "c", []string{"1", "x"}, nil, absent); !errors.Is(err, dataerr.ErrNumber) || !strings.Contains(err.Error(), "row 2") {
		t.Errorf("a text among numbers: %v", err)
	}
}

// TestSparseAttributesByHand makes attributes of features, and of blocks of features.
func TestSparseAttributesByHand(t *testing.T) {
	x := &matrix.CSR{Rows: 3, Cols: 5, Starts: []int{0, 2, 4, 5}, Columns: []int32{0, 3, 1, 4, 2}}
	got := require.Value(SparseAttributes((&tabular.Preparation{}), "own", x, []string{"2", "5"}, [][]string{nil, {"feature 5", columnar.TheRest}}))(t)
	want := []tabular.Attribute{{Name: "2", Values: []string{"feature 2", columnar.TheRest}, Of: []int{1, 0, 1}}, {Name: "5", Values: []string{"feature 5", columnar.TheRest}, Of: []int{1, 0, 1}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	d := &loader.SparseDesign{Names: []string{"sex=F", "sex=M", "sex=X", "race=a", "race=b"}, Blocks: []int{0, 0, 0, 1, 1}, Titles: []string{"sex", "race"}}
	if diff := cmp.Diff([]string{"F", "M", "X"}, d.Categories("sex")); diff != "" {
		t.Error(diff)
	}
	got, by, err := d.Attributes(x, []string{"race", "sex", "race=b"})
	require.NoError(t, err)
	want = []tabular.Attribute{{Name: "race", Values: []string{"a", "b"}, Of: []int{0, 1, -1}}, {Name: "sex", Values: []string{"F", "M", "X"}, Of: []int{0, 1, 2}}, {Name: "race=b", Values: []string{"race=b", columnar.TheRest}, Of: []int{1, 0, -1}}}
	if diff := cmp.Diff(want, got) + cmp.Diff([]int32{3, 0, 3}, by); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int32{0, 1, 2}, d.Sensitive([]int32{1})[1:]); diff != "" {
		t.Error(diff)
	}
	adult := &matrix.CSR{Rows: 1, Cols: 123, Starts: []int{0, 0}}
	for name, ok := range map[string]bool{"adult": true, "synthetic-adult": true, "libsvm": false} {
		if got, err := SparseAttributes((&tabular.Preparation{}), name, adult, []string{"sex"}, [][]string{{"Female", "Male"}}); (err == nil) != ok || ok && len(got[0].Values) != 2 {
			t.Errorf("the attribute sex of %s: %v, %v", name, got, err)
		}
	}
}
