package constraints_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ppal/constraints"
	"ppal/internal/require"
)

// repeated returns the rows of p, the given number of times.
func repeated(p *constraints.Population, times int) *constraints.Population {
	out := &constraints.Population{Labels: slices.Repeat(p.Labels, times), Classes: p.Classes, Earlier: map[string][]int{}}
	for _, a := range p.Attributes {
		a.Of = slices.Repeat(a.Of, times)
		out.Attributes = append(out.Attributes, a)
	}
	for file, of := range p.Earlier {
		out.Earlier[file] = slices.Repeat(of, times)
	}
	return out
}

// TestMeterRepeatsSample compares a meter with the functions of Sample, to the bit, for all kinds
// of cells, with margins too, for several blocks of rows on one core and on two, and for scores
// that are 0, tiny and huge.
func TestMeterRepeatsSample(t *testing.T) {
	few, _ := people()
	p := repeated(few, 2000)
	var subject []constraints.Constraint
	for _, text := range []string{
		"positive_rate <= 0.5", "fpr[Female] <= 0.05", "precision >= 0.7", "error[race=*] <= 0.1", "gap(tpr, sex) <= 0.01",
		"ratio(positive_rate, race, min 2) >= 0.8", "churn(old.csv) <= 0.1", "loss <= 1", "l1(weights) <= 3", "gap(error, sex) <= 0.1",
	} {
		c := require.Value(constraints.Parse(text))(t)
		subject = append(subject, c)
	}
	repeatsSample(t, require.Value(constraints.NewSystem(constraints.Error(), subject, p))(t), p, []float64{2.5})
	repeatsSample(t, require.Value(constraints.NewMarginSystem(constraints.Error(), parsed(t, "gap(positive_rate, sex) <= 0.1", "fpr[Female] <= 0.05",
		"tpr >= 0.7"), p, constraints.Margins{Objective: constraints.Logistic, Constraints: constraints.Sigmoid}))(t), p, nil)
}

func repeatsSample(t *testing.T, system *constraints.System, p *constraints.Population, norm []float64) {
	t.Helper()
	sample := require.Value(system.On(p))(t)
	var meter *constraints.Meter
	rng := rand.New(rand.NewPCG(1, 2))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for round := range 4 {
		if round%2 == 0 {
			runtime.GOMAXPROCS(1 + round/2)
			meter = sample.Meter()
		}
		scores := make([]float64, p.Len())
		for i := range scores {
			scores[i] = []float64{0, 1e-300, -1e-9, 800, -800, rng.NormFloat64(), 20 * rng.NormFloat64()}[rng.IntN(7)]
		}
		decisions := require.Value(sample.Decide(scores))(t)
		wantObjective, want, err := sample.Smooth(scores)
		require.NoError(t, err)
		want = append(want, norm...)
		wantCounted := require.Value(sample.CountWith(decisions, want))(t)
		objective, smooth, counted, err := meter.Measure(scores, norm)
		require.NoError(t, err)
		if objective != wantObjective {
			t.Errorf("round %d: objective %v, want %v", round, objective, wantObjective)
		}
		if diff := cmp.Diff(want, smooth); diff != "" {
			t.Errorf("round %d: smooth rates (-want +got):\n%s", round, diff)
		}
		if diff := cmp.Diff(wantCounted, counted, cmpopts.IgnoreUnexported(constraints.Counted{})); diff != "" {
			t.Errorf("round %d: counted (-want +got):\n%s", round, diff)
		}
	}
	if _, _, _, err := meter.Measure(make([]float64, 3), norm); err == nil {
		t.Error("a wrong number of scores is accepted")
	}
}

// TestMeterNeedsTwoClasses checks that rows of several scores have no meter.
func TestMeterNeedsTwoClasses(t *testing.T) {
	p, _ := clothes()
	c := require.Value(constraints.Parse("recall[Coat] >= 0.5"))(t)
	system := require.Value(constraints.NewSystem(constraints.Error(), []constraints.Constraint{c}, p))(t)
	sample := require.Value(system.On(p))(t)
	if sample.Meter() != nil {
		t.Error("rows of three classes have a meter")
	}
}
