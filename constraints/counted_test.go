package constraints_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/require"
)

// systemOf returns the system of the constraints with the objective error.
func systemOf(t *testing.T, p *constraints.Population, texts ...string) *constraints.System {
	t.Helper()
	var subject []constraints.Constraint
	for _, text := range texts {
		c := require.Value(constraints.Parse(text))(t)
		subject = append(subject, c)
	}
	return require.Value(constraints.NewSystem(constraints.Error(), subject, p))(t)
}

// TestCountWithSmoothValues checks that a loss and the l1 norm come from the smooth values, with
// their tolerances, and that the other rates come from the decisions.
func TestCountWithSmoothValues(t *testing.T) {
	p, decisions := people()
	s := systemOf(t, p, "loss <= 0.5", "l1(weights) <= 4", "tpr >= 0.8", "loss[race=*] <= 2", "l1(weights) <= 4.001")
	sample := require.Value(s.On(p))(t)
	// The rates are the agreement, the loss, tpr, the losses of race a, b and c, and the norm.
	smooth := []float64{9, 0.5009, 9, 1, 3, 2, 4.0041}
	c := require.Value(sample.CountWith(decisions, smooth))(t)
	if want := []float64{0.7, 0.5009, 0.8, 1, 3, 2, 4.0041}; !cmp.Equal(c.Terms, want) {
		t.Errorf("terms %v, want %v", c.Terms, want)
	}
	for j, want := range []struct {
		value, tolerance, excess float64
		state                    constraints.State
		sets                     int
	}{
		{0.5009, 0.001, 0.0009, constraints.MetToTolerance, 0},
		{4.0041, 0.004, 0.0041, constraints.NotMet, 0},
		{0.8, 0.2, 0, constraints.Met, 1},
		{3, 0.001, 1, constraints.NotMet, 0},
		{4.0041, 0.004001, 0.0031, constraints.MetToTolerance, 0},
	} {
		v := c.Values[j]
		if !v.Defined || math.Abs(v.Value-want.value) > 1e-15 || !(math.Abs(s.SmoothValue(j, c.Terms)-want.value) <= 1e-15) {
			t.Errorf("%v: %+v, and %v at the terms, want %v", s.Subject[j], v, s.SmoothValue(j, c.Terms), want.value)
		}
		got := c.Judge(j)
		if got.State != want.state || math.Abs(got.Tolerance-want.tolerance) > 1e-15 {
			t.Errorf("%v: %+v, want %s with tolerance %v", s.Subject[j], got, want.state, want.tolerance)
		}
		if (got.Exceeded != nil) != (want.excess > 0) || got.Exceeded != nil && math.Abs(got.Exceeded.By-want.excess) > 1e-12 {
			t.Errorf("%v: exceeded %+v, want by %v", s.Subject[j], got.Exceeded, want.excess)
		}
		if got := c.CountedSets(j); len(got) != want.sets || s.DependsOnLoss(j) != (want.sets == 0) {
			t.Errorf("%v: %d counted sets, depends on a loss: %t", s.Subject[j], len(got), s.DependsOnLoss(j))
		}
	}
	if sets := c.CountedSets(2); !cmp.Equal(sets, [][]constraints.CountedRate{{{Name: "tpr", Value: 0.8, Hits: 4, Rows: 5}}}) {
		t.Errorf("%+v", sets)
	}
	if _, err := sample.Count(decisions); !errors.Is(err, constraints.ErrNeedsSmooth) {
		t.Errorf("%v, want ErrNeedsSmooth", err)
	}
	if _, err := sample.CountWith(decisions, smooth[:6]); err == nil || !strings.Contains(err.Error(), "6 smooth values, want 7") {
		t.Errorf("%v", err)
	}
}

// TestCountRefuses checks that decisions must be as many as the rows and name a class.
func TestCountRefuses(t *testing.T) {
	p, decisions := people()
	sample := require.Value(systemOf(t, p).On(p))(t)
	for _, test := range []struct {
		decisions []int
		want      string
	}{
		{decisions[:9], "9 decisions for 10 rows"},
		{append(slices.Clone(decisions), 0), "11 decisions for 10 rows"},
		{slices.Replace(slices.Clone(decisions), 3, 4, -1), "row 3 has decision -1, want 0..1"},
		{slices.Replace(slices.Clone(decisions), 0, 1, 2), "row 0 has decision 2, want 0..1"},
	} {
		if _, err := sample.Count(test.decisions); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
}

// TestRowsToCount counts on rows that lack a group, a class or all accepted rows.
func TestRowsToCount(t *testing.T) {
	p, _ := people()
	some := func(labels, race []int) *constraints.Population {
		return &constraints.Population{Labels: labels, Classes: p.Classes,
			Attributes: []constraints.Attribute{{Name: "race", Values: []string{"a", "b", "c"}, Of: race}, {Name: "sex", Values: []string{"Female", "Male"}, Of: race}},
			Earlier:    map[string][]int{"old.csv": slices.Repeat([]int{-1}, len(labels))}}
	}
	three := some([]int{1, 1, 0}, []int{0, 0, 1})
	for _, test := range []struct {
		text      string
		rows      *constraints.Population
		decisions []int
		value     float64
		defined   bool
		tolerance float64
		excess    float64
		state     constraints.State
		rates     []constraints.CountedRate
	}{
		{"error[race=*] <= 0.1", three, []int{1, 0, 0}, 0.5, true, 0.5, 0.4, constraints.NotJudged, []constraints.CountedRate{
			{Name: "error[race=a]", Value: 0.5, Hits: 1, Rows: 2}, {Name: "error[race=b]", Rows: 1}, {Name: "error[race=c]"}}},
		{"accuracy[race=*] >= 0.9", three, []int{1, 0, 0}, 0.5, true, 0.5, 0.4, constraints.NotJudged, []constraints.CountedRate{
			{Name: "accuracy[race=a]", Value: 0.5, Hits: 1, Rows: 2}, {Name: "accuracy[race=b]", Value: 1, Hits: 1, Rows: 1}, {Name: "accuracy[race=c]"}}},
		{"fnr[sex=Male] <= 0.1", three, []int{1, 0, 1}, 0, false, 0, math.Inf(-1), constraints.NotJudged, []constraints.CountedRate{{Name: "fnr[sex=Male]"}}},
		{"precision >= 0.9", three, []int{0, 0, 0}, 0, false, 1. / 3, 0, constraints.Met, []constraints.CountedRate{{Name: "precision"}}},
		{"gap(tpr, sex) <= 0.1", three, []int{1, 0, 0}, 0, false, 0, math.Inf(-1), constraints.NotJudged, []constraints.CountedRate{
			{Name: "tpr[sex=Female]", Value: 0.5, Hits: 1, Rows: 2}, {Name: "tpr[sex=Male]"}}},
		{"ratio(tpr, sex) >= 0.5", some([]int{1, 1, 1, 0}, []int{0, 0, 1, 1}), []int{0, 0, 0, 1}, 1, true, 1, 0, constraints.Met, []constraints.CountedRate{
			{Name: "tpr[sex=Female]", Rows: 2}, {Name: "tpr[sex=Male]", Rows: 1}}},
		{"distance(tpr, sex) <= 0.1", three, []int{1, 0, 0}, 0, true, 0.5, -0.1, constraints.Met, []constraints.CountedRate{
			{Name: "tpr", Value: 0.5, Hits: 1, Rows: 2}, {Name: "tpr[sex=Female]", Value: 0.5, Hits: 1, Rows: 2}, {Name: "tpr[sex=Male]"}}},
		{"excess(tpr, race) <= 0.1", some([]int{1, 0}, []int{-1, -1}), []int{1, 0}, 0, false, 0, math.Inf(-1), constraints.NotJudged, []constraints.CountedRate{
			{Name: "tpr", Value: 1, Hits: 1, Rows: 1}, {Name: "tpr[race=a]"}, {Name: "tpr[race=b]"}}},
		{"churn(old.csv) <= 0.1", three, []int{1, 0, 0}, 0, false, 0, math.Inf(-1), constraints.NotJudged, []constraints.CountedRate{{Name: "churn(old.csv)"}}},
	} {
		s := systemOf(t, p, test.text, "positive_rate <= 0") // the second constraint has the largest excess
		c := count(t, s, test.rows, test.decisions)
		v := c.Values[0]
		if v.Value != test.value || v.Defined != test.defined {
			t.Errorf("%s: %+v", test.text, v)
		}
		got := c.Judge(0)
		if got.State != test.state || math.Abs(got.Tolerance-test.tolerance) > 1e-15 {
			t.Errorf("%s: %+v, want %s with tolerance %v", test.text, got, test.state, test.tolerance)
		}
		if (got.Exceeded != nil) != (test.excess > 0) || got.Exceeded != nil && math.Abs(got.Exceeded.By-test.excess) > 1e-12 {
			t.Errorf("%s: exceeded %+v, want by %v", test.text, got.Exceeded, test.excess)
		}
		if diff := cmp.Diff(test.rates, v.Rates); diff != "" {
			t.Errorf("%s: rates (-want +got):\n%s", test.text, diff)
		}
		if i := slices.IndexFunc(c.Terms, math.IsNaN); i >= 0 {
			t.Errorf("%s: term %d is NaN", test.text, i)
		}
	}
	churn := systemOf(t, p, "churn(old.csv) <= 0.1")
	three.Earlier = nil
	if _, err := churn.On(three); err == nil || !strings.Contains(err.Error(), "no earlier decisions of old.csv") {
		t.Errorf("%v", err)
	}
}

// The rates decide whether the tolerance of a ratio or of a precision is coarse, and of no other
// inequality.
func TestToleranceVaries(t *testing.T) {
	p, decisions := people()
	for text, varies := range map[string]bool{
		"gap(tpr, race) <= 0.1": false, "excess(positive_rate, race) <= 0.1": false, "tpr >= 0.8": false, "loss <= 0.5": false,
		"ratio(positive_rate, race) >= 0.3": true, "precision[race=*] >= 0.3": true,
	} {
		s := systemOf(t, p, text)
		sample := require.Value(s.On(p))(t)
		c := require.Value(sample.CountWith(decisions, make([]float64, s.Terms())))(t)
		differ := false
		for k := range s.Bounds {
			if got := c.ToleranceVaries(k); got != varies {
				t.Errorf("%s: inequality %d varies: %t", text, k, got)
			}
			small, large := make([]float64, s.Terms()), make([]float64, s.Terms())
			for i := range small {
				small[i], large[i] = 1e-6, 1e6
			}
			_, a := c.Tolerance(k, small)
			_, b := c.Tolerance(k, large)
			differ = differ || a != b
		}
		if differ != varies {
			t.Errorf("%s: small and large rates differ: %t", text, differ)
		}
	}
}

// TestCountedIsLinear checks, for every rate of the language, that the counted value is the value
// of the linear form of the rate at the counted cells, that the counts of the rate give the same
// value, and that the inequalities bound this value, also on rows that lack a class or a group.
func TestCountedIsLinear(t *testing.T) {
	require.NoRace(t, "it starts no goroutines")
	rng := rand.New(rand.NewPCG(7, 8))
	compared := 0
	for trial := range 100 {
		p := randomPopulation(rng)
		decisions := make([]int, p.Len())
		for i := range decisions {
			decisions[i] = rng.IntN(len(p.Classes))
		}
		for _, rate := range constraints.RateNames() {
			for _, form := range []string{"%s[c1] <= 0.4", "%s[c0, u=x] >= 0.4", "gap(%s[c1], u) <= 0.1", "ratio(%s[c1], u) >= 0.8", "excess(%s[c0], u) <= 0.1", "distance(%s[c1], u) <= 0.1"} {
				c := require.Value(constraints.Parse(fmt.Sprintf(form, rate)))(t)
				s, err := constraints.NewSystem(constraints.Error(), []constraints.Constraint{c}, p)
				if err != nil { // too few rows, or the ratio of precisions
					continue
				}
				sample := require.Value(s.On(p))(t)
				smooth := make([]float64, s.Terms()) // of losses, which decisions do not determine
				for k := range smooth {
					smooth[k] = rng.Float64()
				}
				counted := require.Value(sample.CountWith(decisions, smooth))(t)
				got := counted.Values[0]
				if linear := s.SmoothValue(0, counted.Terms); got.Defined && math.Abs(got.Value-linear) > 1e-12 {
					t.Fatalf("trial %d: %s counts %v, and its linear form is %v", trial, c, got.Value, linear)
				}
				for _, r := range got.Rates {
					if v, ok := quotient(r); rate != "loss" && ok && math.Abs(v-r.Value) > 1e-12 {
						t.Fatalf("trial %d: %s: the counts give %v: %+v", trial, c, v, r)
					}
				}
				for n := 1; n <= p.Len(); n++ { // the first few rows lack classes and groups
					if n > 6 && n < p.Len() {
						continue
					}
					sample := require.Value(s.On(firstRows(p, n)))(t)
					counted := require.Value(sample.CountWith(decisions[:n], smooth))(t)
					got, worst := counted.Values[0], math.Inf(-1)
					for k, v := range s.Values(counted.Terms, counted.Rows) {
						worst = max(worst, v-s.Stated()[k].Bound)
					}
					met := got.Value <= c.Bound()+1e-9
					if c.IsAtLeast() {
						met = got.Value >= c.Bound()-1e-9
					}
					if met = met || !got.Defined; met != (worst <= 1e-9) {
						t.Fatalf("trial %d, %d rows: %s is %v, defined %t, and its inequalities exceed their bounds by %v", trial, n, c, got.Value, got.Defined, worst)
					}
					compared++
				}
			}
		}
	}
	if compared < 30_000 {
		t.Errorf("%d values were compared", compared)
	}
}

// firstRows returns the first n rows.
func firstRows(p *constraints.Population, n int) *constraints.Population {
	few := &constraints.Population{Classes: p.Classes, Labels: p.Labels[:n]}
	for _, a := range p.Attributes {
		few.Attributes = append(few.Attributes, constraints.Attribute{Name: a.Name, Values: a.Values, Of: a.Of[:n]})
	}
	for _, g := range p.Groups {
		few.Groups = append(few.Groups, constraints.Group{Name: g.Name, Rows: slices.DeleteFunc(slices.Clone(g.Rows), func(i int) bool { return i >= n })})
	}
	return few
}

// quotient returns a rate from its counts. ok is false without rows.
func quotient(r constraints.CountedRate) (v float64, ok bool) {
	if r.Parts == nil {
		return float64(r.Hits) / float64(r.Rows), r.Rows > 0
	}
	v = r.Constant
	for _, p := range r.Parts {
		v += p.Coefficient * float64(p.Hits) / float64(p.Rows)
	}
	return v, r.Rows > 0
}

// sparsePeople returns rows of which some combinations of sex and race have no row, and some have
// rows of a single label.
func sparsePeople(rng *rand.Rand, classes int) *constraints.Population {
	p := &constraints.Population{Classes: []string{"no", "yes", "perhaps"}[:classes]}
	sex := constraints.Attribute{Name: "sex", Values: []string{"Female", "Male"}}
	race := constraints.Attribute{Name: "race", Values: []string{"a", "b", "c", "d"}}
	for i := range 60 {
		s, r, y := rng.IntN(2), rng.IntN(3)-1, rng.IntN(classes)
		switch {
		case i == 0:
			s, r, y = 0, 3, 0 // race d is Female with the first label alone
		case r == 2:
			s = 1 // no Female of race c
		}
		sex.Of, race.Of, p.Labels = append(sex.Of, s), append(race.Of, r), append(p.Labels, y)
	}
	p.Attributes = []constraints.Attribute{sex, race}
	p.Earlier = map[string][]int{"old.csv": make([]int, 60)}
	return p
}

// bounded returns constraints on every rate in every measure.
func bounded(t *testing.T, classes int) (list []constraints.Constraint) {
	t.Helper()
	class := ""
	if classes > 2 {
		class = "[yes]"
	}
	texts := []string{"churn(old.csv) <= 0.5", "error[*] <= 0.5", "recall[*] >= 0.1", "precision[*] >= 0.1"}
	for _, rate := range constraints.RateNames() {
		if strings.Contains(rate, "pair_") {
			continue // see TestPairRates
		}
		inner := rate
		if rate != "error" && rate != "accuracy" && rate != "loss" {
			inner += class
		}
		on := func(of string) string {
			if inner == rate {
				return rate + "[" + of + "]"
			}
			return rate + "[yes, " + of + "]"
		}
		texts = append(texts, inner+" <= 0.5", inner+" >= 0.1", on("sex=*, race=*")+" <= 0.5", on("race=*, min 2")+" >= 0.1")
		if rate == "precision" {
			continue
		}
		for _, form := range []string{"gap(%s, %s) <= 0.3", "ratio(%s, %s) >= 0.3", "excess(%s, %s) <= 0.3", "distance(%s, %s) <= 0.3"} {
			for _, of := range []string{"race", "sex*race", "sex*race, min 2"} {
				texts = append(texts, fmt.Sprintf(form, inner, of))
			}
		}
	}
	return parsed(t, texts...)
}

// TestEmptyCombinations states every rate in every measure on rows with combinations that have no
// rows. The smooth problem has no rate without rows. The value of a constraint on counted decisions
// is the value of the linear forms that the smooth problem bounds.
func TestEmptyCombinations(t *testing.T) {
	require.NoRace(t, "it starts no goroutines")
	for classes := 2; classes <= 3; classes++ {
		rng := rand.New(rand.NewPCG(uint64(classes), 1))
		p := sparsePeople(rng, classes)
		left := 0
		for _, c := range bounded(t, classes) {
			s, err := constraints.NewSystem(constraints.Error(), []constraints.Constraint{c}, p)
			if err != nil {
				t.Errorf("%d classes: %v", classes, err)
				continue
			}
			if left += len(s.LeftOut[0]); (len(s.LeftOut[0]) > 0) != (len(s.Notes) > 0) {
				t.Errorf("%s: left out %q, notes %q", c, s.LeftOut, s.Notes)
			}
			sample := require.Value(s.On(p))(t)
			if rows := sample.Rows(); slices.Contains(rows, 0) {
				t.Errorf("%s: the cells have %v rows", c, rows)
			}
			scores := gorgonia.NewMatrix(gorgonia.NewGraph(), tensor.Float64, gorgonia.WithShape(p.Len(), classes), gorgonia.WithName("scores"))
			if _, _, err := sample.Nodes(scores); err != nil {
				t.Errorf("%s: %v", c, err)
			}
			decisions := make([]int, p.Len())
			for i := range decisions {
				decisions[i] = rng.IntN(classes)
			}
			counted := require.Value(sample.CountWith(decisions, smoothTerms(rng, s)))(t)
			v := counted.Values[0]
			if want := s.SmoothValue(0, counted.Terms); v.Defined && math.Abs(v.Value-want) > 1e-12 {
				t.Errorf("%s: counted %v, the linear forms have %v", c, v.Value, want)
			}
			beyond := v.Value > c.Bound()
			if c.IsAtLeast() {
				beyond = v.Value < c.Bound()
			}
			if e := counted.Judge(0).Exceeded; v.Defined && math.Abs(v.Value-c.Bound()) > 1e-9 && (e != nil) != beyond {
				t.Errorf("%s: the value is %v and the exceeded inequality %+v", c, v.Value, e)
			}
			other := require.Value(constraints.TrainedSystem(constraints.Error(), []constraints.Constraint{c}, few(p), s.LeftOut))(t)
			if !slices.EqualFunc(s.Rates, other.Rates, func(a, b constraints.Cell) bool { return a.Name == b.Name }) || len(other.Bounds) != len(s.Bounds) {
				t.Errorf("%s: on other rows %d rates and %d bounds, want %d and %d", c, len(other.Rates), len(other.Bounds), len(s.Rates), len(s.Bounds))
			}
		}
		if left < 20 {
			t.Errorf("%d classes: %d rates are left out", classes, left)
		}
	}
}

// smoothTerms returns values for the losses of a system.
func smoothTerms(rng *rand.Rand, s *constraints.System) []float64 {
	h := make([]float64, s.Terms())
	for k := range h {
		h[k] = rng.Float64()
	}
	return h
}

// few returns the first three rows of a population.
func few(p *constraints.Population) *constraints.Population {
	out := &constraints.Population{Labels: p.Labels[:3], Classes: p.Classes, Earlier: map[string][]int{}}
	for _, a := range p.Attributes {
		out.Attributes = append(out.Attributes, constraints.Attribute{Name: a.Name, Values: a.Values, Of: a.Of[:3]})
	}
	for file, of := range p.Earlier {
		out.Earlier[file] = of[:3]
	}
	return out
}
