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
