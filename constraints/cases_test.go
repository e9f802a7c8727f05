package constraints_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/internal/require"
)

// TestLanguage reads the texts of testdata/language.txt.
//
//	canonical   the common canonical text of constraints, which is read back as the same constraint
//	refuse      the error for a constraint
//	refuse-rate, refuse-measure   the errors of ParseRate and ParseMeasure
func TestLanguage(t *testing.T) {
	require.Cases(t, "testdata/language.txt", func(t *testing.T, c *require.Case) string {
		text := strings.TrimSuffix(c.Input, "\n")
		var err error
		switch c.Command {
		case "canonical":
			return canonical(t, strings.Split(text, "\n"))
		case "refuse":
			_, err = constraints.Parse(text)
		case "refuse-rate":
			_, err = constraints.ParseRate(text)
		case "refuse-measure":
			var m constraints.Measure
			if m, err = constraints.ParseMeasure(text); m != (constraints.Measure{}) {
				t.Errorf("the error comes with the measure %v", m)
			}
		default:
			t.Fatal("unknown command")
		}
		return refusal(t, err)
	})
}

// canonical returns the canonical text that all texts have.
func canonical(t *testing.T, texts []string) string {
	t.Helper()
	first := require.Value(constraints.Parse(texts[0]))(t)
	for _, text := range append(texts, first.String()) {
		if c, err := constraints.Parse(text); err != nil || c != first {
			t.Errorf("%q is %+v, %v, want %+v", text, c, err, first)
		}
	}
	if m, err := constraints.ParseMeasure(first.Measure().String()); err != nil || m != first.Measure() {
		t.Errorf("ParseMeasure(%q) is %v, %v", first.Measure(), m, err)
	}
	return first.String()
}

// refusal shows an error: the text with a mark below the column, and the problem with the hint.
func refusal(t *testing.T, err error) string {
	t.Helper()
	var e *constraints.SyntaxError
	switch {
	case err == nil:
		return "no error"
	case errors.Is(err, constraints.ErrEmptyGroup):
		return "empty group: " + err.Error()
	case errors.Is(err, constraints.ErrNotLinear):
		return "not linear: " + err.Error()
	case !errors.As(err, &e):
		return err.Error()
	}
	if !errors.Is(err, constraints.ErrSyntax) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%q is not one line, or not ErrSyntax", err)
	}
	return e.Caret() + "\n" + e.Detail()
}

// rowsOf returns the rows and decisions that a case names.
func rowsOf(t *testing.T, c *require.Case) (*constraints.Population, []int) {
	t.Helper()
	p, decisions := people()
	switch c.Arg("rows") {
	case "people":
	case "people-without-groups":
		p.Groups = nil
	case "people-with-boss":
		p.Attributes = append(p.Attributes, constraints.Attribute{Name: "boss", Values: []string{"Male", "yes"}, Of: make([]int, 10)})
	case "clothes":
		return clothes()
	case "bare":
		p, decisions = &constraints.Population{Labels: []int{0, 1}, Classes: []string{"no", "yes"}}, nil
	case "folders": // two folders of pictures
		p, decisions = &constraints.Population{Labels: []int{0, 1, 0, 1}, Classes: []string{"class=cat", "class=dog"},
			Attributes: []constraints.Attribute{{Name: "camera", Values: []string{"dog", "old"}, Of: []int{0, 0, 1, 0}}}}, []int{0, 1, 1, 0}
	case "names": // that differ in the case of letters only, or are words of the language
		p = &constraints.Population{
			Labels: []int{0, 1, 0, 1}, Classes: []string{"no", "yes"},
			Attributes: []constraints.Attribute{
				{Name: "u", Values: []string{"bb", "bB", "a", "A"}, Of: []int{2, 3, 0, 1}},
				{Name: "class", Values: []string{"upper", "lower"}, Of: []int{0, 0, 1, 1}},
				{Name: "groups", Values: []string{"p", "q"}, Of: []int{0, 1, 1, 1}},
			},
			Groups: []constraints.Group{{Name: "young", Rows: []int{0}}},
		}
	default: // of an attribute u with values of two rows each
		var values, large int
		if n, _ := fmt.Sscanf(c.Arg("rows"), "%d-values-and-%d-large", &values, &large); n == 0 {
			t.Fatalf("unknown rows %q", c.Arg("rows"))
		}
		p = &constraints.Population{Classes: []string{"no", "yes"}, Attributes: []constraints.Attribute{{Name: "u"}}}
		u := &p.Attributes[0]
		for k := range values + large {
			u.Values = append(u.Values, fmt.Sprintf("value %d", k))
			labels := []int{0, 1}
			if k >= values {
				labels = []int{1, 1}
			}
			p.Labels, u.Of = append(p.Labels, labels...), append(u.Of, k, k)
		}
	}
	return p, decisions
}

// TestSystems makes systems of the constraints in testdata/systems.txt.
//
//	refuse   the error
//	names    the names of the elementary rates, the number of inequalities, the rows of the smallest
//	         cells, and the notes
//	count    the counted value of each constraint, in a system of its own, with its state, its
//	         tolerance, what is beyond its bound and the counts of its rates
//
// Arguments: rows, see rowsOf; minimize=RATE, the error by default.
func TestSystems(t *testing.T) {
	require.Cases(t, "testdata/systems.txt", func(t *testing.T, c *require.Case) string {
		p, decisions := rowsOf(t, c)
		var subject []constraints.Constraint
		for line := range strings.Lines(c.Input) {
			subject = append(subject, parsed(t, strings.TrimSpace(line))...)
		}
		minimize := constraints.Error()
		if text := c.Arg("minimize"); text != "" {
			var err error
			if minimize, err = constraints.ParseObjective(text); err != nil {
				return refusal(t, err)
			}
		}
		var b strings.Builder
		switch c.Command {
		case "refuse":
			_, err := constraints.NewSystem(minimize, subject, p)
			return refusal(t, err)
		case "names":
			s := require.Value(constraints.NewSystem(minimize, subject, p))(t)
			for _, r := range s.Rates {
				fmt.Fprintln(&b, r.Name)
			}
			fmt.Fprintf(&b, "%d inequalities\n", len(s.Bounds))
			for j := range subject {
				fmt.Fprintf(&b, "the smallest cell of %s has %d rows\n", subject[j], s.SmallestCell(j))
			}
			for _, note := range s.Notes {
				fmt.Fprintln(&b, note)
			}
		case "count":
			for j, one := range subject {
				s := require.Value(constraints.NewSystem(minimize, []constraints.Constraint{one}, p))(t)
				counted := count(t, s, p, decisions)
				if j == 0 {
					fmt.Fprintf(&b, "%s (minimised): %.4g\n", minimize, counted.Objective.Value)
				}
				fmt.Fprintln(&b, countedText(t, s, counted))
			}
		default:
			t.Fatal("unknown command")
		}
		return b.String()
	})
}

// countedText describes the only constraint of a system.
func countedText(t *testing.T, s *constraints.System, c constraints.Counted) string {
	t.Helper()
	v, j := c.Values[0], c.Judge(0)
	if !v.Defined {
		t.Errorf("%v has no value", s.Subject[0])
	}
	if got := s.SmoothValue(0, c.Terms); !(got-v.Value <= 1e-15 && v.Value-got <= 1e-15) {
		t.Errorf("%v: the smooth value of the counted rates is %v, want %v", s.Subject[0], got, v.Value)
	}
	text := fmt.Sprintf("%s: %.4g, %s, tolerance %.4g", s.Subject[0], v.Value, j.State, j.Tolerance)
	if j.Exceeded != nil {
		text += fmt.Sprintf(", beyond by %.4g in %s", j.Exceeded.By, strings.Join(j.Exceeded.Groups, " and "))
	}
	for _, r := range v.Rates {
		text += fmt.Sprintf("; %s ", r.Name)
		if r.Parts == nil {
			text += fmt.Sprintf("%d/%d", r.Hits, r.Rows)
		} else {
			text += fmt.Sprint(r.Constant)
		}
		for _, p := range r.Parts {
			text += fmt.Sprintf("%+.1f*%d/%d", p.Coefficient, p.Hits, p.Rows)
		}
	}
	return text
}

// parsed returns the constraints of the texts.
func parsed(t *testing.T, texts ...string) (list []constraints.Constraint) {
	t.Helper()
	for _, text := range texts {
		c := require.Value(constraints.Parse(text))(t)
		list = append(list, c)
	}
	return list
}

// TestMostGroups checks that a gap compares up to 100 groups; testdata/systems.txt has 101.
func TestMostGroups(t *testing.T) {
	p, _ := rowsOf(t, &require.Case{Args: []string{"rows=100-values-and-0-large"}})
	if s := systemOf(t, p, "gap(error, u) <= 0.1"); len(s.Bounds) != 100*99 {
		t.Errorf("%d inequalities for 100 groups", len(s.Bounds))
	}
}
