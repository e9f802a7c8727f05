package datasets

import (
	"errors"
	"fmt"
	"math"
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

// TestFlagged replaces missing values by a category.
func TestFlagged(t *testing.T) {
	no := math.NaN()
	for _, test := range []struct {
		in, want columnar.Column
	}{
		{columnar.Column{Numbers: []float64{3, no, 1, 3, 2}}, columnar.Column{Codes: []int32{2, 3, 0, 2, 1}, Values: []string{"1", "2", "3", columnar.TheMissing}}},
		{columnar.Column{Codes: []int32{0, -1, 1}, Values: []string{"a", "b"}}, columnar.Column{Codes: []int32{0, 2, 1}, Values: []string{"a", "b", columnar.TheMissing}}},
		{columnar.Column{Codes: []int32{-1, 0, 1}, Values: []string{columnar.TheMissing, "b"}}, columnar.Column{Codes: []int32{0, 0, 1}, Values: []string{columnar.TheMissing, "b"}}},
		{columnar.Column{Codes: []int32{0, 1}, Values: []string{"a", "b"}}, columnar.Column{Codes: []int32{0, 1}, Values: []string{"a", "b"}}},
		{columnar.Column{Numbers: []float64{2, 1}}, columnar.Column{Numbers: []float64{2, 1}}},
		{columnar.Column{Numbers: []float64{no, 1}}, columnar.Column{Codes: []int32{1, 0}, Values: []string{"1", columnar.TheMissing}}},
	} {
		if diff := cmp.Diff(&test.want, test.in.Flagged(), cmp.AllowUnexported(columnar.Column{})); diff != "" {
			t.Errorf("%+v: %s", test.in, diff)
		}
	}
}

// TestColumnsWithValues finds the columns of values, each column once.
func TestColumnsWithValues(t *testing.T) {
	of := map[string][]string{"sex": {"F", "M"}, "race": {"a", "b"}, "town": {"A", "c"}, "boss": {"F"}}
	names := []string{"sex", "race", "town", "boss"}
	for _, test := range []struct {
		values, classes []string
		known           []tabular.Attribute
		want            []string
	}{
		{[]string{"f", "M"}, nil, nil, []string{"sex", "boss"}},
		{[]string{"c", "a", "b"}, nil, nil, []string{"town", "race"}},
		{[]string{"F", "c"}, []string{"F"}, nil, []string{"town"}},
		{[]string{"F", "c"}, nil, []tabular.Attribute{{Name: "x", Values: []string{"F"}}}, []string{"town"}},
		{[]string{"f"}, nil, []tabular.Attribute{{Name: "sex"}}, []string{"boss"}},
		{[]string{"z"}, nil, nil, nil},
	} {
		got := loader.ColumnsWith(test.values, test.classes, test.known, names, func(name string) []string { return of[name] })
		if !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, want %q", test.values, got, test.want)
		}
	}
}

// TestSparseAttributesByHand makes attributes of features, and of blocks of features.
func TestSparseAttributesByHand(t *testing.T) {
	x := &matrix.CSR{Rows: 3, Cols: 5, Starts: []int{0, 2, 4, 5}, Columns: []int32{0, 3, 1, 4, 2}}
	got, err := SparseAttributes((&tabular.Preparation{}), "own", x, []string{"2", "5"}, [][]string{nil, {"feature 5", columnar.TheRest}})
	if err != nil {
		t.Fatal(err)
	}
	want := []tabular.Attribute{{Name: "2", Values: []string{"feature 2", columnar.TheRest}, Of: []int{1, 0, 1}}, {Name: "5", Values: []string{"feature 5", columnar.TheRest}, Of: []int{1, 0, 1}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	d := &loader.SparseDesign{Names: []string{"sex=F", "sex=M", "sex=X", "race=a", "race=b"}, Blocks: []int{0, 0, 0, 1, 1}, Titles: []string{"sex", "race"}}
	if diff := cmp.Diff([]string{"F", "M", "X"}, d.Categories("sex")); diff != "" {
		t.Error(diff)
	}
	got, by, err := d.Attributes(x, []string{"race", "sex", "race=b"})
	if err != nil {
		t.Fatal(err)
	}
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

// TestConditionsByHand tests bounds, equalities and missing values, and the negations in words.
func TestConditionsByHand(t *testing.T) {
	no := math.NaN()
	numbers := &columnar.Column{Name: "x", Numbers: []float64{1, 2, 3, no, -1}}
	codes := &columnar.Column{Name: "x", Codes: []int32{0, 1, -1}, Values: []string{"a", "b"}}
	for _, test := range []struct {
		text, negation string
		of             *columnar.Column
		want           []bool
	}{
		{"x<2", "x>=2", numbers, []bool{true, false, false, false, true}},
		{"x<=2", "x>2", numbers, []bool{true, true, false, false, true}},
		{"x>2", "x<=2", numbers, []bool{false, false, true, false, false}},
		{"x>=2", "x<2", numbers, []bool{false, true, true, false}},
		{"x=2", "x!=2", numbers, []bool{false, true, false, false}},
		{"x!=2", "x=2", numbers, []bool{true, false, true, false, true}},
		{"1<x", "x<=1", numbers, []bool{false, true, true, false}},
		{"x>-2", "x<=-2", numbers, []bool{true, true, true, false, true}},
		{" x<-0.5\t", "x>=-0.5", numbers, []bool{false, false, false, false, true}},
		{"1<=x<3", "not 1<=x<3", numbers, []bool{true, true, false, false}},
		{"1 < x <= 3", "not 1 < x <= 3", numbers, []bool{false, true, true, false}},
		{"x=b", "x!=b", codes, []bool{false, true, false}},
		{"x!=b", "x=b", codes, []bool{true, false, false}},
	} {
		c, err := columnar.ParseCondition(test.text, []string{"x"})
		if err != nil {
			t.Fatal(err)
		}
		meets, err := c.Test(test.of)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range test.want {
			if meets(i) != want {
				t.Errorf("%s: row %d: %t", test.text, i, !want)
			}
		}
		if c.Text != strings.TrimSpace(test.text) {
			t.Errorf("%q has the text %q", test.text, c.Text)
		}
		if got := c.Negation(); got != test.negation {
			t.Errorf("%s: the negation is %s, want %s", test.text, got, test.negation)
		}
	}
	for _, text := range []string{"3<x<3", "3<x<=2", "1<x>2", "1<x=2", "1<x!=2", "x=", "x!=", "x<a", "y<1", "y", ""} {
		if c, err := columnar.ParseCondition(text, []string{"x"}); err == nil {
			t.Errorf("%q: %+v", text, c)
		}
	}
	for text, want := range map[string][3]string{"a<b": {"a", "<", "b"}, "a <= b": {"a", "<=", "b"}, "a>=b": {"a", ">=", "b"}, "a=b": {"a", "=", "b"},
		"a != b": {"a", "!=", "b"}, "=b": {"", "=", "b"}, "!=b": {"", "!=", "b"}, "ab": {"ab", "", ""}, "a!<b": {"a!", "<", "b"}, "a==b": {"a", "=", "=b"}, "a>b=c": {"a", ">", "b=c"}} {
		if left, op, right := columnar.CutOperator(text); [3]string{left, op, right} != want {
			t.Errorf("%s: %q %q %q", text, left, op, right)
		}
	}
}

// TestQuantilesByHand checks interpolated percentiles, and the digits of an intersection.
func TestQuantilesByHand(t *testing.T) {
	sorted := []float64{0, 10, 20, 40}
	for q, want := range map[int]float64{0: 0, 100: 40, 50: 15, 25: 7.5, 95: 37, 5: 1.5} {
		if got := loader.Quantile(sorted, q); math.Abs(got-want) > 1e-12 {
			t.Errorf("quantile %d: %v, want %v", q, got, want)
		}
	}
	by := &loader.Intersections{Names: []string{"a", "b"}, Values: make([][]float64, 2)}
	for i := range 200 {
		by.Values[0], by.Values[1] = append(by.Values[0], float64(i)), append(by.Values[1], float64(i*91%200))
	}
	train := make([]int, 200)
	for i := range train {
		train[i] = i
	}
	kept, note, err := by.Groups(train)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for k := range 100 {
		lower := [2]float64{loader.Quantile(slices.Sorted(slices.Values(by.Values[0])), loader.IntersectionQuantiles[k/10]),
			loader.Quantile(slices.Sorted(slices.Values(by.Values[1])), loader.IntersectionQuantiles[k%10])}
		var rows []int
		for i := range train {
			if by.Values[0][i] > lower[0] && by.Values[1][i] > lower[1] {
				rows = append(rows, i)
			}
		}
		if len(rows) <= 2 { // at most 1 % of 200 rows
			continue
		}
		if n < len(kept) && (!slices.Equal(kept[n].Rows, rows) || kept[n].Levels[0] != float64(loader.IntersectionQuantiles[k/10])/100) {
			t.Errorf("intersection %d: %v, want %v", k, kept[n], rows)
		}
		n++
	}
	if n != len(kept) {
		t.Errorf("%d groups, want %d: %s", len(kept), n, note)
	}
	if want := fmt.Sprintf("%d of 100 intersectional groups", n); note[:len(want)] != want {
		t.Errorf("%s, want %s", note, want)
	}
}

// TestGroupsOfConditions makes groups of one and of several conditions, with missing values and
// with flags.
func TestGroupsOfConditions(t *testing.T) {
	no := math.NaN()
	s := &columnar.Sheet{Rows: 3, Columns: []*columnar.Column{
		{Name: "x", Numbers: []float64{1, 2, 3}}, {Name: "c", Codes: []int32{0, 1, 0}, Values: []string{"a", "b"}},
		{Name: "first", Numbers: []float64{no, 1, 2}}, {Name: "last", Codes: []int32{0, 0, -1}, Values: []string{"a"}},
	}}
	a, b, below := tabular.Group{Name: "c=a", Rows: []int{0, 2}}, tabular.Group{Name: "c=b", Rows: []int{1}}, tabular.Group{Name: "x<2", Rows: []int{0}}
	for _, test := range []struct {
		texts []string
		flag  bool
		want  []tabular.Group // nil: refused
	}{
		{[]string{"x<2"}, false, []tabular.Group{below, {Name: columnar.TheRest, Rows: []int{1, 2}}}},
		{[]string{"x<2"}, true, []tabular.Group{below, {Name: columnar.TheRest, Rows: []int{1, 2}}}},
		{[]string{"c"}, false, []tabular.Group{a, b}},
		{[]string{"c", "x<2"}, false, []tabular.Group{a, b, below}},
		{[]string{"first<2"}, false, nil},
		{[]string{"last"}, false, nil},
		{[]string{"last"}, true, []tabular.Group{{Name: "last=a", Rows: []int{0, 1}}, {Name: "last=missing", Rows: []int{2}}}},
		{[]string{"first<2"}, true, []tabular.Group{{Name: "first<2", Rows: []int{1}}, {Name: columnar.TheRest, Rows: []int{0, 2}}}},
	} {
		s.Flag = test.flag
		var conditions []columnar.Condition
		for _, text := range test.texts {
			c, err := columnar.ParseCondition(text, s.Names())
			if err != nil {
				t.Fatal(err)
			}
			conditions = append(conditions, c)
		}
		got, err := columnar.GroupsBy(s, conditions)
		if diff := cmp.Diff(described(test.want), got); diff != "" || (err == nil) != (test.want != nil) {
			t.Errorf("%q, flag %t: %v %s", test.texts, test.flag, err, diff)
		}
	}
	for n, ok := range map[int]bool{columnar.MaxGroups: true, columnar.MaxGroups + 1: false} {
		many := &columnar.Column{Name: "m"}
		for i := range n {
			many.Numbers = append(many.Numbers, float64(i), float64(i))
		}
		if values, err := many.Distinct(); (err == nil) != ok || ok && len(values) != n {
			t.Errorf("%d values: %v", n, err)
		}
	}
}
