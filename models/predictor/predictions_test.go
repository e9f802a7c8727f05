package predictor_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/require"
	"ppal/models/predictor"
	"ppal/trainer/session/results"
)

// scored returns a table of 400 rows with labels, groups, a score, and the decisions of the score
// in several spellings; and the rows by hand.
func scored() (text string, truth, decided []bool, sex, race []string) {
	rng := rand.New(rand.NewPCG(5, 2))
	lines := []string{"sex,race,late,p,text,number,other,p_no,p_yes"}
	for range 400 {
		p, y := float64(rng.IntN(1000))/1000, rng.IntN(3) > 0
		d := p > 0.5
		sex, race = append(sex, []string{"F", "M"}[rng.IntN(2)]), append(race, []string{"a", "b", "c"}[rng.IntN(3)])
		truth, decided = append(truth, y), append(decided, d)
		word := map[bool]string{true: "yes", false: "no"}
		lines = append(lines, fmt.Sprintf("%s,%s,%s,%v,%s,%d,%s,%v,%v", sex[len(sex)-1], race[len(race)-1], word[y], p, word[d], indicatorInt(d),
			map[bool]string{true: "late", false: "in time"}[d], 1-p, p))
	}
	return strings.Join(lines, "\n") + "\n", truth, decided, sex, race
}

// Decisions in the label's texts, under a condition, or by scores are the same decisions, and every
// rate, difference, ratio and constraint is that of a count by hand.
func TestPredictions(t *testing.T) {
	text, truth, decided, sex, race := scored()
	file := write(t, text)
	gap := require.Value(constraints.Parse("gap(tpr, sex*race) <= 0.05"))(t)
	table := tabular.TableOptions{File: file, Label: "late=yes"}
	o := predictor.EvaluateOptions{By: []string{"sex", "sex*race"}, Subject: []constraints.Constraint{gap}}
	var first *predictor.Evaluation
	for _, p := range []predictor.Predictions{
		{TableOptions: table, Decision: "text"}, {TableOptions: table, Decision: "number=1"}, {TableOptions: table, Decision: "other=late"},
		{TableOptions: table, Decision: "other!=in time"}, {TableOptions: table, Decision: "p>0.5"},
		{TableOptions: table, Scores: []string{"p"}, Threshold: 0.5}, {TableOptions: table, Scores: []string{"p_no", "p_yes"}},
	} {
		e := require.Value(p.Evaluate(t.Context(), o))(t)
		if first == nil {
			first = e
		} else if !reflect.DeepEqual(first, e) {
			t.Errorf("%q %q differs", p.Decision, p.Scores)
		}
	}
	count := func(in func(i int) bool) map[string]float64 {
		var n, y, no, d, yd, nd, wrong float64
		for i := range truth {
			if !in(i) {
				continue
			}
			n++
			wrong += float64(indicatorInt(truth[i] != decided[i]))
			d += float64(indicatorInt(decided[i]))
			if truth[i] {
				y++
				yd += float64(indicatorInt(decided[i]))
			} else {
				no++
				nd += float64(indicatorInt(decided[i]))
			}
		}
		return map[string]float64{"positive_rate": d / n, "tpr": yd / y, "fpr": nd / no, "precision": yd / d, "error": wrong / n}
	}
	same := func(what string, got, want float64) {
		if !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	for rate, want := range count(func(int) bool { return true }) {
		same(rate, first.Rates.Overall[rate].Value, want)
	}
	groups := map[string]map[string]float64{}
	for _, g := range first.Rates.ByGroup {
		groups[g.Group] = count(func(i int) bool {
			return !slices.ContainsFunc(strings.Split(g.Group, ", "), func(part string) bool { return part != "sex="+sex[i] && part != "race="+race[i] })
		})
		for rate, want := range groups[g.Group] {
			same(g.Group+" "+rate, g.Rates[rate].Value, want)
		}
	}
	if len(groups) != 2+3+6 || len(first.Comparisons) != 3*5 {
		t.Fatalf("%d groups, %d comparisons", len(groups), len(first.Comparisons))
	}
	parts := map[string]int{"sex": 1, "race": 1, "sex*race": 2}
	for _, c := range first.Comparisons {
		low, high := math.Inf(1), math.Inf(-1)
		for name, own := range groups {
			if n := strings.Count(name, ", ") + 1; n == parts[c.Groups] && (n == 2 || strings.HasPrefix(name, c.Groups+"=")) {
				low, high = min(low, own[c.Rate]), max(high, own[c.Rate])
			}
		}
		same(c.Groups+" difference of "+c.Rate, c.Difference.Value, high-low)
		same(c.Groups+" ratio of "+c.Rate, c.Ratio.Value, low/high)
		same(c.Largest, groups[c.Largest][c.Rate], high)
		same(c.Smallest, groups[c.Smallest][c.Rate], low)
		if i, r := c.Difference.Interval, c.Ratio.Interval; i[0] > high-low || i[1] < high-low || r[0] > low/high || r[1] < low/high {
			t.Errorf("%+v: an interval without its value", c)
		}
		if c.Groups == "sex*race" && c.Rate == "tpr" {
			same("the constraint", *first.Constraints[0].Value, high-low)
		}
	}
}

// Rows without a value are left out with --missing drop, and are a group with flag; other wrong
// files and options are errors of their kind.
func TestPredictionsOfOtherFiles(t *testing.T) {
	file := write(t, "g,y,d,x\na,1,1,0.5\na,0,0,0.5\n,1,0,0.5\nb,0,1,\nb,1,,0.5\nb,1,1,0.5\n")
	table := tabular.TableOptions{File: file, Label: "y"}
	by := predictor.EvaluateOptions{By: []string{"g"}}
	drop := table
	drop.Missing = tabular.MissingDropped
	e, err := (&predictor.Predictions{TableOptions: drop, Decision: "d"}).Evaluate(t.Context(), by)
	if err != nil || e.Rows != 5 || e.LeftOut != 1 || len(e.Rates.ByGroup) != 2 || e.Rates.Overall["error"].Value != 0.4 {
		t.Errorf("%+v, %v", e, err)
	}
	impute, three := table, tabular.TableOptions{File: write(t, "y,d\na,b\nb,b\nc,a\nc,c\n"), Label: "y"}
	impute.Missing = tabular.MissingImputed
	if e, err := (&predictor.Predictions{TableOptions: three, Decision: "d"}).Evaluate(t.Context(), predictor.EvaluateOptions{}); err != nil ||
		!reflect.DeepEqual(e.Confusion, [][]float64{{0, 1, 0}, {0, 1, 0}, {1, 0, 1}}) {
		t.Errorf("%+v, %v", e, err)
	}
	for _, test := range []struct {
		p    predictor.Predictions
		want error
		text string
	}{
		{predictor.Predictions{TableOptions: table, Decision: "d"}, dataerr.ErrMissing, "line 6"},
		{predictor.Predictions{TableOptions: impute, Decision: "d"}, dataerr.ErrOption, "drop"},
		{predictor.Predictions{TableOptions: table}, dataerr.ErrOption, "--decision"},
		{predictor.Predictions{TableOptions: table, Decision: "d", Scores: []string{"x"}}, dataerr.ErrOption, "either"},
		{predictor.Predictions{TableOptions: table, Decision: "y"}, dataerr.ErrOption, "both"},
		{predictor.Predictions{TableOptions: drop, Decision: "none"}, dataerr.ErrColumn, "none"},
		{predictor.Predictions{TableOptions: drop, Decision: "g"}, dataerr.ErrLabel, "--decision g=VALUE"},
		{predictor.Predictions{TableOptions: three, Decision: "d=b"}, dataerr.ErrLabel, "--label COLUMN=VALUE"},
		{predictor.Predictions{TableOptions: three, Scores: []string{"d"}}, dataerr.ErrColumn, "d"},
	} {
		o := by
		if test.p.File == three.File {
			o.By = nil
		}
		if _, err := test.p.Evaluate(t.Context(), o); !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) || strings.Contains(err.Error(), "\n ") {
			t.Errorf("%q %q: %v, want %v with %q", test.p.Decision, test.p.Scores, err, test.want, test.text)
		}
	}
	loss := require.Value(constraints.Parse("loss <= 1"))(t)
	o := predictor.EvaluateOptions{Subject: []constraints.Constraint{loss}}
	if e, err := (&predictor.Predictions{TableOptions: drop, Decision: "d"}).Evaluate(t.Context(), o); err != nil || !strings.Contains(e.Constraints[0].Reason, "need the model") {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestEvaluateIntersections lists the intersections with a bound and those of By. The rows of an
// intersection are those of both attributes. The largest and the smallest rates of a bound are
// marked.
func TestEvaluateIntersections(t *testing.T) {
	text := strings.ReplaceAll(people(3000), ",NA,", ",baker,")
	m := constrained(t, write(t, text), "gap(positive_rate, job*age<40) <= 0.5")
	e := require.Value(m.Evaluate(strings.NewReader(text), "people", predictor.EvaluateOptions{By: []string{"job*age<30"}}))(t)
	rows, marks := map[string]int{}, map[string]int{}
	for _, g := range e.Rates.ByGroup {
		if rows[g.Group] > 0 {
			t.Errorf("%s is listed twice", g.Group)
		}
		rows[g.Group] = g.Rows
		for rate, mark := range g.Extremes {
			marks[rate+" "+string(mark)]++
			if !strings.Contains(g.Group, "age<40") || !strings.Contains(g.Group, "job=") {
				t.Errorf("%s has no bound, and is marked as the %s", g.Group, mark)
			}
		}
	}
	if marks["positive_rate largest"] != 1 || marks["positive_rate smallest"] == 0 || len(marks) != 2 {
		t.Errorf("marks %v", marks)
	}
	for _, condition := range []string{"age<40", "age<30"} {
		sum := 0
		for name, n := range rows {
			if strings.HasPrefix(name, condition+", job=") {
				sum += n
			}
		}
		if sum != rows[condition] || sum == 0 || rows[condition+", job=clerk"] == 0 {
			t.Errorf("%s has %d rows, its intersections %d: %v", condition, rows[condition], sum, rows)
		}
	}
	for _, by := range []string{`"age<25"`, "age<25"} { // quotes are for names with commas or stars
		e, err := m.Evaluate(strings.NewReader(text), "people", predictor.EvaluateOptions{By: []string{by}})
		if err != nil || !slices.ContainsFunc(e.Rates.ByGroup, func(g results.GroupRates) bool { return g.Group == "age<25" }) {
			t.Errorf("%s: %v", by, err)
		}
	}
	for _, by := range []string{"job*", "job*job", `"job`, `"job" "age"`, "*"} { // as in a bound
		var of, syntax *constraints.SyntaxError
		_, err := constraints.Parse("gap(error, " + by + ") <= 1")
		if _, got := m.Evaluate(strings.NewReader(text), "people", predictor.EvaluateOptions{By: []string{by}}); !errors.As(got, &syntax) || !errors.As(err, &of) {
			t.Errorf("%s: %v, and in a bound %v", by, got, err)
		}
	}
}
