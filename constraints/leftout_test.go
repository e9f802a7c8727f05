package constraints_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/racing"
	"ppal/internal/require"
)

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
	racing.Skip(t, "it starts no goroutines")
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
