package constraints_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/internal/require"
)

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
