package constraints_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"ppal/constraints"
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

// TestNamesOfRows checks how names are found: exact names first, then names without regard to case.
func TestNamesOfRows(t *testing.T) {
	p := &constraints.Population{
		Labels: []int{0, 1, 0, 1}, Classes: []string{"no", "yes"},
		Attributes: []constraints.Attribute{
			{Name: "u", Values: []string{"bb", "bB", "a", "A"}, Of: []int{2, 3, 0, 1}},
			{Name: "class", Values: []string{"upper", "lower"}, Of: []int{0, 0, 1, 1}},
			{Name: "groups", Values: []string{"p", "q"}, Of: []int{0, 1, 1, 1}},
		},
		Groups: []constraints.Group{{Name: "young", Rows: []int{0}}},
	}
	for text, want := range map[string]int{
		"positive_rate[u=a] <= 1": 1, "positive_rate[u=bb] <= 1": 1, "positive_rate[u=A] <= 1": 1, "positive_rate[a] <= 1": 1, "positive_rate[class=UPPER] <= 1": 2,
		"positive_rate[groups=q] <= 1": 3, "positive_rate[no] <= 1": 4, "tpr[yes, groups=q] >= 0": 2,
	} {
		if got := systemOf(t, p, text).SmallestCell(0); got != want {
			t.Errorf("%s: %d rows, want %d", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"positive_rate[u=BB] <= 1": `u has no value "BB"`, "positive_rate[young] <= 1": `no class or group "young"`,
	} {
		c, err := constraints.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := constraints.NewSystem(constraints.Error(), []constraints.Constraint{c}, p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestSelectorsCombine checks selectors that name the same rows, and * with another selector.
func TestSelectorsCombine(t *testing.T) {
	p, _ := people()
	s := systemOf(t, p, "fpr[sex=Male, race=b] <= 0.4", "fpr[race=b, sex=Male] <= 0.5")
	if len(s.Rates) != 2 {
		t.Errorf("%d rates for the error and one rate in two orders", len(s.Rates))
	}
	if s := systemOf(t, p, "error[race=*, Female] <= 0.1"); len(s.Bounds) != 2 || len(s.Notes) != 1 {
		t.Errorf("%d inequalities, notes %q", len(s.Bounds), s.Notes)
	}
	if s := systemOf(t, p, "fnr[no, class=no] <= 0.1"); s.SmallestCell(0) != 5 {
		t.Errorf("the same class twice: %d rows", s.SmallestCell(0))
	}
	if s := systemOf(t, p, "error[Male, min 5] <= 0.5"); s.SmallestCell(0) != 5 {
		t.Errorf("exactly the least number: %d rows", s.SmallestCell(0))
	}
}

// TestRefusedSystems checks errors about rows, selectors and objectives.
func TestRefusedSystems(t *testing.T) {
	bare := func() (*constraints.Population, []int) {
		return &constraints.Population{Labels: []int{0, 1}, Classes: []string{"no", "yes"}}, nil
	}
	ungrouped := func() (*constraints.Population, []int) {
		p, _ := people()
		p.Groups = nil
		return p, nil
	}
	many := func(n int) func() (*constraints.Population, []int) {
		return func() (*constraints.Population, []int) {
			p := &constraints.Population{Classes: []string{"no", "yes"}, Attributes: []constraints.Attribute{{Name: "u"}}}
			for k := range n {
				p.Attributes[0].Values = append(p.Attributes[0].Values, fmt.Sprintf("value %d", k))
				for y := range 2 {
					p.Labels, p.Attributes[0].Of = append(p.Labels, y), append(p.Attributes[0].Of, k)
				}
			}
			return p, nil
		}
	}
	for _, test := range []struct {
		data       func() (*constraints.Population, []int)
		minimize   constraints.Rate
		text, want string
		is         error
	}{
		{people, constraints.Rate{}, "", "no objective", nil},
		{people, constraints.Precision(), "", "minimize one of balanced_error, error, fnr, fpr, loss", constraints.ErrSyntax},
		{people, constraints.FNR("race=c"), "", "counts no training row", constraints.ErrEmptyGroup},
		{people, constraints.Error(), "error[Male, min 6] <= 0.1", "counts 5 training rows, fewer than min 6", nil},
		{people, constraints.Error(), "error[race=*, min 5] <= 0.1", "no class or group has 5 training rows", constraints.ErrEmptyGroup},
		{people, constraints.Error(), "gap(fpr, height) <= 0.1", "the attributes are sex, race, groups", constraints.ErrSyntax},
		{people, constraints.Error(), "gap(tpr[race=c], sex, min 1) <= 0.1", "have training rows that the rate counts", constraints.ErrEmptyGroup},
		{ungrouped, constraints.Error(), "gap(fpr, height) <= 0.1", "the attributes are sex, race", constraints.ErrSyntax},
		{bare, constraints.Error(), "gap(fpr, height) <= 0.1", "the rows have no attributes", constraints.ErrSyntax},
		{many(12), constraints.Error(), "error[u=none] <= 0.1", `"value 10", "value 11"$`, constraints.ErrSyntax},
		{many(13), constraints.Error(), "error[u=none] <= 0.1", `"value 11" and 1 others`, constraints.ErrSyntax},
		{many(101), constraints.Error(), "gap(error, u) <= 0.1", "compares 101 groups, at most 100 are supported: leave out small groups, as in gap(error, u, min 100)", nil},
	} {
		p, _ := test.data()
		var subject []constraints.Constraint
		if test.text != "" {
			c, err := constraints.Parse(test.text)
			if err != nil {
				t.Fatal(err)
			}
			subject = append(subject, c)
		}
		_, err := constraints.NewSystem(test.minimize, subject, p)
		if err == nil || !strings.Contains(err.Error()+"$", test.want) || test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("%s: %v, want %q", test.text, err, test.want)
		}
		if strings.HasSuffix(test.want, "race") && strings.Contains(err.Error(), "groups") {
			t.Errorf("the hint names groups that the rows do not have: %v", err)
		}
	}
	p, _ := many(100)()
	if s := systemOf(t, p, "gap(error, u) <= 0.1"); len(s.Bounds) != 100*99 {
		t.Errorf("%d inequalities for 100 groups", len(s.Bounds))
	}
	for n, want := range map[int]string{12: `u="value 11"] (1 row)`, 13: "and 1 others"} {
		p, _ := many(n)()
		p.Attributes[0].Values = append(p.Attributes[0].Values, "large", "larger")
		for i := range 4 {
			p.Labels, p.Attributes[0].Of = append(p.Labels, 1), append(p.Attributes[0].Of, n+i/2)
		}
		s := systemOf(t, p, "gap(tpr, u, min 2) <= 0.1")
		if len(s.Notes) != 1 || !strings.HasSuffix(s.Notes[0], want) || strings.Contains(s.Notes[0], "value 12") {
			t.Errorf("%d small groups: %q, want %q", n, s.Notes, want)
		}
	}
}

// TestPlaceOfErrors checks the position of an error in the text.
func TestPlaceOfErrors(t *testing.T) {
	p, _ := people()
	for text, at := range map[string]int{"gap(fpr, 0.1) <= 0.1": 9, `fpr["*"=*] <= 0.1`: 4, "fpr[no, yes] <= 0.1": 8, "fpr <= 5": 7} {
		c, err := constraints.Parse(text)
		if err != nil {
			c = constraints.FPR().AtMost(5)
		}
		_, err = constraints.NewSystem(constraints.Error(), []constraints.Constraint{c}, p)
		var e *constraints.SyntaxError
		if !errors.As(err, &e) || e.At != at {
			t.Errorf("%s: %+v, want an error at %d", text, e, at)
		}
	}
	e := &constraints.SyntaxError{Text: "a\tb\nc\rd", At: 6, Problem: "what"}
	if e.Caret() != "a b c d\n      ^" || e.Detail() != "column 7: what" {
		t.Errorf("%q, %q", e.Caret(), e.Detail())
	}
	for _, text := range []string{"fpr[sex=Male, sex=Female] <= 0.1", `fpr[a "," b] <= 0.1`} {
		if _, err := constraints.Parse(text); !errors.Is(err, constraints.ErrSyntax) {
			t.Errorf("%s: %v", text, err)
		}
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
	sample, err := named.On(other)
	if err != nil {
		t.Fatal(err)
	}
	if rows := sample.Rows(); rows[1] != 0 {
		t.Errorf("%d rows of race a, want 0", rows[1])
	}
}
