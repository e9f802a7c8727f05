package constraints_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"ppal/constraints"
)

// sentences are constraints and their canonical texts. "" means that the text is canonical.
var sentences = []struct{ text, canonical string }{
	{"fpr <= 0.05", ""},
	{"fpr<=5%", "fpr <= 0.05"},
	{"fpr ≤ 5 %", "fpr <= 0.05"},
	{"FPR <= 5%", "fpr <= 0.05"},
	{"recall[shirt] >= 0.9", ""},
	{"tpr[shirt] >= 0.9", ""},
	{"error[*] <= 0.2", ""},
	{"loss[shirt] <= 2.5", ""},
	{"accuracy >= 90%", "accuracy >= 0.9"},
	{"tnr[sex=Female] >= 0.5", ""},
	{"fnr[ sex = Female , race = * , min 20 ] <= 0.3", "fnr[sex=Female, race=*, min 20] <= 0.3"},
	{"precision[shirt]>=.8", "precision[shirt] >= 0.8"},
	{"precision <= 0.8", ""},
	{"gap(positive_rate, sex) <= 0.01", ""},
	{"gap(tpr, race) <= 2%", "gap(tpr, race) <= 0.02"},
	{"gap(tpr, sex * race, min 100) <= 0.02", "gap(tpr, sex*race, min 100) <= 0.02"},
	{"gap(tpr[shirt], sex) <= 0.02", ""},
	{"gap(fpr, age<25) <= 0.02", ""},
	{"gap(fpr, 25<=age<60) <= 0.02", ""},
	{"fpr[>50K] <= 0.1", ""},
	{"fpr[<=50K] <= 0.1", ""},
	{"recall[Ankle boot] >= 0.9", `recall["Ankle boot"] >= 0.9`},
	{"recall[T-shirt/top] >= 0.9", "recall[T-shirt/top] >= 0.9"},
	{`recall["a, \"b\" \\ ]"] >= 0.9`, `recall["a, \"b\" \\ ]"] >= 0.9`},
	{"ratio(positive_rate, sex) >= 0.8", ""},
	{"excess(error, groups) <= 1%", "excess(error, groups) <= 0.01"},
	{"Excess(fnr[sex=Female], race * age<25, min 20) <= 0.1", "excess(fnr[sex=Female], race*age<25, min 20) <= 0.1"},
	{"distance(positive_rate, race, min 100) <= 0.02", ""},
	{"error[groups=a & b] <= 0.2", `error[groups="a & b"] <= 0.2`},
	{"l1(weights) <= 10", ""},
	{"l1(weights) <= 1e3", "l1(weights) <= 1000"},
	{"churn(old.csv) <= 0.02", ""},
	{"churn(/a/b c.csv) <= 2%", `churn("/a/b c.csv") <= 0.02`},
	{"fpr <= 7%", "fpr <= 0.07"},
	{"fpr <= 0.1%", "fpr <= 0.001"},
	{"fpr <= 5e-1%", "fpr <= 0.005"},
	{"fpr <= 5E0 %", "fpr <= 0.05"},
	{"fpr <= -0", "fpr <= 0"},
}

func TestParse(t *testing.T) {
	for _, s := range sentences {
		c, err := constraints.Parse(s.text)
		if err != nil {
			t.Errorf("%q: %v", s.text, err)
			continue
		}
		want := s.canonical
		if want == "" {
			want = s.text
		}
		if c.String() != want {
			t.Errorf("%q: canonical text %q, want %q", s.text, c, want)
		}
		again, err := constraints.Parse(c.String())
		if err != nil || again != c {
			t.Errorf("%q: Parse(%q) is %+v, %v, want %+v", s.text, c, again, err, c)
		}
		m, err := constraints.ParseMeasure(c.Measure().String())
		if err != nil || m != c.Measure() {
			t.Errorf("%q: ParseMeasure(%q) is %v, %v", s.text, c.Measure(), m, err)
		}
	}
}

// TestGo compares constraints that are built in Go with constraints that are parsed from text.
func TestGo(t *testing.T) {
	shirt := func(...string) constraints.Rate { return constraints.TPR("shirt") }
	for _, test := range []struct {
		c    constraints.Constraint
		want string
	}{
		{constraints.FPR().AtMost(0.05), "fpr <= 0.05"},
		{constraints.Recall("shirt").AtLeast(0.9), "recall[shirt] >= 0.9"},
		{constraints.FNR("sex=Female", "race=*").AtMost(0.3), "fnr[sex=Female, race=*] <= 0.3"},
		{constraints.Error("*").AtMost(0.2), "error[*] <= 0.2"},
		{constraints.Loss("Ankle boot").AtMost(2), `loss["Ankle boot"] <= 2`},
		{constraints.TNR("<=50K").AtLeast(0.5), "tnr[<=50K] >= 0.5"},
		{constraints.Precision("a]b").AtLeast(0.5), `precision["a]b"] >= 0.5`},
		{constraints.Accuracy().AtLeast(0.5), "accuracy >= 0.5"},
		{constraints.Gap(constraints.PositiveRate, "sex").AtMost(0.01), "gap(positive_rate, sex) <= 0.01"},
		{constraints.Gap(constraints.TPR, "sex", "race").MinRows(100).AtMost(0.02), "gap(tpr, sex*race, min 100) <= 0.02"},
		{constraints.Gap(shirt, "sex").AtMost(0.02), "gap(tpr[shirt], sex) <= 0.02"},
		{constraints.Ratio(constraints.PositiveRate, "sex").AtLeast(0.8), "ratio(positive_rate, sex) >= 0.8"},
		{constraints.Excess(constraints.Error, constraints.GroupsName).AtMost(0.01), "excess(error, groups) <= 0.01"},
		{constraints.Distance(constraints.TPR, "sex", "race").MinRows(100).AtMost(0.02), "distance(tpr, sex*race, min 100) <= 0.02"},
		{constraints.L1().AtMost(10), "l1(weights) <= 10"},
		{constraints.Churn("old.csv").AtMost(0.02), "churn(old.csv) <= 0.02"},
	} {
		if test.c.String() != test.want {
			t.Errorf("%s, want %s", test.c, test.want)
		}
		if c, err := constraints.Parse(test.want); err != nil || c != test.c {
			t.Errorf("Parse(%q) is %+v, %v, want %+v", test.want, c, err, test.c)
		}
	}
	r, err := constraints.ParseRate("fpr[Female]")
	if err != nil || r != constraints.FPR("Female") {
		t.Errorf("ParseRate: %v, %v", r, err)
	}
}

// TestSyntaxErrors checks the position, the problem and the hint of errors. The ^ in want marks the
// position.
func TestSyntaxErrors(t *testing.T) {
	for _, test := range []struct{ text, caret, problem, hint string }{
		{"", "^", "the text ends", "begin with a rate such as fpr"},
		{"demographic_parity <= 0.1", "^", `unknown rate "demographic_parity"`, "gap(positive_rate, sex) <= 0.05"},
		{"Equalized_Odds <= 0.1", "^", `unknown rate "Equalized_Odds"`, "two constraints, as in gap(tpr, sex) <= 0.05 and gap(fpr, sex) <= 0.05"},
		{"equal_opportunity(sex) <= 0.1", "^", `unknown rate "equal_opportunity"`, "gap(tpr, sex) <= 0.05"},
		{"auc >= 0.9", "^", `unknown rate "auc"`, "bound one point of the curve"},
		{"gap(selection_rate, sex) <= 0.1", "    ^", `unknown rate "selection_rate"`, "is positive_rate"},
		{"fprr <= 0.05", "^", `unknown rate "fprr"`, "did you mean fpr?"},
		{"recal[shirt] >= 0.9", "^", `unknown rate "recal"`, "did you mean recall?"},
		{"gpa(tpr, race) <= 0.02", "^", `unknown rate "gpa"`, "did you mean gap?"},
		{"zzzzzzz <= 1", "^", "unknown rate", "the rates are accuracy, balanced_error, error"},
		{"gap(tprr, race) <= 0.02", "    ^", `unknown rate "tprr"`, "did you mean tpr?"},
		{"gap(gap(tpr, sex), race) <= 0.02", "    ^", "gap is not a rate", "a gap compares a rate"},
		{"gap(tpr) <= 0.02", "       ^", `unexpected ")"`, "add the attribute"},
		{"gap(tpr, ) <= 0.02", "         ^", `unexpected ")"`, "give an attribute"},
		{"gap(tpr, sex*sex) <= 0.02", "             ^", "the attribute sex is given twice", ""},
		{"gap(tpr, sex, max 3) <= 0.02", "              ^", `unexpected "max"`, "min 100"},
		{"gap(tpr, sex, min 0) <= 0.02", "                  ^", "0 is not a number of rows", ""},
		{"gap(tpr, sex <= 0.02", "                    ^", "the text ends", "close with )"},
		{"gap tpr", "    ^", `unexpected "tpr"`, "write gap(tpr, sex)"},
		{"fpr < 0.05", "    ^", "a constraint cannot be strict", "write <="},
		{"fpr > 0.05", "    ^", "a constraint cannot be strict", "write >="},
		{"fpr = 0.05", "    ^", `unknown comparison "="`, "write <= or >="},
		{"fpr 0.05", "    ^", `unexpected "0.05"`, "compare with a bound"},
		{"fpr", "   ^", "the text ends", "compare with a bound"},
		{"fpr <=", "      ^", "the text ends", "give the bound"},
		{"fpr <= abc", "       ^", `"abc" is not a bound`, "0.05 or 5%"},
		{"fpr <= Inf", "       ^", `"Inf" is not a bound`, "0.05 or 5%"},
		{"fpr <= 5", "       ^", "the bound 5 is more than 1", "did you mean 5%?"},
		{"fpr <= 500", "       ^", "more than 1", "0.05 or 5%"},
		{"fpr <= -0.1", "       ^", "the bound -0.1 is negative", "never negative"},
		{"fpr <= 0.05 please", "            ^", `unexpected "please"`, "nothing may follow"},
		{"fpr[Female <= 0.05", "                  ^", "the text ends", "close with ]"},
		{"fpr[] <= 0.05", "    ^", `unexpected "]"`, "give a class"},
		{"fpr[sex=] <= 0.05", "        ^", `unexpected "]"`, "give a value of sex"},
		{"fpr[a, a] <= 0.05", "       ^", "given twice", ""},
		{`fpr["a] <= 0.05`, "    ^", "the quote does not end", ""},
		{"gap(tpr, sex) >= 0.02", "                 ^", "a gap cannot be bounded from below", "use <="},
		{"ratio(tpr, sex) <= 0.02", "                   ^", "a ratio cannot be bounded from above", "use >="},
		{"exces(error, sex) <= 0.02", "^", `unknown rate "exces"`, "did you mean excess?"},
		{"excess(loss) <= 0.02", "           ^", `unexpected ")"`, "as in excess(loss, sex)"},
		{"excess(churn(a), sex) <= 0.02", "       ^", "churn is not a rate", "an excess compares a rate"},
		{"excess(error, sex) >= 0.02", "                      ^", "an excess cannot be bounded from below", "use <="},
		{"excess(error, sex) <= -0.1", "                      ^", "the bound -0.1 is negative", "the rate of one group is at least"},
		{"distance(error, sex) >= 0.02", "                        ^", "a distance cannot be bounded from below", "use <="},
		{"l1(weights) >= 2", "               ^", "l1(weights) cannot be bounded from below", "use <="},
		{"l1(w) <= 2", "   ^", `unexpected "w"`, "write l1(weights)"},
		{"churn() <= 2%", "      ^", `unexpected ")"`, "earlier decisions"},
		{"gap(tpr[sex=*, min 3], race) <= 0.1", "               ^", "min stands with the attributes", ""},
		{"größe[ä] <= 0.05", "^", "unknown rate", ""},
	} {
		_, err := constraints.Parse(test.text)
		var e *constraints.SyntaxError
		if !errors.As(err, &e) || !errors.Is(err, constraints.ErrSyntax) {
			t.Errorf("%q: %v, want a SyntaxError", test.text, err)
			continue
		}
		if got := strings.Split(e.Caret(), "\n")[1]; got != test.caret {
			t.Errorf("%q: the caret is at %d, want %d (%v)", test.text, len(got), len(test.caret), e)
		}
		if !strings.Contains(e.Problem, test.problem) || !strings.Contains(e.Hint, test.hint) {
			t.Errorf("%q: %v, want %q; %q", test.text, e, test.problem, test.hint)
		}
		if want := fmt.Sprintf("column %d", len(test.caret)); !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want one line with %q", test.text, err, want)
		}
	}
	for _, text := range []string{"gap(tpr, sex)", "fpr[Female] <= 0.1", "fpr[Female, min 3]", "", "l1(weights)"} {
		if _, err := constraints.ParseRate(text); !errors.Is(err, constraints.ErrSyntax) {
			t.Errorf("ParseRate(%q): %v", text, err)
		}
	}
}

// FuzzParse checks that no text causes a panic, and that the canonical text gives the same
// constraint.
func FuzzParse(f *testing.F) {
	for _, s := range sentences {
		f.Add(s.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := constraints.Parse(text)
		if err != nil {
			var e *constraints.SyntaxError
			if !errors.As(err, &e) || e.At < 0 || e.At > len(text) || e.Caret() == "" {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if b := c.Bound(); math.IsNaN(b) || math.IsInf(b, 0) {
			t.Fatalf("%q: the bound is %v", text, b)
		}
		again, err := constraints.Parse(c.String())
		if err != nil || again != c {
			t.Fatalf("%q: Parse(%q) is %+v, %v, want %+v", text, c, again, err, c)
		}
	})
}

// FuzzSelector checks that a constraint with any selector text from a Go program has a canonical
// text that Parse reads.
func FuzzSelector(f *testing.F) {
	f.Add("shirt", "sex")
	f.Add(`a"]b\`, "sex*race")
	f.Add("*", "min 3")
	f.Add("sex=*", "")
	f.Fuzz(func(t *testing.T, value, attribute string) {
		for _, c := range []constraints.Constraint{constraints.FPR(value).AtMost(0.1), constraints.Gap(constraints.FPR, attribute).AtMost(0.1),
			constraints.Excess(constraints.FPR, attribute).AtMost(0.1)} {
			again, err := constraints.Parse(c.String())
			if value != "" && attribute != "" && (err != nil || again != c) {
				t.Fatalf("Parse(%q) is %+v, %v, want %+v", c, again, err, c)
			}
		}
	})
}
