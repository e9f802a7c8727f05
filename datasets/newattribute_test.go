package datasets

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/matrix"
)

// TestNewAttribute makes attributes of new rows: of categories, of numbers, and of conditions, as
// the training read them.
func TestNewAttribute(t *testing.T) {
	absent := &Preparation{Absent: []string{"?", ""}}
	number := Reading{Columns: []ColumnReading{{Column: "c", Number: true}}}
	comma := Reading{Columns: []ColumnReading{{Column: "c", Number: true, Decimal: ","}}}
	text, flag := Reading{Columns: []ColumnReading{{Column: "c"}}}, Reading{Missing: MissingFlagged}
	flagged := Reading{Missing: MissingFlagged, Columns: number.Columns}
	for _, test := range []struct {
		reading       Reading
		text          string
		texts, values []string
		want          Attribute
	}{
		{text, "c", []string{"b", "a", "?", "b"}, nil, Attribute{"c", []string{"a", "b"}, []int{1, 0, -1, 1}}},
		{text, "c", []string{"b", "a", "?", "b"}, []string{"z", "b"}, Attribute{"c", []string{"z", "b", "a"}, []int{1, 2, -1, 1}}},
		{text, "c", []string{"01", "1", "1.0"}, []string{"01", "1"}, Attribute{"c", []string{"01", "1", "1.0"}, []int{0, 1, 2}}},
		{Reading{}, "c", []string{"01", "1"}, nil, Attribute{"c", []string{"01", "1"}, []int{0, 1}}}, // not used in training
		{number, "c", []string{"10", "9", "10", "9.0"}, nil, Attribute{"c", []string{"9", "10"}, []int{1, 0, 1, 0}}},
		{number, "c", []string{"10", "9", "?"}, []string{"9.0", "10.0"}, Attribute{"c", []string{"9.0", "10.0"}, []int{1, 0, -1}}},
		{comma, "c", []string{"1,50", "2", "1.000,5"}, []string{"1,5", "2,0"}, Attribute{"c", []string{"1,5", "2,0", "1.000,5"}, []int{0, 1, 2}}},
		{comma, "c=1,5", []string{"1,50", "2"}, []string{"c=1,5", theRest}, Attribute{"c=1,5", []string{"c=1,5", theRest}, []int{0, 1}}},
		{comma, "c<2.5", []string{"2,4", "2,6"}, nil, Attribute{"c<2.5", []string{"c<2.5", theRest}, []int{0, 1}}},
		{flagged, "c", []string{"10", "?"}, []string{"9", "10", theMissing}, Attribute{"c", []string{"9", "10", theMissing}, []int{1, 2}}},
		{flagged, "c<10", []string{"10", "9", "?"}, nil, Attribute{"c<10", []string{"c<10", theRest}, []int{1, 0, 1}}},
		{flagged, "c=missing", []string{"10", "?"}, nil, Attribute{"c=missing", []string{"c=missing", theRest}, []int{1, 0}}},
		{flagged, "c=missing", []string{"10", "9"}, nil, Attribute{"c=missing", []string{"c=missing", theRest}, []int{1, 1}}},
		{flag, "c!=a", []string{"a", "b", "?"}, nil, Attribute{"c!=a", []string{"c!=a", theRest}, []int{1, 0, 1}}},
		{Reading{}, "c<10", []string{"10", "9", "?"}, nil, Attribute{"c<10", []string{"c<10", theRest}, []int{1, 0, -1}}},
		{text, "c=b", []string{"b", "a", "?"}, nil, Attribute{"c=b", []string{"c=b", theRest}, []int{0, 1, -1}}},
		{text, "c=z", []string{"b", "a"}, []string{"c=z", theRest}, Attribute{"c=z", []string{"c=z", theRest}, []int{1, 1}}},
	} {
		got, err := test.reading.NewAttribute(test.text, "c", test.texts, test.values, absent)
		if err != nil {
			t.Errorf("%s of %q: %v", test.text, test.texts, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s of %q: %s", test.text, test.texts, diff)
		}
		groups := got.groups()
		for i, k := range got.Of {
			for v := range groups {
				if slices.Contains(groups[v].Rows, i) != (v == k) {
					t.Errorf("row %d with the value %d: group %d is %v", i, k, v, groups[v].Rows)
				}
			}
		}
	}
	if _, err := text.NewAttribute("d", "c", nil, nil, absent); err == nil {
		t.Error("an attribute of an unknown column")
	}
	if _, err := text.NewAttribute("c=z", "c", []string{"a"}, nil, absent); err == nil {
		t.Error("an attribute of an unknown category")
	}
	if _, err := number.NewAttribute("c", "c", []string{"1", "x"}, nil, absent); !errors.Is(err, ErrNumber) || !strings.Contains(err.Error(), "row 2") {
		t.Errorf("a text among numbers: %v", err)
	}
}

// TestFlagged replaces missing values by a category.
func TestFlagged(t *testing.T) {
	no := math.NaN()
	for _, test := range []struct {
		in, want column
	}{
		{column{numbers: []float64{3, no, 1, 3, 2}}, column{codes: []int32{2, 3, 0, 2, 1}, values: []string{"1", "2", "3", theMissing}}},
		{column{codes: []int32{0, -1, 1}, values: []string{"a", "b"}}, column{codes: []int32{0, 2, 1}, values: []string{"a", "b", theMissing}}},
		{column{codes: []int32{-1, 0, 1}, values: []string{theMissing, "b"}}, column{codes: []int32{0, 0, 1}, values: []string{theMissing, "b"}}},
		{column{codes: []int32{0, 1}, values: []string{"a", "b"}}, column{codes: []int32{0, 1}, values: []string{"a", "b"}}},
		{column{numbers: []float64{2, 1}}, column{numbers: []float64{2, 1}}},
		{column{numbers: []float64{no, 1}}, column{codes: []int32{1, 0}, values: []string{"1", theMissing}}},
	} {
		if diff := cmp.Diff(&test.want, test.in.flagged(), cmp.AllowUnexported(column{})); diff != "" {
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
		known           []Attribute
		want            []string
	}{
		{[]string{"f", "M"}, nil, nil, []string{"sex", "boss"}},
		{[]string{"c", "a", "b"}, nil, nil, []string{"town", "race"}},
		{[]string{"F", "c"}, []string{"F"}, nil, []string{"town"}},
		{[]string{"F", "c"}, nil, []Attribute{{Name: "x", Values: []string{"F"}}}, []string{"town"}},
		{[]string{"f"}, nil, []Attribute{{Name: "sex"}}, []string{"boss"}},
		{[]string{"z"}, nil, nil, nil},
	} {
		got := columnsWith(test.values, test.classes, test.known, names, func(name string) []string { return of[name] })
		if !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, want %q", test.values, got, test.want)
		}
	}
}

// TestSparseAttributesByHand makes attributes of features, and of blocks of features.
func TestSparseAttributesByHand(t *testing.T) {
	x := &matrix.CSR{Rows: 3, Cols: 5, Starts: []int{0, 2, 4, 5}, Columns: []int32{0, 3, 1, 4, 2}}
	got, err := (&Preparation{}).SparseAttributes("own", x, []string{"2", "5"}, [][]string{nil, {"feature 5", theRest}})
	if err != nil {
		t.Fatal(err)
	}
	want := []Attribute{{"2", []string{"feature 2", theRest}, []int{1, 0, 1}}, {"5", []string{"feature 5", theRest}, []int{1, 0, 1}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	d := &sparseDesign{names: []string{"sex=F", "sex=M", "sex=X", "race=a", "race=b"}, blocks: []int{0, 0, 0, 1, 1}, titles: []string{"sex", "race"}}
	if diff := cmp.Diff([]string{"F", "M", "X"}, d.categories("sex")); diff != "" {
		t.Error(diff)
	}
	got, by, err := d.attributes(x, []string{"race", "sex", "race=b"})
	if err != nil {
		t.Fatal(err)
	}
	want = []Attribute{{"race", []string{"a", "b"}, []int{0, 1, -1}}, {"sex", []string{"F", "M", "X"}, []int{0, 1, 2}}, {"race=b", []string{"race=b", theRest}, []int{1, 0, -1}}}
	if diff := cmp.Diff(want, got) + cmp.Diff([]int32{3, 0, 3}, by); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int32{0, 1, 2}, d.sensitive([]int32{1})[1:]); diff != "" {
		t.Error(diff)
	}
	adult := &matrix.CSR{Rows: 1, Cols: 123, Starts: []int{0, 0}}
	for name, ok := range map[string]bool{"adult": true, "synthetic-adult": true, "libsvm": false} {
		if got, err := (&Preparation{}).SparseAttributes(name, adult, []string{"sex"}, [][]string{{"Female", "Male"}}); (err == nil) != ok || ok && len(got[0].Values) != 2 {
			t.Errorf("the attribute sex of %s: %v, %v", name, got, err)
		}
	}
}

// TestConditionsByHand tests bounds, equalities and missing values, and the negations in words.
func TestConditionsByHand(t *testing.T) {
	no := math.NaN()
	numbers := &column{name: "x", numbers: []float64{1, 2, 3, no, -1}}
	codes := &column{name: "x", codes: []int32{0, 1, -1}, values: []string{"a", "b"}}
	for _, test := range []struct {
		text, negation string
		of             *column
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
		c, err := parseCondition(test.text, []string{"x"})
		if err != nil {
			t.Fatal(err)
		}
		meets, err := c.test(test.of)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range test.want {
			if meets(i) != want {
				t.Errorf("%s: row %d: %t", test.text, i, !want)
			}
		}
		if c.text != strings.TrimSpace(test.text) {
			t.Errorf("%q has the text %q", test.text, c.text)
		}
		if got := c.negation(); got != test.negation {
			t.Errorf("%s: the negation is %s, want %s", test.text, got, test.negation)
		}
	}
	for _, text := range []string{"3<x<3", "3<x<=2", "1<x>2", "1<x=2", "1<x!=2", "x=", "x!=", "x<a", "y<1", "y", ""} {
		if c, err := parseCondition(text, []string{"x"}); err == nil {
			t.Errorf("%q: %+v", text, c)
		}
	}
	for text, want := range map[string][3]string{"a<b": {"a", "<", "b"}, "a <= b": {"a", "<=", "b"}, "a>=b": {"a", ">=", "b"}, "a=b": {"a", "=", "b"},
		"a != b": {"a", "!=", "b"}, "=b": {"", "=", "b"}, "!=b": {"", "!=", "b"}, "ab": {"ab", "", ""}, "a!<b": {"a!", "<", "b"}, "a==b": {"a", "=", "=b"}, "a>b=c": {"a", ">", "b=c"}} {
		if left, op, right := cutOperator(text); [3]string{left, op, right} != want {
			t.Errorf("%s: %q %q %q", text, left, op, right)
		}
	}
}

// TestQuantilesByHand checks interpolated percentiles, and the digits of an intersection.
func TestQuantilesByHand(t *testing.T) {
	sorted := []float64{0, 10, 20, 40}
	for q, want := range map[int]float64{0: 0, 100: 40, 50: 15, 25: 7.5, 95: 37, 5: 1.5} {
		if got := quantile(sorted, q); math.Abs(got-want) > 1e-12 {
			t.Errorf("quantile %d: %v, want %v", q, got, want)
		}
	}
	by := &intersections{names: []string{"a", "b"}, values: make([][]float64, 2)}
	for i := range 200 {
		by.values[0], by.values[1] = append(by.values[0], float64(i)), append(by.values[1], float64(i*91%200))
	}
	train := make([]int, 200)
	for i := range train {
		train[i] = i
	}
	kept, note, err := by.groups(train)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for k := range 100 {
		lower := [2]float64{quantile(slices.Sorted(slices.Values(by.values[0])), intersectionQuantiles[k/10]),
			quantile(slices.Sorted(slices.Values(by.values[1])), intersectionQuantiles[k%10])}
		var rows []int
		for i := range train {
			if by.values[0][i] > lower[0] && by.values[1][i] > lower[1] {
				rows = append(rows, i)
			}
		}
		if len(rows) <= 2 { // at most 1 % of 200 rows
			continue
		}
		if n < len(kept) && (!slices.Equal(kept[n].Rows, rows) || kept[n].Levels[0] != float64(intersectionQuantiles[k/10])/100) {
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
	s := &sheet{rows: 3, columns: []*column{
		{name: "x", numbers: []float64{1, 2, 3}}, {name: "c", codes: []int32{0, 1, 0}, values: []string{"a", "b"}},
		{name: "first", numbers: []float64{no, 1, 2}}, {name: "last", codes: []int32{0, 0, -1}, values: []string{"a"}},
	}}
	a, b, below := Group{Name: "c=a", Rows: []int{0, 2}}, Group{Name: "c=b", Rows: []int{1}}, Group{Name: "x<2", Rows: []int{0}}
	for _, test := range []struct {
		texts []string
		flag  bool
		want  []Group // nil: refused
	}{
		{[]string{"x<2"}, false, []Group{below, {Name: theRest, Rows: []int{1, 2}}}},
		{[]string{"x<2"}, true, []Group{below, {Name: theRest, Rows: []int{1, 2}}}},
		{[]string{"c"}, false, []Group{a, b}},
		{[]string{"c", "x<2"}, false, []Group{a, b, below}},
		{[]string{"first<2"}, false, nil},
		{[]string{"last"}, false, nil},
		{[]string{"last"}, true, []Group{{Name: "last=a", Rows: []int{0, 1}}, {Name: "last=missing", Rows: []int{2}}}},
		{[]string{"first<2"}, true, []Group{{Name: "first<2", Rows: []int{1}}, {Name: theRest, Rows: []int{0, 2}}}},
	} {
		s.flag = test.flag
		var conditions []condition
		for _, text := range test.texts {
			c, err := parseCondition(text, s.names())
			if err != nil {
				t.Fatal(err)
			}
			conditions = append(conditions, c)
		}
		got, err := groupsBy(s, conditions)
		if diff := cmp.Diff(described(test.want), got); diff != "" || (err == nil) != (test.want != nil) {
			t.Errorf("%q, flag %t: %v %s", test.texts, test.flag, err, diff)
		}
	}
	for n, ok := range map[int]bool{maxGroups: true, maxGroups + 1: false} {
		many := &column{name: "m"}
		for i := range n {
			many.numbers = append(many.numbers, float64(i), float64(i))
		}
		if values, err := many.distinct(); (err == nil) != ok || ok && len(values) != n {
			t.Errorf("%d values: %v", n, err)
		}
	}
}
