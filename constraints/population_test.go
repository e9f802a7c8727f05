package constraints_test

import (
	"strings"
	"testing"

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
