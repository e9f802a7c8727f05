package constraints_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/require"
)

// heavier gives the rows of a population whole weights, and returns the population in which each
// row stands as often as its weight says, with the row of each of its rows.
func heavier(rng *rand.Rand, p *constraints.Population) (repeated *constraints.Population, source []int) {
	p.Weights = make([]float64, p.Len())
	for i := range p.Weights {
		n := 1 + rng.IntN(3)
		p.Weights[i] = float64(n)
		source = append(source, slices.Repeat([]int{i}, n)...)
	}
	pick := func(list []int) (own []int) {
		for _, i := range source {
			own = append(own, list[i])
		}
		return own
	}
	repeated = &constraints.Population{Classes: p.Classes, Labels: pick(p.Labels), Earlier: map[string][]int{}}
	for _, a := range p.Attributes {
		repeated.Attributes = append(repeated.Attributes, constraints.Attribute{Name: a.Name, Values: a.Values, Of: pick(a.Of)})
	}
	for file, of := range p.Earlier {
		repeated.Earlier[file] = pick(of)
	}
	return repeated, source
}

// near reports whether all numbers agree to rounding.
func near(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) <= 1e-12*(1+math.Abs(x)) })
}

// TestWeights states every rate in every measure on rows with whole weights, and on rows that stand
// as often as their weights say. Smooth values, nodes, counted decisions and the meter agree, and
// do not change if all weights are multiplied by a number.
func TestWeights(t *testing.T) {
	require.NoRace(t, "it starts no goroutines")
	for classes := 2; classes <= 3; classes++ {
		rng := rand.New(rand.NewPCG(uint64(classes), 5))
		p := sparsePeople(rng, classes)
		repeated, source := heavier(rng, p)
		scaled := *p
		scaled.Weights = nil
		for _, w := range p.Weights {
			scaled.Weights = append(scaled.Weights, 0.37*w)
		}
		list := append(bounded(t, classes), parsed(t, "loss <= 0.5")...)
		for _, c := range list {
			outputs := classes
			if classes == 2 && rng.IntN(2) == 0 {
				outputs = 1
			}
			scores := make([]float64, p.Len()*outputs)
			for i := range scores {
				scores[i] = rng.NormFloat64()
			}
			var again []float64
			for _, i := range source {
				again = append(again, scores[i*outputs:][:outputs]...)
			}
			system := require.Value(constraints.NewSystem(constraints.Error(), []constraints.Constraint{c}, repeated))(t)
			if c.Measure().MinRows(1) == c.Measure() { // "min" counts effective rows
				own, err := constraints.NewSystem(constraints.Error(), []constraints.Constraint{c}, p)
				if err != nil || len(own.Rates) != len(system.Rates) {
					t.Fatalf("%s: %v, %d rates, want %d", c, err, len(own.Rates), len(system.Rates))
				}
			}
			want := measuredOf(t, system, repeated, again)
			for _, own := range []*constraints.Population{p, &scaled} {
				got := measuredOf(t, system, own, scores)
				for what, v := range want {
					if !near(v, got[what]) {
						t.Errorf("%s, %d scores: %s %v, want %v", c, outputs, what, got[what], v)
					}
				}
			}
		}
	}
}

// measuredOf returns what a system computes from scores, by name.
func measuredOf(t *testing.T, system *constraints.System, p *constraints.Population, scores []float64) map[string][]float64 {
	t.Helper()
	sample := require.Value(system.On(p))(t)
	f, h, err := sample.Smooth(scores)
	require.NoError(t, err)
	counted := require.Value(sample.CountScores(scores, h))(t)
	out := map[string][]float64{"smooth": append(slices.Clone(h), f), "terms": counted.Terms, "accepted": counted.Accepted,
		"values": {counted.Values[0].Value, counted.Objective.Value}}
	for _, r := range counted.Values[0].Rates {
		out["rates"] = append(out["rates"], r.Value)
	}
	if meter := sample.Meter(); meter != nil && len(scores) == p.Len() {
		f, h, counted, err := meter.Measure(scores, nil)
		require.NoError(t, err)
		out["meter"] = append(append(slices.Clone(h), f, counted.Values[0].Value), counted.Accepted...)
		if !near(counted.Terms, out["terms"]) {
			t.Errorf("the meter counts %v, want %v", counted.Terms, out["terms"])
		}
	}
	entries, rates := sample.Entries(), make([]float64, len(system.Rates))
	decisions := require.Value(sample.Decide(scores))(t)
	for i, d := range decisions {
		w := 1.0
		if p.Weights != nil {
			w = p.Weights[i]
		}
		for _, e := range entries(i) {
			if e.Class == d {
				rates[e.Rate] += w * e.Weight
			}
		}
	}
	for k, v := range rates {
		if system.Rates[k].IsLoss() {
			v = 0
		}
		out["entries"] = append(out["entries"], v)
	}
	g := gorgonia.NewGraph()
	node := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(p.Len(), len(scores)/p.Len()), gorgonia.WithName("scores"),
		gorgonia.WithValue(tensor.New(tensor.WithShape(p.Len(), len(scores)/p.Len()), tensor.WithBacking(slices.Clone(scores)))))
	objective, vector, err := sample.Nodes(node)
	require.NoError(t, err)
	loss := require.Value(sample.LossNode(node))(t)
	machine := gorgonia.NewTapeMachine(g)
	defer machine.Close()
	require.NoError(t, machine.RunAll())
	out["loss"] = []float64{loss.Value().Data().(float64)}
	out["nodes"] = append(slices.Clone(vector.Value().Data().([]float64)), objective.Value().Data().(float64))
	if !near(out["nodes"], out["smooth"]) {
		t.Errorf("nodes %v, on the host %v", out["nodes"], out["smooth"])
	}
	return out
}

// TestBadWeights refuses weights that are no positive numbers, and weights of documents of queries.
func TestBadWeights(t *testing.T) {
	for _, w := range [][]float64{{1}, {1, 0}, {1, -1}, {1, math.NaN()}, {1, math.Inf(1)}} {
		p := &constraints.Population{Classes: []string{"a", "b"}, Labels: []int{0, 1}, Weights: w}
		if _, err := constraints.NewSystem(constraints.Error(), nil, p); err == nil {
			t.Errorf("weights %v: no error", w)
		}
	}
	p := &constraints.Population{Classes: []string{"a", "b"}, Labels: []int{0, 1}, Weights: []float64{1, 1}, Queries: []int32{0, 0}, QueryNames: []string{"q"}}
	if _, err := constraints.NewSystem(constraints.PairError(), nil, p); err == nil {
		t.Error("weights of documents: no error")
	}
}

// TestEffectiveRows leaves out a group whose effective number of rows is below "min": of the
// weights 3, 1, 1, 1 it is 36/12 = 3.
func TestEffectiveRows(t *testing.T) {
	p := &constraints.Population{Classes: []string{"a", "b"}, Labels: []int{0, 1, 0, 1, 0, 1, 0, 1}, Weights: []float64{3, 1, 1, 1, 1, 1, 1, 1},
		Attributes: []constraints.Attribute{{Name: "g", Values: []string{"x", "y"}, Of: []int{0, 0, 0, 0, 1, 1, 1, 1}}}}
	for least, out := range map[string]int{"positive_rate[g=*, min 3] <= 0.5": 0, "positive_rate[g=*, min 4] <= 0.5": 1} {
		s, err := constraints.NewSystem(constraints.Error(), parsed(t, least), p)
		if err != nil || len(s.LeftOut[0]) != out {
			t.Errorf("%s: %v, left out %q, want %d", least, err, s.LeftOut, out)
		}
		sample := require.Value(s.On(p))(t)
		counted := require.Value(sample.Count([]int{1, 0, 0, 0, 1, 1, 0, 0}))(t)
		if r := counted.Values[0].Rates; r[len(r)-1].Effective == 0 || out == 0 && (r[0].Value != 0.5 || math.Abs(r[0].Effective-3) > 1e-12 || r[0].Weight != 6) {
			t.Errorf("%s: %+v", least, r)
		}
		if judged := counted.Judge(0); out == 0 && (judged.State != constraints.Met || math.Abs(judged.Tolerance-0.5) > 1e-12) {
			t.Errorf("%s: %+v, want the tolerance of the heaviest row, 3/6", least, judged)
		}
	}
}
