package constraints_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"ppal/constraints"
)

// TestNames checks the errors for names that the rows do not have.
func TestNames(t *testing.T) {
	for _, test := range []struct {
		data              func() (*constraints.Population, []int)
		text, at, problem string
		hint              string
	}{
		{people, "gap(tpr, rase) <= 0.02", "rase", `there is no attribute "rase"`, "did you mean race?"},
		{people, "gap(tpr, sex*rase) <= 0.02", "rase", "no attribute", "did you mean race?"},
		{people, "gap(tpr, height) <= 0.02", "height", "no attribute", "the attributes are sex, race, groups"},
		{people, "excess(tpr, group) <= 0.02", "group", "no attribute", "did you mean groups?"},
		{people, "fpr[groups=old] <= 0.02", "old", `groups has no value "old"`, "its values are young, north"},
		{people, "fpr[young, north] <= 0.02", "north", "a rate has one group", ""},
		{people, "fpr[femal] <= 0.02", "femal", "no class or group", "did you mean Female?"},
		{people, "fpr[sex=Mal] <= 0.02", "Mal", `sex has no value "Mal"`, "did you mean Male?"},
		{people, "fpr[se=Male] <= 0.02", "se", "no attribute", "did you mean sex?"},
		{people, "fpr[class=perhaps] <= 0.02", "perhaps", "no class", "the classes are no, yes"},
		{people, "fpr[Female, Male] <= 0.02", "Male", "no row has two values of sex", ""},
		{people, "fpr[yes, no] <= 0.02", "no", "a rate has one class", ""},
		{clothes, "recall[shirtt] >= 0.5", "shirtt", "no class or group", "did you mean Shirt?"},
		{clothes, "fpr <= 0.5", "fpr", "fpr needs a class", "fpr[Shirt], or fpr[*]"},
		{clothes, "recall[ankel boot] >= 0.5", `"ankel boot"`, "no class or group", "did you mean Ankle boot?"},
	} {
		c, err := constraints.Parse(test.text)
		if err != nil {
			t.Fatal(err)
		}
		p, _ := test.data()
		_, err = constraints.NewSystem(constraints.Error(), []constraints.Constraint{c}, p)
		var e *constraints.SyntaxError
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		if !strings.HasPrefix(e.Text[e.At:], test.at) || !strings.Contains(e.Problem, test.problem) || !strings.Contains(e.Hint, test.hint) {
			t.Errorf("%s: at %d: %v", test.text, e.At, err)
		}
	}
	p, _ := people()
	p.Attributes = append(p.Attributes, constraints.Attribute{Name: "boss", Values: []string{"Male", "yes"}, Of: make([]int, 10)})
	for text, want := range map[string]string{
		"fpr[Male] <= 0.1": "sex=Male or boss=Male", "fpr[yes] <= 0.1": "class=yes or boss=yes",
	} {
		c, _ := constraints.Parse(text)
		if _, err := constraints.NewSystem(constraints.Error(), []constraints.Constraint{c}, p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestRefusals checks the errors for constraints and objectives that are not possible.
func TestRefusals(t *testing.T) {
	p, _ := people()
	one := func(minimize constraints.Rate, list ...constraints.Constraint) error {
		_, err := constraints.NewSystem(minimize, list, p)
		return err
	}
	fpr := constraints.FPR().AtMost(0.1)
	for _, test := range []struct {
		err  error
		is   error
		want string
	}{
		{one(constraints.Error(), constraints.Gap(constraints.Precision, "sex").AtMost(0.1)), constraints.ErrNotLinear, "precision[sex=*] >= 0.8"},
		{one(constraints.Error(), constraints.Ratio(constraints.Precision, "sex").AtLeast(0.1)), constraints.ErrNotLinear, "not linear"},
		{one(constraints.Error(), constraints.Excess(constraints.Precision, "sex").AtMost(0.1)), constraints.ErrNotLinear, "not linear"},
		{one(constraints.Error(), constraints.Excess(constraints.Error, "sex").MinRows(6).AtMost(0.1)), constraints.ErrEmptyGroup, "0 of the 2 groups have at least 6"},
		{one(constraints.Precision()), constraints.ErrSyntax, "precision cannot be minimized"},
		{one(constraints.TPR()), constraints.ErrSyntax, "minimize fnr, which is 1 - tpr"},
		{one(constraints.Error("*")), constraints.ErrSyntax, "the objective is one rate"},
		{one(constraints.Rate{}), nil, "minimize one of balanced_error, error, fnr, fpr, loss"},
		{one(constraints.Error(), constraints.Constraint{}), nil, "the zero value is not a constraint"},
		{one(constraints.Error(), fpr, fpr), constraints.ErrSyntax, "given twice"},
		{one(constraints.Error(), constraints.FPR("race=c", "Female").AtMost(0.1)), constraints.ErrEmptyGroup, "counts no training row"},
		{one(constraints.Error(), constraints.Gap(constraints.TPR, "sex").MinRows(3).AtMost(0.1)), constraints.ErrEmptyGroup, "1 of the 2 groups has at least 3 training rows"},
		{one(constraints.Error(), constraints.FPR().AtMost(math.NaN())), constraints.ErrSyntax, "not a finite number"},
		{one(constraints.Error(), constraints.FPR().AtMost(5)), constraints.ErrSyntax, "did you mean 5%?"},
		{one(constraints.Error(), constraints.Churn("new.csv").AtMost(0.1)), nil, "no earlier decisions of new.csv"},
	} {
		if test.err == nil || !strings.Contains(test.err.Error(), test.want) || test.is != nil && !errors.Is(test.err, test.is) {
			t.Errorf("%v, want %q", test.err, test.want)
		}
	}
}

// TestGroupsLeftOut checks the notes about small groups.
func TestGroupsLeftOut(t *testing.T) {
	p, _ := people()
	for text, want := range map[string]string{
		"gap(fpr, sex*race) <= 0.1":            "left out because the rate counts no rows: fpr[sex=Female, race=a] (0 rows), fpr[sex=Female, race=c] (0 rows)",
		"gap(positive_rate, race, min 2) <= 0": "left out because the rate counts fewer than 2 rows: positive_rate[race=c] (1 row)",
		"error[race=*, min 2] <= 0":            "fewer than 2 rows: error[race=c] (1 row)",
	} {
		c, err := constraints.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		s, err := constraints.NewSystem(constraints.Error(), []constraints.Constraint{c}, p)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Notes) != 1 || !strings.Contains(s.Notes[0], want) {
			t.Errorf("%s: %q, want %q", text, s.Notes, want)
		}
	}
}

// TestOtherRows binds a system to rows with other values and to rows without some of the groups.
func TestOtherRows(t *testing.T) {
	p, _ := people()
	c, _ := constraints.Parse("gap(tpr, race) <= 0.1")
	s, err := constraints.NewSystem(constraints.Error(), []constraints.Constraint{c}, p)
	if err != nil {
		t.Fatal(err)
	}
	other := &constraints.Population{
		Labels: []int{1, 1, 1, 0}, Classes: p.Classes,
		Attributes: []constraints.Attribute{{Name: "race", Values: []string{"b", "d", "a"}, Of: []int{0, 0, 2, 1}}},
	}
	if v := count(t, s, other, []int{1, 0, 1, 1}).Values[0]; !v.Defined || v.Value != 0.5 {
		t.Errorf("%+v, want 0.5", v)
	}
	other.Attributes[0].Of = []int{0, 0, 1, 1}
	one := count(t, s, other, []int{1, 0, 1, 1})
	if one.Values[0].Defined || one.Judge(0).State.Holds() {
		t.Errorf("one group only: %+v", one.Values[0])
	}
	c, _ = constraints.Parse("excess(error, groups) <= 0.1")
	grouped, err := constraints.NewSystem(constraints.Error(), []constraints.Constraint{c}, p)
	if err != nil {
		t.Fatal(err)
	}
	other.Groups = []constraints.Group{{Name: "north"}, {Name: "young", Rows: []int{0, 1}}}
	if v := count(t, grouped, other, []int{1, 0, 1, 1}).Values[0]; !v.Defined || v.Value != 1./2-2./4 || len(v.Rates) != 3 || v.Rates[0].Rows != 4 {
		t.Errorf("north without rows: %+v, want 0", v)
	}
	other.Groups = other.Groups[:1]
	if _, err := grouped.On(other); err == nil || !strings.Contains(err.Error(), `no group "young"`) {
		t.Errorf("%v", err)
	}
	other.Groups = []constraints.Group{{Name: "young", Rows: []int{4}}}
	if _, err := grouped.On(other); err == nil || !strings.Contains(err.Error(), "has row 4, want 0..3") {
		t.Errorf("%v", err)
	}
	other.Groups, other.Attributes = nil, nil
	if _, err := s.On(other); err == nil || !strings.Contains(err.Error(), `no attribute "race"`) {
		t.Errorf("%v", err)
	}
	other.Classes = []string{"yes", "no"}
	if _, err := s.On(other); err == nil || !strings.Contains(err.Error(), "classes") {
		t.Errorf("%v", err)
	}
}
