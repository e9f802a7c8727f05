package datasets

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/datatest"
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
