package verify

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/rates"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/trainer/session"
)

// population returns random rows with attributes of difficult names, overlapping groups, missing
// values and earlier decisions.
func population(r *rand.Rand, n, classes int) *constraints.Population {
	p := &constraints.Population{Classes: []string{"no", "yes", "min"}[:classes], Earlier: map[string][]int{"old run.csv": nil}}
	p.Attributes = []constraints.Attribute{
		{Name: "sex", Values: []string{"f", "M"}}, {Name: "age<=25", Values: []string{"yes it is", "no, not"}},
		{Name: `a "quoted" name`, Values: []string{"1", "01", "x=y"}}, {Name: "rare", Values: []string{"often", "once", "never"}}}
	p.Groups = []constraints.Group{{Name: "young"}, {Name: "old (60+)"}}
	for i := range n {
		p.Labels = append(p.Labels, r.IntN(classes))
		for k := range p.Attributes {
			a := &p.Attributes[k]
			v := r.IntN(len(a.Values)+1) - 1 // -1: missing
			if a.Name == "rare" {
				if v = 0; i < 40 {
					v = 1
				}
			}
			a.Of = append(a.Of, v)
		}
		for k := range p.Groups {
			if r.IntN(3) == 0 {
				p.Groups[k].Rows = append(p.Groups[k].Rows, i)
			}
		}
		p.Earlier["old run.csv"] = append(p.Earlier["old run.csv"], r.IntN(classes+1)-1)
	}
	return p
}

// The check's own counting of a constraint in words gives the value, the counts and the smooth
// value that the training states, for every form of the language, on training and other rows.
func TestCounting(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	binary := []string{"error", "accuracy", "loss", "positive_rate", "tpr", "recall", "fpr", "tnr", "fnr", "precision", "balanced_error"}
	var texts []string
	for _, rate := range binary {
		texts = append(texts, rate+" <= 0.4", rate+"[sex=m] <= 0.4", rate+`["a \"quoted\" name"="x=y", f] >= 0.4`, rate+"[rare=*, min 20] <= 0.4", rate+"[groups=young] <= 0.4", rate+"[sex=*] >= 0.3")
		if rate != "precision" {
			for _, form := range []string{"gap(%s, sex) <= 0.1", "gap(%s, rare, min 3) <= 0.1", "ratio(%s, sex*age<=25) >= 0.8", `gap(%s["old (60+)"], "a \"quoted\" name"*sex, min 4) <= 0.1`,
				"excess(%s, groups) <= 0.1", "distance(%s, sex*rare) <= 0.1", "excess(%s[sex=f], age<=25) <= 0.1", "gap(%s[class=yes], sex) <= 0.2", "ratio(%s[sex=*], rare) >= 0.2"} {
				texts = append(texts, fmt.Sprintf(form, rate))
			}
		}
	}
	texts = append(texts, `churn("old run.csv") <= 0.2`, "l1(weights) <= 3", "recall[yes] >= 0.2", "fpr[class=yes] <= 0.3")
	for _, classes := range []int{2, 3} {
		if classes == 3 {
			texts = []string{"recall[*] >= 0.3", `recall["min"] >= 0.3`, "error[yes] <= 0.2", "accuracy[*, sex=f] >= 0.2", "precision[*] >= 0.2", "fpr[no] <= 0.4", "gap(recall[yes], sex) <= 0.3",
				"gap(recall[*], sex*rare) <= 0.3", "loss[no] <= 2", "loss <= 2", "error <= 0.3", `churn("old run.csv") <= 0.5`, "excess(error, groups) <= 0.1"}
		}
		train, other := population(r, 400, classes), population(r, 90, classes)
		counted := 0
		for _, text := range texts {
			c, err := constraints.Parse(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			system, err := constraints.NewSystem(constraints.Error(), []constraints.Constraint{c}, train)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			p := require.Value(newPlan(c.Measure().String(), train))(t)
			for _, rows := range []*constraints.Population{train, other} {
				for _, accept := range []float64{0.5, 0} { // 0: nobody is accepted
					sample := require.Value(system.On(rows))(t)
					outputs := classes
					if classes == 2 {
						outputs = 1
					}
					scores := make([]float64, rows.Len()*outputs)
					for i := range scores {
						scores[i] = r.NormFloat64()
						if accept == 0 {
							scores[i] = -1 - math.Abs(scores[i])
						}
					}
					of := require.Value(sample.Decide(scores))(t)
					_, smooth, err := sample.Smooth(scores)
					require.NoError(t, err)
					d := &decided{class: of, unsure: make([]bool, rows.Len()), norm: 2.5, rows: rows}
					l := &evaluator{outputs: outputs}
					chances := make([]float64, outputs)
					d.chance = func(i, class int) float64 { return l.probability(chances, scores, int32(i), class) }
					d.miss = func(i, class int) float64 { return 1 - d.chance(i, class) }
					d.loss = func(i, y int) float64 { return l.loss(scores, int32(i), y) }
					if system.L1 {
						smooth = append(smooth, d.norm)
					}
					want := require.Value(sample.CountWith(of, smooth))(t)
					got := p.count(d, c.IsAtLeast())
					if got.defined != want.Values[0].Defined || got.defined && math.Abs(got.value-want.Values[0].Value) > 1e-12 {
						t.Errorf("%s of %d rows: %v (%t), want %v (%t)", c, rows.Len(), got.value, got.defined, want.Values[0].Value, want.Values[0].Defined)
					}
					if s := system.SmoothValue(0, smooth); got.defined && math.Abs(got.smooth-s) > 1e-12 {
						t.Errorf("%s of %d rows: the smooth value is %v, want %v", c, rows.Len(), got.smooth, s)
					}
					sets := want.CountedSets(0)
					own := got.rates(p)
					if len(sets) != len(own) {
						t.Errorf("%s: %d sets, want %d", c, len(own), len(sets))
						continue
					}
					if d := cmp.Diff(rates.IntervalOf(c, sets, 0.95), rates.IntervalOf(c, own, 0.95), cmpopts.EquateApprox(0, 1e-12)); d != "" {
						t.Errorf("%s: the intervals differ (-want +got):\n%s", c, d)
					}
					for k, set := range sets {
						if len(set) != len(own[k]) {
							t.Errorf("%s: set %d has %d rates, want %d", c, k, len(own[k]), len(set))
							continue
						}
						for a, rate := range set {
							if rate.Parts != nil && len(own[k][a].Parts) == 2 {
								continue // by fnr instead of tpr: the intervals compare the counts
							}
							if own[k][a].Hits != rate.Hits || own[k][a].Rows != rate.Rows {
								t.Errorf("%s: %+v, want %+v", c, own[k][a], rate)
							}
							counted++
						}
					}
				}
			}
		}
		if counted < 50 {
			t.Errorf("%d rates were compared", counted)
		}
	}
}

// documents returns rows of queries of ten documents. The last feature tells the groups apart, if
// grouped is true. Some of the documents are equal.
func documents(n int, grouped bool, seed uint64) *session.Matrix {
	m := rowsOf(n, 2, false, seed)
	m.Queries = &tabular.Queries{Grades: make([]uint8, n)}
	x := m.Features.(*matrix.Dense)
	for i := range n {
		if i%10 == 0 {
			m.Queries.Names = append(m.Queries.Names, fmt.Sprint(seed, " ", i/10))
		}
		m.Queries.Of = append(m.Queries.Of, int32(i/10))
		m.Queries.Grades[i] = uint8((m.Labels[i] + 1) / 2)
		if x.Data[4*i+3] = 0; i%10 > 7 {
			copy(x.Data[4*i:4*i+3], x.Data[4*i-4:])
		}
	}
	for _, i := range m.Groups[1].Rows {
		if grouped {
			x.Data[4*i+3] = 1
		}
	}
	return m
}

// ranked adds runs on rankings: with each kind of exact step, and with bounds on queries.
func ranked(t *testing.T, add func(name string, data session.Source, task session.Task, change func(o *session.Options))) {
	table := func(grouped bool) session.Matrices {
		return session.Matrices{Train: documents(200, grouped, 1), Validation: documents(60, grouped, 2), Test: documents(60, grouped, 3)}
	}
	task := func(on constraints.BoundsOn, texts ...string) session.Decisions {
		d := words(t, on, texts...)
		d.Minimize = constraints.PairError()
		return d
	}
	few := func(o *session.Options) { o.Settings.Iterations = 4 }
	add("pairs", table(true), task("", "gap(cross_pair_error, a) <= 0.02", "own_pair_error[a=1] <= 0.4", "distance(pair_error, sex) <= 0.1"), nil)
	add("pairs shifted", table(true), task("", "gap(cross_pair_error, a) <= 0.01"), few)
	add("pairs mixed", table(false), task("", "gap(cross_pair_error, a) <= 0.01"), func(o *session.Options) { o.Settings.Iterations = 6 })
	add("pairs of a network", table(true), task("", "gap(cross_pair_error, a) <= 0.02"), func(o *session.Options) { o.Model = &models.Spec{Hidden: []int{4}} })
	add("pairs of queries", table(true), task("", "gap(cross_pair_error[query=*], a, min 3) <= 0.3", "pair_error[query=*] <= 0.9"), nil)
	add("ranking", table(true), session.Ranking{}, nil)
	losses := task(constraints.OnSurrogate, "pair_loss[a=0] <= 0.6", "ratio(pair_error, a) >= 0.5", "excess(pair_error, a) <= 0.2")
	losses.Minimize = constraints.PairLoss()
	add("pairs by losses", table(true), losses, nil)
}

// TestPairSteps checks that the table has runs with the two kinds of exact steps.
func TestPairSteps(t *testing.T) {
	for name, mixed := range map[string]bool{"pairs shifted": false, "pairs mixed": true} {
		s := require.Value(rundir.ReadSummary(trained(t, runs(t)[name]()).Summary()))(t)
		if step := s.RankStep; step == nil || step.Mixed != mixed {
			t.Errorf("%s: the exact step is %+v", name, step)
		}
	}
}

// The area of scores by all pairs: equal scores, and scores nearer than e, may be either way.
func TestAreas(t *testing.T) {
	for _, c := range []struct {
		scores      []float64
		classes     []int
		e           float64
		least, most float64
	}{
		{[]float64{1, 2, 3, 4}, []int{0, 0, 1, 1}, 0, 1, 1},
		{[]float64{3, 4, 1, 2}, []int{0, 0, 1, 1}, 0, 0, 0},
		{[]float64{1, 3, 2, 4}, []int{0, 0, 1, 1}, 0, 0.75, 0.75},
		{[]float64{5, 5, 5, 5}, []int{0, 1, 0, 1}, 0, 0, 1},
		{[]float64{1, 2, 2.5, 4}, []int{0, 1, 0, 1}, 0.6, 0.75, 1},
	} {
		if least, most := areas(c.scores, &constraints.Population{Labels: c.classes}, c.e); math.Abs(least-c.least)+math.Abs(most-c.most) > 1e-15 {
			t.Errorf("%v of %v, e = %v: %v to %v, want %v to %v", c.scores, c.classes, c.e, least, most, c.least, c.most)
		}
	}
}
