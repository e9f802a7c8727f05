package constraints_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ppal/constraints"
	"ppal/internal/require"
)

// people returns ten rows with decisions that the tests count by hand.
//
//	row       0 1 2 3 4 5 6 7 8 9
//	label     + + + - - - + + - -
//	decision  + - + + - - + + + -
//	sex       F F F F F M M M M M
//	race      a a b b - a a b b c
//	before    + + + - - - - + + .
//	young     x x x . . x x . . .
//	north     . . x x x x . . . .
func people() (*constraints.Population, []int) {
	return &constraints.Population{
		Labels:  []int{1, 1, 1, 0, 0, 0, 1, 1, 0, 0},
		Classes: []string{"no", "yes"},
		Attributes: []constraints.Attribute{
			{Name: "sex", Values: []string{"Female", "Male"}, Of: []int{0, 0, 0, 0, 0, 1, 1, 1, 1, 1}},
			{Name: "race", Values: []string{"a", "b", "c"}, Of: []int{0, 0, 1, 1, -1, 0, 0, 1, 1, 2}},
		},
		Groups:  []constraints.Group{{Name: "young", Rows: []int{0, 1, 2, 5, 6}}, {Name: "north", Rows: []int{2, 3, 4, 5}}},
		Earlier: map[string][]int{"old.csv": {1, 1, 1, 0, 0, 0, 0, 1, 1, -1}},
	}, []int{1, 0, 1, 1, 0, 0, 1, 1, 1, 0}
}

// clothes returns eight rows of three classes.
//
//	row       0 1 2 3 4 5 6 7
//	label     s s s c c b b b
//	decision  s s c c s b b s
func clothes() (*constraints.Population, []int) {
	return &constraints.Population{
		Labels: []int{0, 0, 0, 1, 1, 2, 2, 2}, Classes: []string{"Shirt", "Coat", "Ankle boot"},
		Attributes: []constraints.Attribute{{Name: "shop", Values: []string{"x", "y"}, Of: []int{0, 1, 0, 1, 0, 1, 0, 1}}},
	}, []int{0, 0, 1, 1, 0, 2, 2, 0}
}

func count(t *testing.T, s *constraints.System, p *constraints.Population, decisions []int) constraints.Counted {
	t.Helper()
	sample := require.Value(s.On(p))(t)
	return require.Value(sample.Count(decisions))(t)
}

// TestObjectiveAndAcceptance counts the objective and the acceptance rates that a run reports.
func TestObjectiveAndAcceptance(t *testing.T) {
	p, decisions := people()
	for _, test := range []struct {
		minimize   constraints.Rate
		name       string
		hits, rows int
	}{
		{constraints.Error(), "error", 3, 10},
		{constraints.FNR(), "fnr", 1, 5},
		{constraints.FPR("Male"), "fpr[sex=Male]", 1, 3},
	} {
		s := require.Value(constraints.NewSystem(test.minimize, nil, p))(t)
		c := count(t, s, p, decisions)
		r := c.Objective.Rates[0]
		if r.Name != test.name || r.Hits != test.hits || r.Rows != test.rows || c.Objective.Value != float64(test.hits)/float64(test.rows) {
			t.Errorf("%v: %+v", test.minimize, c.Objective)
		}
		if !slices.Equal(c.Accepted, []float64{0.4, 0.6}) {
			t.Errorf("accepted %v", c.Accepted)
		}
	}
}

// TestInequalitiesAgainstBruteForce checks, for random rows and decisions, that the inequalities
// hold at the counted rates exactly when the user's constraint holds.
func TestInequalitiesAgainstBruteForce(t *testing.T) {
	require.NoRace(t, "the test starts no goroutine")
	rng := rand.New(rand.NewPCG(3, 4))
	kinds := []string{"positive_rate", "tpr", "fpr", "tnr", "fnr", "precision", "error", "accuracy", "balanced_error"}
	for trial := range 3000 {
		p := randomPopulation(rng)
		n := p.Len()
		decisions := make([]int, n)
		for i := range decisions {
			decisions[i] = rng.IntN(len(p.Classes))
		}
		kind := kinds[rng.IntN(len(kinds))]
		class := 1
		of := ""
		if len(p.Classes) > 2 || rng.IntN(2) == 0 {
			class = rng.IntN(len(p.Classes))
			of = fmt.Sprintf("[class=c%d]", class)
		}
		b := float64(rng.IntN(21)) / 20
		form := rng.IntN(6)
		var text string
		var values []float64
		add := func(member func(i int) bool) {
			if v, rows := bruteRate(p, decisions, kind, class, of != "", member); rows > 0 {
				values = append(values, v)
			}
		}
		sense := []string{"<=", ">="}[rng.IntN(2)]
		switch {
		case form == 0 || kind == "precision":
			text = fmt.Sprintf("%s%s %s %v", kind, of, sense, b)
			add(func(int) bool { return true })
		default:
			for v := range p.Attributes[0].Values {
				for w := range p.Attributes[1].Values {
					add(func(i int) bool { return p.Attributes[0].Of[i] == v && p.Attributes[1].Of[i] == w })
				}
			}
			if form == 5 {
				values = nil
				for _, g := range p.Groups {
					add(func(i int) bool { return slices.Contains(g.Rows, i) })
				}
			}
			text, sense = fmt.Sprintf("gap(%s%s, u*v) <= %v", kind, of, b), "<="
			if form == 2 {
				text, sense = fmt.Sprintf("ratio(%s%s, u*v) >= %v", kind, of, b), ">="
			}
			if form > 2 {
				text = fmt.Sprintf("%s(%s%s, %s) <= %v", []string{"excess", "distance", "distance"}[form-3], kind, of, []string{"u*v", "u*v", "groups"}[form-3], b)
			}
		}
		c := require.Value(constraints.Parse(text))(t)
		s, err := constraints.NewSystem(constraints.Error(), []constraints.Constraint{c}, p)
		if err != nil {
			if !errors.Is(err, constraints.ErrEmptyGroup) || len(values) > 1 || form > 2 && len(values) > 0 {
				t.Fatalf("trial %d: %s: %v, values %v", trial, text, err, values)
			}
			continue
		}
		if len(values) == 0 { // nobody is accepted: the precision is undefined, and its bound counts as met
			if counted := count(t, s, p, decisions); counted.Values[0].Defined || !counted.Judge(0).State.Holds() {
				t.Fatalf("%s: %+v", text, counted.Values[0])
			}
			continue
		}
		want := values[0]
		switch {
		case form == 1 && kind != "precision":
			want = slices.Max(values) - slices.Min(values)
		case form == 2 && kind != "precision":
			if want = 1; slices.Max(values) > 0 {
				want = slices.Min(values) / slices.Max(values)
			}
		case form > 2 && kind != "precision":
			all, _ := bruteRate(p, decisions, kind, class, of != "", func(int) bool { return true })
			want = slices.Max(values) - all
			if form > 3 {
				want = max(want, all-slices.Min(values))
			}
		}
		holds := want <= b+1e-12
		if sense == ">=" {
			holds = want >= b-1e-12
		}
		counted := count(t, s, p, decisions)
		if got := counted.Values[0]; !got.Defined || math.Abs(got.Value-want) > 1e-12 {
			t.Fatalf("trial %d: %s is %+v, want %v", trial, text, got, want)
		}
		if got := counted.Judge(0).Exceeded == nil; got != holds {
			t.Fatalf("trial %d: %s with value %v: the inequalities hold: %t\n%+v", trial, text, want, got, s.Bounds)
		}
		pairs := len(values) * (len(values) - 1)
		switch {
		case form == 0 || kind == "precision":
			pairs = 1
		case form == 3:
			pairs = len(values)
		case form > 3:
			pairs = 2 * len(values)
		}
		if len(s.Bounds) != pairs {
			t.Fatalf("%s: %d inequalities, want %d", text, len(s.Bounds), pairs)
		}
	}
}

// randomPopulation draws rows with 2 or 3 classes and two attributes with missing values.
func randomPopulation(rng *rand.Rand) *constraints.Population {
	n, k := 12+rng.IntN(40), 2+rng.IntN(2)
	p := &constraints.Population{}
	for c := range k {
		p.Classes = append(p.Classes, fmt.Sprintf("c%d", c))
	}
	p.Attributes = []constraints.Attribute{{Name: "u", Values: []string{"x", "y"}}, {Name: "v", Values: []string{"1", "2", "3"}}}
	for range n {
		p.Labels = append(p.Labels, rng.IntN(k))
		for a := range p.Attributes {
			p.Attributes[a].Of = append(p.Attributes[a].Of, rng.IntN(len(p.Attributes[a].Values)+1)-1)
		}
	}
	for g := range 3 {
		own := constraints.Group{Name: fmt.Sprintf("g%d", g)}
		for i := range n {
			if rng.IntN(3) == 0 {
				own.Rows = append(own.Rows, i)
			}
		}
		p.Groups = append(p.Groups, own)
	}
	return p
}

// bruteRate computes a rate from its definition.
func bruteRate(p *constraints.Population, decisions []int, kind string, class int, selected bool, member func(i int) bool) (value float64, rows int) {
	if kind == "balanced_error" {
		fpr, negatives := bruteRate(p, decisions, "fpr", class, selected, member)
		fnr, positives := bruteRate(p, decisions, "fnr", class, selected, member)
		return (fpr + fnr) / 2, min(negatives, positives)
	}
	hits := 0
	for i, y := range p.Labels {
		if !member(i) {
			continue
		}
		d := decisions[i]
		in, hit := true, false
		switch kind {
		case "positive_rate":
			hit = d == class
		case "tpr":
			in, hit = y == class, d == class
		case "fnr":
			in, hit = y == class, d != class
		case "fpr":
			in, hit = y != class, d == class
		case "tnr":
			in, hit = y != class, d != class
		case "precision":
			in, hit = d == class, y == class
		case "error":
			in, hit = !selected || y == class, d != y
		case "accuracy":
			in, hit = !selected || y == class, d == y
		}
		if in {
			rows++
			if hit {
				hits++
			}
		}
	}
	return float64(hits) / float64(max(1, rows)), rows
}
