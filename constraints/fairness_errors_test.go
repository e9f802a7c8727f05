package constraints

import (
	"errors"
	"math"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// The error for invalid rows names the row and the problem.
func TestRowsErrors(t *testing.T) {
	rows := func(change func(r *Rows)) Rows {
		r := twoOfSix()
		r.Labels = append([]int(nil), r.Labels...)
		change(&r)
		return r
	}
	ab := []string{"a", "b"}
	parity := must(NewDemographicParity(ab, 0.1, Logistic, Sigmoid, Absolute))
	odds := must(NewEqualizedOdds(ab, []float64{0.1}, Logistic, Sigmoid, Split))
	each := must(NewIntersectional(ab, []float64{0.1}, Hinge, Hinge, Each))
	for _, tc := range []struct {
		name string
		rows Rows
		of   []fairProblem
		is   error
		want string
	}{
		{"no rows", Rows{}, []fairProblem{parity, odds, each}, nil, "no rows"},
		{"label", rows(func(r *Rows) { r.Labels[2] = 0 }), []fairProblem{parity, each}, nil, "row 2 has label 0"},
		{"names", rows(func(r *Rows) { r.Groups[1].Name = "c" }), []fairProblem{odds, each},
			nil, `group 1 is "c", the problem's is "b"`},
		{"number", rows(func(r *Rows) { r.Groups = r.Groups[:1] }), []fairProblem{odds, each}, nil, "1 groups, the problem has 2"},
		{"weights", rows(func(r *Rows) { r.Groups[0].Weights = []float64{1, 2, 3} }), []fairProblem{parity, each},
			nil, `group "a" has weights`},
		{"empty group", rows(func(r *Rows) { r.Groups[1].Rows = nil }), []fairProblem{parity, odds},
			ErrEmptyGroup, `no rows: "b"`},
		{"no positive", rows(func(r *Rows) { r.Groups[1].Rows = []int{3, 5} }), []fairProblem{odds},
			ErrEmptyClass, `group "b" has no positive row`},
		{"no negative", rows(func(r *Rows) { r.Groups[0].Rows = []int{0} }), []fairProblem{odds},
			ErrEmptyClass, `group "a" has no negative row`},
		{"range", rows(func(r *Rows) { r.Groups[0].Rows = []int{6} }), []fairProblem{parity, odds, each}, nil, `row 6, want 0..5`},
		{"twice", rows(func(r *Rows) { r.Groups[0].Rows = []int{3, 0} }), []fairProblem{parity}, nil, "row 3 is given twice"},
	} {
		for _, p := range tc.of {
			g := gorgonia.NewGraph()
			s := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(6, 1), gorgonia.WithName("s"))
			_, _, nodes := p.Nodes(s, tc.rows)
			_, evaluator := p.NewEvaluator(tc.rows)
			for _, err := range []error{nodes, evaluator} {
				if err == nil || !strings.Contains(err.Error(), tc.want) || tc.is != nil && !errors.Is(err, tc.is) {
					t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
				}
			}
		}
	}
	if _, err := parity.NewEvaluator(rows(func(r *Rows) { r.Labels = []int{1, 1, 1, 1, 1, 1} })); !errors.Is(err, ErrEmptyClass) {
		t.Errorf("one class alone: %v", err)
	}
	e := must(parity.NewEvaluator(twoOfSix()))
	for _, bad := range [][]float64{{1, 2}, {0, 1, math.NaN(), 0, 0, 0}, {0, 1, math.Inf(1), 0, 0, 0}} {
		if _, err := e.Measures(bad); err == nil || len(bad) == 6 && !strings.Contains(err.Error(), "row 2") {
			t.Errorf("scores %v: %v", bad, err)
		}
	}
}

func TestFairnessSettingsErrors(t *testing.T) {
	ab := []string{"a", "b"}
	for _, tc := range []struct {
		want string
		err  error
	}{
		{"compares 2 groups, got 3", second(NewDemographicParity([]string{"a", "b", "c"}, 0.1, Logistic, Sigmoid, Absolute))},
		{`"a" is given twice`, second(NewEqualizedOdds([]string{"a", "a"}, []float64{0.1}, Logistic, Sigmoid, Absolute))},
		{"eps has 3 values; give one, or 2", second(NewEqualizedOdds(ab, []float64{1, 2, 3}, Logistic, Sigmoid, Absolute))},
		{`eps of "positive rate" is -1`, second(NewDemographicParity(ab, -1, Logistic, Sigmoid, Absolute))},
		{`eps of "false positive rate" is NaN`, second(NewEqualizedOdds(ab, []float64{0, math.NaN()}, Logistic, Sigmoid, Absolute))},
		{"GapForm(3)", second(NewDemographicParity(ab, 0.1, Logistic, Sigmoid, GapForm(3)))},
		{"Phi(9)", second(NewDemographicParity(ab, 0.1, Phi(9), Sigmoid, Absolute))},
		{"Phi(9)", second(NewIntersectional(ab, []float64{0.1}, Hinge, Phi(9), Each))},
		{"no groups", second(NewIntersectional(nil, []float64{0.1}, Hinge, Hinge, Each))},
		{"eps has 2 values; give one", second(NewIntersectional(ab, []float64{0.1, 0.2}, Hinge, Hinge, Expectation))},
		{"GroupForm(2)", second(NewIntersectional(ab, []float64{0.1}, Hinge, Hinge, GroupForm(2)))},
	} {
		if tc.err == nil || !strings.Contains(tc.err.Error(), tc.want) {
			t.Errorf("got %v, want %q", tc.err, tc.want)
		}
	}
}

// second returns the error of a call with two results.
func second[T any](_ T, err error) error { return err }

func TestFairnessWarnings(t *testing.T) {
	ab := []string{"a", "b"}
	for _, tc := range []struct {
		p    fairProblem
		want []string
	}{
		{must(NewDemographicParity(ab, 1, Logistic, Sigmoid, Absolute)), []string{"positive rate (eps 1): the bound constrains nothing"}},
		{must(NewDemographicParity(ab, 1, Logistic, Hinge, Absolute)), nil},
		{must(NewEqualizedOdds(ab, []float64{0, 2}, Logistic, Sigmoid, Split)), []string{
			"false positive rate (eps 2): the bound constrains", "true positive rate (eps 0): the bound leaves no interior"}},
		{must(NewIntersectional([]string{"a", "b", "c", "d", "e"}, []float64{1}, Hinge, Sigmoid, Each)), []string{
			"group a, b, c and 2 others: the bound constrains nothing"}},
		{must(NewIntersectional(ab, []float64{0, 0.1}, Hinge, Hinge, Each)), []string{"group a: eps 0"}},
		{must(NewIntersectional(ab, []float64{2}, Hinge, Hinge, Expectation)), nil},
	} {
		got := tc.p.Warnings()
		if len(got) != len(tc.want) {
			t.Errorf("%+v: %q", tc.p, got)
			continue
		}
		for i, w := range tc.want {
			if !strings.Contains(got[i], w) {
				t.Errorf("%q, want %q", got[i], w)
			}
		}
	}
}
