package rates

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/internal/require"
)

// bank returns a population of two groups with the given numbers of rows. Every fourth row is
// positive.
func bank(female, male int) *constraints.Population {
	p := &constraints.Population{Classes: []string{"no", "yes"}, Attributes: []constraints.Attribute{{Name: "sex", Values: []string{"Female", "Male"}}}}
	for i := range female + male {
		y, sex := 0, 0
		if i%4 == 0 {
			y = 1
		}
		if i >= female {
			sex = 1
		}
		p.Labels, p.Attributes[0].Of = append(p.Labels, y), append(p.Attributes[0].Of, sex)
	}
	return p
}

// plan resolves constraints on the rows and plans their promises on the same rows.
func plan(t *testing.T, p *constraints.Population, confidence float64, texts ...string) (*Promises, *constraints.System, *constraints.Sample) {
	t.Helper()
	var list []constraints.Constraint
	for _, text := range texts {
		c := require.Value(constraints.Parse(text))(t)
		list = append(list, c)
	}
	s := require.Value(constraints.NewSystem(constraints.Error(), list, p))(t)
	sample := require.Value(s.On(p))(t)
	plan := require.Value(NewPromises(s, sample.Rows(), confidence))(t)
	return plan, s, sample
}

// decide accepts each row with a probability that depends on its sex and label.
func decide(p *constraints.Population, rng *rand.Rand, rate func(sex, label int) float64) []int {
	list := make([]int, p.Len())
	for i, y := range p.Labels {
		if rng.Float64() < rate(p.Attributes[0].Of[i], y) {
			list[i] = 1
		}
	}
	return list
}

// TestUmbrellaPromise compares a promise about one rate with the order statistic. The largest
// allowed number of false positives keeps the promise, one more false positive breaks it.
func TestUmbrellaPromise(t *testing.T) {
	p := bank(2000, 2000) // 3000 negative rows
	plan, s, sample := plan(t, p, 0.95, "fpr <= 0.05")
	k, _ := Umbrella(3000, 0.05, 0.05)
	for _, accepted := range []int{0, 3000 - k, 3000 - k + 1} {
		decisions := make([]int, p.Len())
		left := accepted
		for i, y := range p.Labels {
			if y == 0 && left > 0 {
				decisions[i], left = 1, left-1
			}
		}
		c := require.Value(sample.Count(decisions))(t)
		got := plan.Check(c.Hits)[0]
		if want := accepted <= 3000-k; got.Holds != want {
			t.Errorf("%d of 3000 rows: promised %v, want %v", accepted, got.Holds, want)
		}
		if got.Holds != (got.Supported <= 0.05+1e-9) {
			t.Errorf("%d of 3000 rows: promised %v, and the supported bound is %v", accepted, got.Holds, got.Supported)
		}
		if want := 1 - math.Pow(0.05, 1.0/3000); math.Abs(got.Least-want) > 1e-9 || got.Rows != 3000 || got.Needed != 59 {
			t.Errorf("least bound %v, %d rows, %d needed; want %v, 3000, 59", got.Least, got.Rows, got.Needed, want)
		}
	}
	if !plan.ByThreshold() {
		t.Error("a false positive rate is monotone in the threshold")
	}
	if got, want := plan.Tightened(make([]float64, len(s.Rates)), 1)[0], float64(3000-k)/3000; math.Abs(got-want) > 1e-12 {
		t.Errorf("tightened bound %v, want %v", got, want)
	}
}

// TestShares checks that equivalent constraints give the same promise: bounds from below, bounds on
// the other class and bounds on precisions equal the corresponding bounds from above.
func TestShares(t *testing.T) {
	p := bank(300, 500)
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		decisions := decide(p, rng, func(_, y int) float64 { return []float64{0.06, 0.93}[y] })
		var got [6]Promise
		for i, text := range []string{"tpr >= 0.9", "fnr <= 0.1", "tnr >= 0.9", "fpr <= 0.1", "error[yes] <= 0.1", "recall[no] >= 0.9"} {
			plan, _, sample := plan(t, p, 0.9, text)
			c := require.Value(sample.Count(decisions))(t)
			got[i] = plan.Check(c.Hits)[0]
			if i%2 == 0 && i < 4 || i == 5 {
				got[i].Supported, got[i].Least = 1-got[i].Supported, 1-got[i].Least
			}
		}
		for _, pair := range [][2]int{{0, 1}, {2, 3}, {0, 4}, {2, 5}} {
			a, b := got[pair[0]], got[pair[1]]
			if a.Holds != b.Holds || math.Abs(a.Supported-b.Supported) > 1e-9 || math.Abs(a.Least-b.Least) > 1e-9 || a.Rows != b.Rows || a.Needed != b.Needed {
				t.Errorf("%+v and %+v differ", a, b)
			}
		}
	}
	plan, s, sample := plan(t, p, 0.95, "precision >= 0.7")
	decisions := decide(p, rng, func(_, y int) float64 { return []float64{0.05, 0.9}[y] })
	c := require.Value(sample.Count(decisions))(t)
	rate := c.Values[0].Rates[0]
	k, _ := Umbrella(rate.Rows, 0.3, 0.05)
	if got := plan.Check(c.Hits)[0]; got.Holds != (rate.Rows-rate.Hits <= rate.Rows-k) || got.Rows != rate.Rows {
		t.Errorf("precision of %d right among %d rows: %+v", rate.Hits, rate.Rows, got)
	}
	if plan.ByThreshold() || s.Direction(s.Bounds[0]) != 0 {
		t.Error("a precision is not monotone in the threshold")
	}
}

// TestGapPromise compares a promise about a gap with the margin of the gap's two inequalities.
func TestGapPromise(t *testing.T) {
	p := bank(1500, 2500)
	plan, _, sample := plan(t, p, 0.95, "gap(positive_rate, sex) <= 0.06")
	decisions := decide(p, rand.New(rand.NewPCG(2, 2)), func(int, int) float64 { return 0.3 })
	c := require.Value(sample.Count(decisions))(t)
	gap := c.Values[0].Value
	var counts []Count
	for _, r := range c.Values[0].Rates {
		counts = append(counts, Count{Hits: r.Hits, Rows: r.Rows})
	}
	margin := max(counts[0].Estimate(0.05).Plus(counts[1].Estimate(0.05).Times(-1)).Interval().High, counts[1].Estimate(0.05).Plus(counts[0].Estimate(0.05).Times(-1)).Interval().High) - gap
	got := plan.Check(c.Hits)[0]
	if math.Abs(got.Supported-gap-margin) > 1e-9 || got.Holds != (gap+margin <= 0.06) {
		t.Errorf("gap %v and margin %v: %+v", gap, margin, got)
	}
	if math.Abs(got.Least-margin) > 1e-3 || got.Rows != 1500 {
		t.Errorf("the least bound is %v of %d rows, want about %v of 1500", got.Least, got.Rows, margin)
	}
	// With the needed number of rows, the margin at equal rates equals the bound.
	grown := float64(got.Needed) / 1500
	for i := range counts {
		counts[i] = Count{Hits: int(0.3 * grown * float64(counts[i].Rows)), Rows: int(grown * float64(counts[i].Rows))}
	}
	if m := counts[0].Estimate(0.05).Plus(counts[1].Estimate(0.05).Times(-1)).Above; math.Abs(m-0.06) > 2e-3 {
		t.Errorf("%d rows have the margin %v, want 0.06", got.Needed, m)
	}
	if got := plan.Tightened(c.Terms, 1); math.Abs(got[0]-0.06+margin) > 1e-3 || math.Abs(got[1]-0.06+margin) > 1e-3 {
		t.Errorf("tightened bounds %v, want %v", got, 0.06-margin)
	}
}

// TestRatioPromise checks that the supported bound of a ratio is below the measured ratio, and that
// the promise holds exactly for bounds up to the supported bound.
func TestRatioPromise(t *testing.T) {
	p := bank(1500, 2500)
	decisions := decide(p, rand.New(rand.NewPCG(3, 3)), func(sex, _ int) float64 { return 0.3 + 0.05*float64(sex) })
	supported := 0.0
	for i, text := range []string{"ratio(positive_rate, sex) >= 0.8", "ratio(positive_rate, sex) >= 0.5", "ratio(positive_rate, sex) >= 0.84"} {
		plan, _, sample := plan(t, p, 0.95, text)
		c := require.Value(sample.Count(decisions))(t)
		got := plan.Check(c.Hits)[0]
		if i == 0 {
			supported = got.Supported
		}
		if got.Supported != supported || got.Supported >= c.Values[0].Value-0.02 || got.Least <= got.Supported || got.Least >= 1 {
			t.Errorf("%s: measured %v, %+v", text, c.Values[0].Value, got)
		}
		if got.Holds != (plan.system.Subject[0].Bound() <= supported) {
			t.Errorf("%s: promised %v, supported %v", text, got.Holds, supported)
		}
	}
}

// TestSentences checks the sentence for a promise that does not hold: it gives the bound that the
// rows support and the number of rows that the bound needs.
func TestSentences(t *testing.T) {
	p := bank(60, 120)
	for _, c := range []struct {
		text string
		want []string
	}{
		{"fpr <= 0.01", []string{"fpr <= 0.01 is not promised", "135 rows", "support the bound ", "95% confidence", "299 rows", "--split"}},
		{"tpr >= 0.99", []string{"45 rows", "support the bound ", "299 rows"}},
		{"gap(positive_rate, sex) <= 0.01", []string{"60 rows", "support the bound 0.", "needs at least "}},
		{"ratio(positive_rate, sex) >= 1", []string{"no number of validation rows is enough"}},
		{"error <= 0.1", []string{"the decisions on the validation rows support the bound 0.", "use more validation rows"}},
	} {
		plan, _, sample := plan(t, p, 0.95, c.text)
		counted := require.Value(sample.Count(decide(p, rand.New(rand.NewPCG(4, 4)), func(int, int) float64 { return 0.4 })))(t)
		r := plan.Check(counted.Hits)[0]
		text := plan.Sentence(0, r)
		for _, part := range c.want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q has no %q", c.text, text, part)
			}
		}
		if numbers := strings.Count(text, "bound 0.") + strings.Count(text, "bound 1 "); r.Needed > 0 && numbers != 1 {
			t.Errorf("%s: %d bounds in %q", c.text, numbers, text)
		}
		if r.Holds || strings.Contains(text, "\n") {
			t.Errorf("%s: %+v: %q", c.text, r, text)
		}
		if (c.text != "error <= 0.1") != (plan.Tightened(counted.Terms, 1)[0] == plan.system.Bounds[0].Bound) {
			t.Errorf("%s: tightened to %v", c.text, plan.Tightened(counted.Terms, 1))
		}
	}
}

// TestLossRefused checks that New refuses a bound on a loss, and that a bound on the l1 norm needs
// no rows.
func TestLossRefused(t *testing.T) {
	c := require.Value(constraints.Parse("loss <= 0.3"))(t)
	s := require.Value(constraints.NewSystem(constraints.Error(), []constraints.Constraint{c}, bank(40, 40)))(t)
	if _, err := NewPromises(s, make([]int, len(s.Rates)), 0.95); !errors.Is(err, ErrLoss) || !strings.Contains(err.Error(), "loss <= 0.3") {
		t.Errorf("error %v, want ErrLoss", err)
	}
	p, s, _ := plan(t, bank(4000, 4000), 0.95, "l1(weights) <= 3", "fpr <= 0.05")
	if r := p.Check(make([]int, len(s.Rates))); !r[0].Holds || p.Sentence(0, r[0]) != "" {
		t.Errorf("l1: %+v", r[0])
	}
	if got := p.Tightened(make([]float64, s.Terms()), 1); got[0] != 3 {
		t.Errorf("l1 is tightened to %v", got[0])
	}
	if !p.ByThreshold() {
		t.Error("the l1 norm does not depend on the threshold")
	}
}

// TestPromisesHold draws decisions of a fixed model on validation rows, with a fixed seed, and
// counts the draws in which a promise is made although the model breaks the bound. The share of
// these draws is at most the tail.
func TestPromisesHold(t *testing.T) {
	const draws, tail = 2000, 0.1
	for _, c := range []struct {
		texts []string
		rate  func(sex, label int) float64
	}{
		{[]string{"fpr <= 0.1"}, func(_, y int) float64 { return []float64{0.1001, 0.7}[y] }},
		{[]string{"gap(positive_rate, sex) <= 0.1"}, func(sex, _ int) float64 { return 0.2 + 0.1001*float64(sex) }},
		{[]string{"ratio(positive_rate, sex) >= 0.6"}, func(sex, _ int) float64 { return 0.2 + 0.1334*float64(sex) }},
		{[]string{"precision >= 0.8"}, func(_, y int) float64 { return []float64{0.05001, 0.6}[y] }},
		{[]string{"fpr <= 0.1", "gap(fpr, sex) <= 0.1"}, func(sex, y int) float64 {
			return []float64{0.02 + 0.1001*float64(sex), 0.7}[y]
		}},
	} {
		p := bank(280, 520)
		plan, _, sample := plan(t, p, 1-tail, c.texts...)
		rng, wrong := rand.New(rand.NewPCG(5, 5)), 0
		for range draws {
			counted := require.Value(sample.Count(decide(p, rng, c.rate)))(t)
			last := len(c.texts) - 1
			if plan.every(last, plan.system.Subject[last].Bound(), counted.Hits, plan.passes) {
				wrong++
			}
		}
		if share := float64(wrong) / draws; share > tail+0.025 {
			t.Errorf("%v: promised wrongly in %v of the draws, want at most %v", c.texts, share, tail)
		}
	}
}

// TestRateOfTwoCells checks that a bound on the mean of two rates, which is a combination of shares
// but compares no groups, can be promised: the best decisions have no wrong rows.
func TestRateOfTwoCells(t *testing.T) {
	p := bank(600, 1000)
	plan, s, sample := plan(t, p, 0.95, "balanced_error <= 0.2")
	rng := rand.New(rand.NewPCG(4, 4))
	for wrong, holds := range map[float64]bool{0.1: true, 0.35: false} {
		c := require.Value(sample.Count(decide(p, rng, func(_, y int) float64 { return []float64{wrong, 1 - wrong}[y] })))(t)
		got := plan.Check(c.Hits)[0]
		if got.Holds != holds || got.Rows != 400 || !(got.Least > 0 && got.Least < 0.05) || got.Needed < 2 || got.Needed > 100 {
			t.Errorf("%v wrong: %+v", wrong, got)
		}
		if b := plan.Tightened(c.Terms, 1)[0]; !(b < s.Bounds[0].Bound && b > 0.1) {
			t.Errorf("%v wrong: the bound is tightened from %v to %v", wrong, s.Bounds[0].Bound, b)
		}
	}
}
