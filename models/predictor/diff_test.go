package predictor_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/require"
	"ppal/models/predictor"
	"ppal/trainer/session"
)

// The changes, the rates before and after and the constraints are those of a count by hand, whether
// the rows are paired by place or by a key in another order; rows without a partner do not count.
func TestDiff(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 7))
	type person struct {
		id, sex        string
		label, old, is string
	}
	yes := func() string { return []string{"no", "yes"}[rng.IntN(2)] }
	var people []person
	for i := range 300 {
		people = append(people, person{fmt.Sprint("id", i), []string{"F", "M"}[rng.IntN(2)], yes(), yes(), yes()})
	}
	table := func(order []int, decision func(p person) string) predictor.Predictions {
		text := "id,sex,y,d\n"
		for _, i := range order {
			p := people[i]
			text += strings.Join([]string{p.id, p.sex, p.label, decision(p)}, ",") + "\n"
		}
		return predictor.Predictions{TableOptions: tabular.TableOptions{File: write(t, text), Label: "y=yes"}, Decision: "d"}
	}
	inOrder := make([]int, len(people))
	for i := range inOrder {
		inOrder[i] = i
	}
	old := table(inOrder, func(p person) string { return p.old })
	var subject []constraints.Constraint
	for _, text := range []string{"churn(before) <= 0.1", "gap(tpr, sex) <= 0.9"} {
		c := require.Value(constraints.Parse(text))(t)
		subject = append(subject, c)
	}
	for _, test := range []struct {
		key   string
		order []int
	}{{"", inOrder}, {"id", inOrder}, {"id", rng.Perm(len(people))[:250]}} {
		now := table(test.order, func(p person) string { return p.is })
		before := require.Value(old.Decide(t.Context(), predictor.EvaluateOptions{}, test.key))(t)
		after := require.Value(now.Decide(t.Context(), predictor.EvaluateOptions{By: []string{"sex"}, Subject: subject}, test.key))(t)
		d := require.Value(predictor.Diff(before, after, subject))(t)
		count := func(of func(p person) bool) (n int) {
			for _, i := range test.order {
				n += indicatorInt(of(people[i]))
			}
			return n
		}
		for _, c := range d.Changed {
			in := func(p person) bool { return c.Group == "" || c.Group == "sex="+p.sex }
			want := []int{count(in), count(func(p person) bool { return in(p) && p.old != p.is }), count(func(p person) bool { return in(p) && p.old == "no" && p.is == "yes" }),
				count(func(p person) bool { return in(p) && p.old != p.label && p.is == p.label }), count(func(p person) bool { return in(p) && p.old == p.label && p.is != p.label })}
			if got := []int{c.Rows, c.Count, c.Positive, c.Corrected, c.Spoiled}; !slices.Equal(got, want) || c.Churn != float64(want[1])/float64(want[0]) {
				t.Errorf("%q: %v, want %v", c.Group, got, want)
			}
		}
		for _, r := range d.Rates {
			in := func(p person) bool { return r.Group == "" || r.Group == "sex="+p.sex }
			share := func(decision func(p person) string) float64 {
				hit, of := func(p person) bool { return decision(p) == "yes" }, in
				switch r.Rate {
				case "tpr":
					of = func(p person) bool { return in(p) && p.label == "yes" }
				case "fpr":
					of = func(p person) bool { return in(p) && p.label == "no" }
				case "error":
					hit = func(p person) bool { return decision(p) != p.label }
				case "precision":
					hit, of = func(p person) bool { return p.label == "yes" }, func(p person) bool { return in(p) && decision(p) == "yes" }
				}
				return float64(count(func(p person) bool { return of(p) && hit(p) })) / float64(count(of))
			}
			was, is := share(func(p person) string { return p.old }), share(func(p person) string { return p.is })
			if r.Before != was || r.After != is || r.Difference != is-was || r.Interval[0] >= is-was || r.Interval[1] <= is-was {
				t.Errorf("%+v, want %v and %v", r, was, is)
			}
		}
		if len(d.Changed) != 3 || len(d.Rates) != 15 || len(d.List) != d.Changed[0].Count || d.Unpaired != [2]int{300 - len(test.order), 0} {
			t.Errorf("%d groups, %d rates, %d rows, %v without a partner", len(d.Changed), len(d.Rates), len(d.List), d.Unpaired)
		}
		if r := d.List[0]; "y="+people[test.order[r.Row-1]].is != r.After || test.key != "" && r.Key != people[test.order[r.Row-1]].id {
			t.Errorf("%+v", r)
		}
		if *d.Constraints[0].Value != d.Changed[0].Churn || *d.Constraints[0].Met || !*d.Constraints[1].Met || *d.Before[0].Value != 0 {
			t.Errorf("%+v", d.Constraints)
		}
	}
	// Rows that are no partners are refused in one line.
	shifted := table(append(inOrder[1:], 0), func(p person) string { return p.is })
	fewer := table(inOrder[:299], func(p person) string { return p.is })
	for _, test := range []struct {
		p   predictor.Predictions
		key string
	}{{shifted, ""}, {fewer, ""}, {shifted, "sex"}} {
		before := require.Value(old.Decide(t.Context(), predictor.EvaluateOptions{}, ""))(t)
		after, err := test.p.Decide(t.Context(), predictor.EvaluateOptions{}, test.key)
		if err == nil {
			_, err = predictor.Diff(before, after, nil)
		}
		if !errors.Is(err, dataerr.ErrMismatch) || !strings.Contains(err.Error(), "--key") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v", err)
		}
	}
}

// Two runs decide the same rows; the rows that are chosen are those that count.
func TestDiffOfRuns(t *testing.T) {
	text := strings.ReplaceAll(people(600), ",NA,", ",baker,")
	source := session.CSV(write(t, text), "member")
	source.Ignore, source.Missing = []string{"id"}, tabular.MissingImputed
	first, _ := train(t, source, session.Decisions{})
	bound := require.Value(constraints.Parse("positive_rate <= 0.2"))(t)
	second, _ := train(t, source, session.Decisions{SubjectTo: []constraints.Constraint{bound}})
	decide := func(dir string, only []int) *predictor.Decided {
		return require.Value(load(t, dir).DecideRows(strings.NewReader(text), "people", predictor.EvaluateOptions{By: []string{"job"}}, only))(t)
	}
	only := []int{3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377}
	d, err := predictor.Diff(decide(first, only), decide(second, only), nil)
	if err != nil || d.Rows != len(only) {
		t.Fatal(d, err)
	}
	all, err := predictor.Diff(decide(first, nil), decide(second, nil), nil)
	if err != nil || all.Rows != 600 || all.Changed[0].Count == 0 {
		t.Fatal(all, err)
	}
	for _, r := range d.List {
		if !slices.Contains(only, r.Row-1) || !slices.Contains(all.List, r) {
			t.Errorf("%+v", r)
		}
	}
	if _, err := load(t, first).DecideRows(strings.NewReader(text), "people", predictor.EvaluateOptions{}, []int{600}); !errors.Is(err, dataerr.ErrEmpty) {
		t.Error(err)
	}
}
