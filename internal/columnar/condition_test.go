package columnar_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/datatest"
	"ppal/internal/require"
)

// citizens returns a sheet with a column of each kind and a column with an operator in its name.
func citizens() *columnar.Sheet {
	return &columnar.Sheet{Name: "file", Rows: 6, Columns: []*columnar.Column{
		{Name: "age", Numbers: []float64{20, 25, 40, 60, 59, 25}},
		{Name: "race", Codes: []int32{0, 2, 0, 2, 0, 2}, Values: []string{"A", "none", "B C"}},
		{Name: "a<b", Numbers: []float64{0, 1, 0, 1, 1, 0}},
		{Name: "gap", Numbers: []float64{0, math.NaN(), 0, 1, 1, 0}},
	}}
}

func conditionGroups(texts ...string) ([]tabular.Group, error) {
	s := citizens()
	var conditions []columnar.Condition
	for _, text := range texts {
		c, err := columnar.ParseCondition(text, s.Names())
		if err != nil {
			return nil, err
		}
		conditions = append(conditions, c)
	}
	return columnar.GroupsBy(s, conditions)
}

// The name of a column in a condition may be in quotes.
func TestQuotedColumns(t *testing.T) {
	columns := []string{"age, years", `a"b`, "a<b", "age"}
	for text, want := range map[string]string{
		`"age, years"<30`: "age, years", `"age, years"`: "age, years", `20<="age, years"<30`: "age, years", `"a""b"=1`: `a"b`, `"a<b">=1`: "a<b", `age="30"`: "age",
	} {
		c, err := columnar.ParseCondition(text, columns)
		if err != nil || c.Column != want || c.Text != text {
			t.Errorf("%s: column %q, text %q, %v", text, c.Column, c.Text, err)
		}
	}
	if c, _ := columnar.ParseCondition(`age="30"`, columns); c.Value != `"30"` {
		t.Errorf("a value with quotes is %q", c.Value)
	}
}

// Only comparisons of a column with numbers count, and not the classes of a label.
func TestComparison(t *testing.T) {
	for text, want := range map[string]bool{
		"age<45": true, "age, years >= 4.5": true, "25<=age<60": true, "x>-1": true, "<=50K": false, ">50K": false, "Female": false, "sex=F": false,
		"pay!=3": false, "income>=high": false, "45": false, "<45": false, "": false, "25<=age": false,
	} {
		if columnar.Comparison(text) != want {
			t.Errorf("%q is a comparison: %t", text, !want)
		}
	}
}

func TestConditions(t *testing.T) {
	for _, tc := range []struct {
		texts []string
		want  []tabular.Group
	}{
		{[]string{"age<25"}, []tabular.Group{{Name: "age<25", Rows: []int{0}}, {Name: columnar.TheRest, Rows: []int{1, 2, 3, 4, 5}}}},
		{[]string{"age <= 25"}, []tabular.Group{{Name: "age <= 25", Rows: []int{0, 1, 5}}, {Name: columnar.TheRest, Rows: []int{2, 3, 4}}}},
		{[]string{"age>25"}, []tabular.Group{{Name: "age>25", Rows: []int{2, 3, 4}}, {Name: columnar.TheRest, Rows: []int{0, 1, 5}}}},
		{[]string{"age>=25"}, []tabular.Group{{Name: "age>=25", Rows: []int{1, 2, 3, 4, 5}}, {Name: columnar.TheRest, Rows: []int{0}}}},
		{[]string{"25<=age<60"}, []tabular.Group{{Name: "25<=age<60", Rows: []int{1, 2, 4, 5}}, {Name: columnar.TheRest, Rows: []int{0, 3}}}},
		{[]string{"25<age<=60"}, []tabular.Group{{Name: "25<age<=60", Rows: []int{2, 3, 4}}, {Name: columnar.TheRest, Rows: []int{0, 1, 5}}}},
		{[]string{"25<age"}, []tabular.Group{{Name: "25<age", Rows: []int{2, 3, 4}}, {Name: columnar.TheRest, Rows: []int{0, 1, 5}}}},
		{[]string{"age=25.0"}, []tabular.Group{{Name: "age=25.0", Rows: []int{1, 5}}, {Name: columnar.TheRest, Rows: []int{0, 2, 3, 4}}}},
		{[]string{"race=B C"}, []tabular.Group{{Name: "race=B C", Rows: []int{1, 3, 5}}, {Name: columnar.TheRest, Rows: []int{0, 2, 4}}}},
		{[]string{"race"}, []tabular.Group{{Name: "race=A", Rows: []int{0, 2, 4}}, {Name: "race=B C", Rows: []int{1, 3, 5}}}},
		{[]string{"a<b"}, []tabular.Group{{Name: "a<b=0", Rows: []int{0, 2, 5}}, {Name: "a<b=1", Rows: []int{1, 3, 4}}}},
		{[]string{"race=A", "age>=59"}, []tabular.Group{{Name: "race=A", Rows: []int{0, 2, 4}}, {Name: "age>=59", Rows: []int{3, 4}}}},
		{[]string{"age<0"}, []tabular.Group{{Name: "age<0", Rows: nil}, {Name: columnar.TheRest, Rows: []int{0, 1, 2, 3, 4, 5}}}},
	} {
		t.Run(tc.texts[0], func(t *testing.T) {
			got, err := conditionGroups(tc.texts...)
			if diff := cmp.Diff(described(tc.want), got); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}

func TestConditionErrors(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"sex", `invalid group "sex": invalid column: no column "sex"; the columns are age, race, a<b, gap`},
		{"sex=F", `invalid group "sex=F": invalid column: no column "sex"`},
		{"", `invalid group ""`},
		{"age<old", `invalid group "age<old": "old" is not a finite number`},
		{"age=old", `invalid group "age=old": age holds numbers and "old" is not a finite number`},
		{"age=", `invalid group "age=": want a value after =`},
		{"race<3", `invalid group "race<3": race holds text, want race=VALUE`},
		{"race=D", `invalid group "race=D": race is never "D", it is one of A, none, B C`},
		{"25<age=30", `invalid group "25<age=30": want an interval, as in 25<=age<60`},
		{"25<age>30", `want an interval`},
		{"25>age", `no column "25"`},
		{"60<age<25", `invalid group "60<age<25": the interval is empty`},
		{"gap=1", `invalid group "gap=1": row 2 has no gap`},
		{"gap", `invalid group "gap": row 2 has no gap`},
	} {
		t.Run(tc.text, func(t *testing.T) {
			_, err := conditionGroups(tc.text)
			if err == nil {
				t.Fatal("no error")
			}
			datatest.CheckError(t, fmt.Errorf("datasets: %w", err), dataerr.ErrGroup, tc.want)
		})
	}
}

// TestConditionManyValues checks that a column with too many values cannot make groups by value.
func TestConditionManyValues(t *testing.T) {
	s := &columnar.Sheet{Rows: columnar.MaxGroups + 1}
	c := &columnar.Column{Name: "x"}
	for i := range s.Rows {
		c.Numbers = append(c.Numbers, float64(i))
	}
	s.Columns = append(s.Columns, c)
	_, err := columnar.GroupsBy(s, []columnar.Condition{{Column: "x", Each: true}})
	datatest.CheckError(t, fmt.Errorf("datasets: %w", err), dataerr.ErrGroup, `"x": it has 101 values, want a condition, as in x=VALUE or x<NUMBER`)
}

// described gives each group without conditions the condition of its name. The rest has no
// condition.
func described(groups []tabular.Group) []tabular.Group {
	for k, g := range groups {
		switch {
		case g.Name == columnar.TheRest:
			groups[k].Conditions = []string{}
		case g.Conditions == nil:
			groups[k].Conditions = []string{g.Name}
		}
	}
	return groups
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
		c := require.Value(columnar.ParseCondition(test.text, []string{"x"}))(t)
		meets := require.Value(c.Test(test.of))(t)
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
			c := require.Value(columnar.ParseCondition(text, s.Names()))(t)
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

func FuzzCondition(f *testing.F) {
	for _, text := range []string{"age<25", "25<=age<60", "race=A", "a<b", "gap", "", "=", "<<", "1<2<3", "age<=x", "race=\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		groups, err := conditionGroups(text)
		if err != nil {
			if !errors.Is(err, dataerr.ErrGroup) {
				t.Fatalf("unexpected kind of error: %v", err)
			}
			return
		}
		if _, ok := tabular.Exclusive(groups, citizens().Rows); !ok {
			t.Fatalf("%q: %v overlap or leave rows out", text, groups)
		}
	})
}
