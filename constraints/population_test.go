package constraints_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/constraints"
	"ppal/internal/require"
)

// TestPopulationErrors changes one property of the rows at a time.
func TestPopulationErrors(t *testing.T) {
	for want, change := range map[string]func(p *constraints.Population){
		"no rows":                                         func(p *constraints.Population) { p.Labels = nil },
		"at least 2 classes, got 1":                       func(p *constraints.Population) { p.Classes = p.Classes[:1] },
		`class "no" is given twice`:                       func(p *constraints.Population) { p.Classes = []string{"no", "no"} },
		"row 3 has label -1, want 0..1":                   func(p *constraints.Population) { p.Labels[3] = -1 },
		"row 4 has label 2, want 0..1":                    func(p *constraints.Population) { p.Labels[4] = 2 },
		`attribute "sex" is given twice`:                  func(p *constraints.Population) { p.Attributes[1].Name = "sex" },
		`attribute "race": 9 rows, want 10`:               func(p *constraints.Population) { p.Attributes[1].Of = p.Attributes[1].Of[:9] },
		`attribute "race": row 1 has value 3`:             func(p *constraints.Population) { p.Attributes[1].Of[1] = 3 },
		`row 2 has value -2, want -1..1`:                  func(p *constraints.Population) { p.Attributes[0].Of[2] = -2 },
		`group "young" is given twice`:                    func(p *constraints.Population) { p.Groups[1].Name = "young" },
		"the group north has row -1, want 0..9":           func(p *constraints.Population) { p.Groups[1].Rows[0] = -1 },
		"the group north has row 10, want 0..9":           func(p *constraints.Population) { p.Groups[1].Rows[0] = 10 },
		"earlier decisions of old.csv: row 0 has value 2": func(p *constraints.Population) { p.Earlier["old.csv"][0] = 2 },
	} {
		p, _ := people()
		change(p)
		if _, err := constraints.NewSystem(constraints.Error(), nil, p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := constraints.NewSystem(constraints.Error(), nil, nil); err == nil || !strings.Contains(err.Error(), "no rows") {
		t.Errorf("no population: %v", err)
	}
}

// TestPlaceOfErrors checks that a text with line ends and tabs has one line and one column for each
// character.
func TestPlaceOfErrors(t *testing.T) {
	e := &constraints.SyntaxError{Text: "a\tb\nc\rd", At: 6, Problem: "what"}
	if e.Caret() != "a b c d\n      ^" || e.Detail() != "column 7: what" {
		t.Errorf("%q, %q", e.Caret(), e.Detail())
	}
	if got := constraints.FPR("sex=").String(); got != `fpr["sex="]` {
		t.Errorf("text that is not a selector becomes %s", got)
	}
}

// TestRowsWithoutNames binds a system to rows that do not have its names.
func TestRowsWithoutNames(t *testing.T) {
	p, _ := people()
	grouped := systemOf(t, p, "error[young] <= 0.1")
	for want, other := range map[string]*constraints.Population{
		`the rows have no attribute "groups"`: {Labels: p.Labels, Classes: p.Classes},
		`the rows have no group "young"`:      {Labels: p.Labels, Classes: p.Classes, Groups: p.Groups[1:]},
	} {
		if _, err := grouped.On(other); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	named := systemOf(t, p, "error[race=a] <= 0.1")
	other := &constraints.Population{Labels: p.Labels, Classes: p.Classes, Groups: []constraints.Group{{Name: "a", Rows: []int{1}}}}
	if _, err := named.On(other); err == nil || !strings.Contains(err.Error(), `the rows have no attribute "race"`) {
		t.Errorf("groups in place of an attribute: %v", err)
	}
	// No row has the value a, so rows without a value do not count either.
	other.Attributes = []constraints.Attribute{{Name: "race", Values: []string{"b"}, Of: []int{-1, -1, 0, 0, 0, 0, 0, 0, 0, 0}}}
	sample := require.Value(named.On(other))(t)
	if rows := sample.Rows(); rows[1] != 0 {
		t.Errorf("%d rows of race a, want 0", rows[1])
	}
}

// TestNeeds checks the properties of the rows that constraints use: each once, in the order of
// their first use, with the text that uses them first.
func TestNeeds(t *testing.T) {
	minimize := require.Value(constraints.ParseRate("error[race=b]"))(t)
	subject := parsed(t, "gap(tpr, sex*race) <= 0.02", "fpr[Female] <= 0.1", "recall[class=yes] >= 0.5", "fnr[sex=*] <= 0.3",
		"recall[*] >= 0.1", "tnr[Female] >= 0.2", "churn(b.csv) <= 0.1", "churn(a.csv) <= 0.2", "churn(b.csv) <= 0.3")
	want := constraints.Needs{Attributes: []string{"race", "sex"}, Texts: []string{"error[race=b]", "gap(tpr, sex*race) <= 0.02"},
		Values: []string{"Female"}, Files: []string{"b.csv", "a.csv"}}
	needs := constraints.NeedsOf(minimize, subject)
	if diff := cmp.Diff(want, needs); diff != "" || needs.Groups() {
		t.Errorf("%s groups %t", diff, needs.Groups())
	}
	needs = constraints.NeedsOf(constraints.Error(), parsed(t, "l1(weights) <= 3", "excess(error, groups) <= 0.1"))
	want = constraints.Needs{Attributes: []string{"groups"}, Texts: []string{"excess(error, groups) <= 0.1"}, L1: true}
	if diff := cmp.Diff(want, needs); diff != "" || !needs.Groups() {
		t.Errorf("%s groups %t", diff, needs.Groups())
	}
	var e *constraints.SyntaxError
	if err := needs.UnknownAttribute(0, "did you mean sex?"); !errors.As(err, &e) || e.Text[e.At:e.At+6] != "groups" || e.Hint != "did you mean sex?" {
		t.Errorf("%v", err)
	}
}

// TestQuotedNames checks which names need quotes, and that a quoted name is read back.
func TestQuotedNames(t *testing.T) {
	for name, want := range map[string]string{
		"sex": "sex", "": `""`, "=a": `"=a"`, "a=b": `"a=b"`, "age<": `"age<"`, "age<25": "age<25", "min": `"min"`, "MIN": `"MIN"`,
		`a\b`: `"a\\b"`, `a"b`: `"a\"b"`, "a b": `"a b"`, "\xff": "\"\xff\"",
	} {
		if got := (constraints.Attribute{Name: name}).Quoted(); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
	if got, want := constraints.Gap(constraints.TPR, "sex, race", "age").AtMost(0.1).String(), `gap(tpr, "sex, race"*age) <= 0.1`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestDecideErrors checks the place of a score that is NaN, and the number of scores.
func TestDecideErrors(t *testing.T) {
	p, _ := clothes()
	scores := make([]float64, 24)
	scores[3*2+1] = math.NaN()
	if _, err := p.Decide(scores); err == nil || !strings.Contains(err.Error(), "score 1 of row 2 is NaN") {
		t.Error(err)
	}
	if _, err := p.Decide(make([]float64, 8)); err == nil || !strings.Contains(err.Error(), "8 scores for 8 rows of 3 classes") {
		t.Error(err)
	}
	two, _ := people()
	s := require.Value(constraints.NewSystem(constraints.Error(), parsed(t, "fpr[sex=Male] <= 0.5"), two))(t)
	sample := require.Value(s.On(two))(t)
	bad := make([]float64, 10)
	bad[7] = math.NaN()
	if _, _, _, err := sample.Meter().Measure(bad, nil); err == nil || !strings.Contains(err.Error(), "row 7 is NaN") {
		t.Error(err)
	}
}

// TestMeterOfAnEmptyRate checks that a rate without rows is 0 in a meter, as in its sample.
func TestMeterOfAnEmptyRate(t *testing.T) {
	p, _ := people()
	s := require.Value(constraints.NewSystem(constraints.Error(), parsed(t, "fpr[race=c] <= 0.5"), p))(t)
	held := *p
	held.Attributes = append([]constraints.Attribute{}, p.Attributes...)
	held.Attributes[1].Of = make([]int, 10) // all of race a
	sample := require.Value(s.On(&held))(t)
	_, want, err := sample.Smooth(make([]float64, 10))
	require.NoError(t, err)
	_, got, _, _ := sample.Meter().Measure(make([]float64, 10), nil)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if rows := sample.Rows(); rows[len(rows)-1] != 0 || rows[0] != 10 {
		t.Errorf("rows of the rates: %v", rows)
	}
}

// TestRefusals checks the errors for constraints and objectives that only a Go program can pass.
func TestRefusals(t *testing.T) {
	p, _ := people()
	one := func(minimize constraints.Rate, list ...constraints.Constraint) error {
		_, err := constraints.NewSystem(minimize, list, p)
		return err
	}
	for _, test := range []struct {
		err  error
		is   error
		want string
	}{
		{one(constraints.Rate{}), nil, "no objective: minimize one of balanced_error, error, fnr, fpr, loss, pair_error, pair_loss"},
		{one(constraints.Error(), constraints.Constraint{}), nil, "the zero value is not a constraint"},
		{one(constraints.Error(), constraints.FPR().AtMost(math.NaN())), constraints.ErrSyntax, "not a finite number"},
		{one(constraints.Error(), constraints.FPR().AtMost(5)), constraints.ErrSyntax, "column 8: the bound 5 is more than 1"},
	} {
		if test.err == nil || !strings.Contains(test.err.Error(), test.want) || test.is != nil && !errors.Is(test.err, test.is) {
			t.Errorf("%v, want %q", test.err, test.want)
		}
	}
}

// TestOtherRows binds a system to rows with other values and to rows without some of the groups.
func TestOtherRows(t *testing.T) {
	p, _ := people()
	c, _ := constraints.Parse("gap(tpr, race) <= 0.1")
	s := require.Value(constraints.NewSystem(constraints.Error(), []constraints.Constraint{c}, p))(t)
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
	grouped := require.Value(constraints.NewSystem(constraints.Error(), []constraints.Constraint{c}, p))(t)
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
