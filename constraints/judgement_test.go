package constraints_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/internal/require"
)

// crowd returns rows of the groups a and b, each with rows of the classes p and q, and decisions:
// the rates of all kinds differ by about 0.4 between the groups, and between the classes. The class
// z and the group z have the given numbers of rows, with random decisions.
func crowd(rng *rand.Rand, classes []string, group, class int) (*constraints.Population, []int) {
	p := &constraints.Population{Classes: classes, Attributes: []constraints.Attribute{
		{Name: "grp", Values: []string{"a", "b", "z"}}, {Name: "half", Values: []string{"x", "y"}}}}
	var decisions []int
	add := func(label, group, decision int) {
		p.Labels = append(p.Labels, label)
		p.Attributes[0].Of = append(p.Attributes[0].Of, group)
		p.Attributes[1].Of = append(p.Attributes[1].Of, len(p.Labels)/4%2)
		decisions = append(decisions, decision)
	}
	for i := range 800 {
		label, of, decision := i%2, i/2%2, 0
		if wants := 0.5 - 0.2*float64(2*of-1); rng.Float64() < wants+0.4*float64(label)-0.2 {
			decision = 1
		}
		add(label, of, decision)
	}
	for range group {
		add(rng.IntN(2), 2, rng.IntN(len(classes)))
	}
	for range class {
		add(2, rng.IntN(2), rng.IntN(3))
	}
	return p, decisions
}

// TestTinyGroup adds a group or a class of a few rows to rows on which the decisions violate a
// constraint of every kind. The tolerance of the tiny group must not be the tolerance of the other
// groups: the constraint stays violated.
func TestTinyGroup(t *testing.T) {
	require.NoRace(t, "it starts no goroutines")
	for _, test := range []struct{ classes, texts string }{
		{"no yes", `error[grp=*] <= 0.2; accuracy[grp=*] >= 0.9; tpr[grp=*] >= 0.8; fnr[grp=*] <= 0.1; fpr[grp=*] <= 0.1; tnr[grp=*] >= 0.8;
			positive_rate[grp=*] <= 0.3; precision[grp=*] >= 0.95; error[grp=*, half=x] <= 0.2; fpr[grp=a] <= 0.1; error[grp=a, half=x] <= 0.1;
			gap(positive_rate, grp) <= 0.1; gap(tpr, grp) <= 0.05; gap(fpr, grp) <= 0; gap(fnr, grp*half) <= 0.1; gap(positive_rate[half=x], grp) <= 0.1;
			ratio(positive_rate, grp) >= 0.8; ratio(tpr, grp) >= 0.95; ratio(fpr, grp*half) >= 0.8; ratio(positive_rate, grp) >= 1;
			excess(positive_rate, grp) <= 0.05; excess(fnr, grp) <= 0.02; distance(positive_rate, grp) <= 0.05; distance(tpr, grp*half) <= 0.05;
			gap(loss, grp) <= 0.1; loss[grp=*] <= 0.6; gap(tpr, grp, min 2) <= 0.05; error[grp=*, min 2] <= 0.2`},
		{"p q z", `error[*] <= 0.1; recall[*] >= 0.9; accuracy[*] >= 0.9; fnr[*] <= 0.1; precision[*] >= 0.95; error[p] <= 0.1; recall[*, grp=a] >= 0.9;
			gap(recall[p], grp) <= 0.05; gap(error, grp) <= 0; ratio(recall[q], grp) >= 0.95; excess(recall[p], grp) <= 0.02; distance(recall[q], grp) <= 0.02;
			error[grp=*] <= 0.1; recall[p, grp=*] >= 0.95`},
	} {
		classes := strings.Fields(test.classes)
		for _, text := range strings.Split(test.texts, ";") {
			text = strings.TrimSpace(text)
			violated := 0
			for seed := range uint64(8) {
				without, decisions := crowd(rand.New(rand.NewPCG(seed, 1)), classes, 0, 0)
				before := judged(t, without, decisions, text)
				if before.State != constraints.NotMet || !strings.Contains(text, "loss") && before.Exceeded.By < 0.03 {
					continue
				}
				violated++
				for rows := 1; rows < 5; rows++ {
					tiny := []int{rows, 0}
					if len(classes) > 2 && rows%2 == 0 {
						tiny = []int{0, rows}
					}
					with, decisions := crowd(rand.New(rand.NewPCG(seed, 1)), classes, tiny[0], tiny[1])
					if after := judged(t, with, decisions, text); after.State != constraints.NotMet {
						t.Fatalf("%s: %+v, and with %v rows of a tiny group or class %+v", text, before, tiny, after)
					}
				}
			}
			if violated < 3 {
				t.Errorf("%s: violated in %d of 8 samples: the test checks nothing", text, violated)
			}
		}
	}
}

// judged judges one constraint. The loss of a row is its decision.
func judged(t *testing.T, p *constraints.Population, decisions []int, text string) constraints.Judgement {
	t.Helper()
	s := systemOf(t, p, text)
	sample := require.Value(s.On(p))(t)
	smooth := make([]float64, s.Terms())
	for k := range smooth {
		rows, _ := sample.Targets(k)
		for _, i := range rows {
			smooth[k] += float64(decisions[i]) / float64(len(rows))
		}
	}
	c := require.Value(sample.CountWith(decisions, smooth))(t)
	return c.Judge(0)
}

// TestJudge checks each state, the tolerance in the unit of the value, the inequality and the
// advice at decisions counted by hand.
func TestJudge(t *testing.T) {
	// accepted[k] of rows[k] rows of group k are decided positive; all rows are negative but one.
	judge := func(text string, accepted, rows []int) constraints.Judgement {
		p := &constraints.Population{Classes: []string{"no", "yes"}, Labels: []int{1},
			Attributes: []constraints.Attribute{{Name: "g", Values: []string{"a", "b", "c"}[:len(rows)], Of: []int{-1}}}}
		decisions := []int{1}
		for k, n := range rows {
			for i := range n {
				p.Labels, p.Attributes[0].Of = append(p.Labels, 0), append(p.Attributes[0].Of, k)
				decisions = append(decisions, 0)
				if i < accepted[k] {
					decisions[len(decisions)-1] = 1
				}
			}
		}
		return judged(t, p, decisions, text)
	}
	type counts []int
	for _, test := range []struct {
		text           string
		accepted, rows counts
		state          constraints.State
		tolerance      float64
		groups         string
		advice         string
	}{
		{"gap(fpr, g) <= 0.1", counts{10, 20}, counts{100, 100}, constraints.Met, 0.01, "", ""},
		{"gap(fpr, g) <= 0.1", counts{10, 21}, counts{100, 100}, constraints.MetToOneRow, 0.01, "g=b g=a", ""},
		{"gap(fpr, g) <= 0.1", counts{10, 22}, counts{100, 100}, constraints.NotMet, 0.01, "g=b g=a", ""},
		// a fifth of the bound is 0.02, a row of 50
		{"gap(fpr, g) <= 0.1", counts{5, 21}, counts{50, 100}, constraints.MetToOneRow, 0.02, "g=b g=a", ""},
		{"gap(fpr, g) <= 0.1", counts{5, 23}, counts{49, 100}, constraints.NotMet, 1. / 49, "g=b g=a", ""},
		{"gap(fpr, g) <= 0.1", counts{4, 19, 20}, counts{49, 100, 100}, constraints.NotJudged, 1. / 49, "g=c g=a",
			"cannot be judged: group g=a has 49 rows; use min 50"},
		{"gap(fpr, g) <= 0.1", counts{4, 19}, counts{49, 100}, constraints.NotJudged, 1. / 49, "g=b g=a", // one group remains
			"cannot be judged: group g=a has 49 rows; use more rows or a looser bound"},
		{"gap(fpr, g) <= 0.1", counts{4, 14}, counts{49, 100}, constraints.Met, 1. / 49, "", ""},
		// the resolution is 0.005, a row of 200
		{"gap(fpr, g) <= 0", counts{10, 11}, counts{200, 200}, constraints.MetToOneRow, 0.005, "g=b g=a", ""},
		{"gap(fpr, g) <= 0", counts{11, 11}, counts{199, 200}, constraints.NotJudged, 1. / 199, "g=a g=b",
			"cannot be judged: group g=a has 199 rows; use more rows or a looser bound"},
		// 4 of 143 against 6 of 157: a row changes the ratio by 0.18
		{"ratio(fpr, g) >= 0.9", counts{4, 6, 6}, counts{143, 157, 157}, constraints.NotJudged, 157. / 143 / 6, "g=a g=b",
			"cannot be judged: group g=a has 143 rows; use more rows or a looser bound"},
		{"ratio(fpr, g) >= 0.9", counts{89, 100}, counts{100, 100}, constraints.MetToOneRow, 0.01, "g=a g=b", ""},
		{"ratio(fpr, g) >= 0.9", counts{88, 100}, counts{100, 100}, constraints.NotMet, 0.01, "g=a g=b", ""},
		{"fpr[g=*] <= 0.2", counts{40, 1}, counts{200, 4}, constraints.NotJudged, 0.25, "g=b", "cannot be judged: group g=b has 4 rows; use min 25"},
		{"fpr[g=*] <= 0.2", counts{42, 1}, counts{200, 4}, constraints.NotMet, 0.005, "g=a", ""},
		{"fpr[g=*] <= 0.2", counts{41, 0}, counts{200, 4}, constraints.MetToOneRow, 0.005, "g=a", ""},
		{"fpr[g=b] <= 0.2", counts{40, 1}, counts{200, 4}, constraints.NotJudged, 0.25, "g=b",
			"cannot be judged: group g=b has 4 rows; use more rows or a looser bound"},
		{"excess(fpr, g) <= 0.1", counts{40, 50}, counts{200, 96}, constraints.NotMet, 1. / 96, "g=b all rows", ""},
		{"distance(fpr, g) <= 0.05", counts{3, 100}, counts{9, 1000}, constraints.NotMet, 1. / 9, "g=a all rows", ""},
		{"distance(fpr, g) <= 0.05", counts{1, 50, 50}, counts{8, 1000, 1000}, constraints.NotJudged, 0.125, "g=a all rows",
			"cannot be judged: group g=a has 8 rows; use min 100"},
	} {
		got := judge(test.text, test.accepted, test.rows)
		if got.State != test.state || math.Abs(got.Tolerance-test.tolerance) > 1e-12 {
			t.Errorf("%s, %v of %v: %+v, want %s with tolerance %v", test.text, test.accepted, test.rows, got, test.state, test.tolerance)
		}
		switch e := got.Exceeded; {
		case (e != nil) != (test.groups != ""):
			t.Errorf("%s, %v of %v: exceeded %+v, want %q", test.text, test.accepted, test.rows, e, test.groups)
		case e == nil:
		case strings.Join(e.Groups, " ") != test.groups || test.advice != "" && e.Unjudged("row") != test.advice:
			t.Errorf("%s, %v of %v: %q, %q, want %q, %q", test.text, test.accepted, test.rows, e.Groups, e.Unjudged("row"), test.groups, test.advice)
		}
	}
}

// TestBoundGroups lists the groups with bounds and the intersections with their rows.
func TestBoundGroups(t *testing.T) {
	p, _ := people()
	s := systemOf(t, p, "gap(tpr, sex*race, min 1) <= 0.1", "excess(fnr[Female], race) <= 0.3", "error[sex=*] <= 0.2", "gap(loss, sex) <= 1", "fpr[sex=Male, race=b] <= 0.4")
	sample := require.Value(s.On(p))(t)
	groups := require.Value(sample.Intersections())(t)
	var names []string
	for _, g := range groups {
		names = append(names, g.Name)
		if g.Name == "race=a, sex=Female" && !slices.Equal(g.Rows, []int{0, 1}) {
			t.Errorf("%+v", g)
		}
	}
	list := s.BoundGroups()
	if len(list) != 3 || list[0].Rate != "tpr" || !slices.Equal(list[2].Groups, []string{"sex=Female", "sex=Male"}) || list[2].Rate != "error" {
		t.Errorf("%+v", list)
	}
	for _, name := range list[0].Groups {
		if !slices.Contains(names, name) {
			t.Errorf("%q is bounded, and not among %q", name, names)
		}
	}
}
