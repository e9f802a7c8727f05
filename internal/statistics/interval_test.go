package statistics

import (
	"math"
	"math/rand/v2"
	"testing"
)

func (i Interval) contains(x float64) bool { return i.Low <= x && x <= i.High }

// TestClopperPearson compares intervals with scipy.stats.beta.ppf. The intervals for 10 rows are
// also in published tables of binomial confidence limits.
func TestClopperPearson(t *testing.T) {
	for _, c := range []struct {
		hits, rows int
		level      float64
		low, high  float64
	}{
		{0, 10, 0.95, 0, 0.3084971078187607},
		{1, 10, 0.95, 0.0025285785444617865, 0.4450161170281954},
		{5, 10, 0.95, 0.18708602844739855, 0.8129139715526015},
		{10, 10, 0.95, 0.6915028921812392, 1},
		{3, 59, 0.99, 0.00580891954014757, 0.1738905956890539},
		{365, 7326, 0.95, 0.04495198580129301, 0.055055164861071496},
		{20, 400, 0.975, 0.028622578367760398, 0.08016925535724523},
		{1, 100000, 0.95, 2.531780477933316e-07, 5.571516034774275e-05},
		{49990, 50000, 0.999, 0.9994949658657996, 0.9999460159362635},
		{250000, 1000000, 0.95, 0.24915153568554574, 0.2508499125965476},
		{0, 0, 0.95, 0, 1},
	} {
		got := Count{c.hits, c.rows}.Interval(c.level)
		if math.Abs(got.Low-c.low) > 1e-9 || math.Abs(got.High-c.high) > 1e-9 {
			t.Errorf("%d of %d at %v: [%v, %v], want [%v, %v]", c.hits, c.rows, c.level, got.Low, got.High, c.low, c.high)
		}
	}
}

func TestClopperPearsonRefuses(t *testing.T) {
	for _, call := range []func(){
		func() { ClopperPearson(11, 10, 0.95) },
		func() { ClopperPearson(-1, 10, 0.95) },
		func() { ClopperPearson(1, 10, 1) },
		func() { ClopperPearson(1, 10, math.NaN()) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("want a panic")
				}
			}()
			call()
		}()
	}
}

// TestExcess compares the excess and the distance of two groups with the definition.
func TestExcess(t *testing.T) {
	all, a, b := Count{40, 200}, Count{30, 100}, Count{2, 60}
	level := 1 - 0.05/3 // three intervals share the level
	r, x, y := all.Interval(level), a.Interval(level), b.Interval(level)
	if got, want := Excess(all, []Count{b, a}, 0.95), (Interval{x.Low - r.High, x.High - r.Low}); got != want {
		t.Errorf("excess %v, want %v", got, want)
	}
	want := Interval{max(0, x.Low-r.High, r.Low-y.High), max(x.High-r.Low, r.High-y.Low)}
	if got := Distance(all, []Count{b, a}, 0.95); got != want || want.Low == 0 {
		t.Errorf("distance %v, want %v", got, want)
	}
}

// TestGapOfTwo checks that the gap of two rates uses two intervals at the level 1 - delta/2.
func TestGapOfTwo(t *testing.T) {
	a, b := Count{30, 100}, Count{50, 100}
	low, high := b.Interval(0.975), a.Interval(0.975)
	got := Gap([]Count{a, b}, 0.95)
	want := Interval{math.Max(0, low.Low-high.High), low.High - high.Low}
	if got != want {
		t.Errorf("gap %v, want %v", got, want)
	}
	if same := Gap([]Count{a, a}, 0.95); same.Low != 0 || same.High <= 0 {
		t.Errorf("gap of equal counts %v, want [0, >0]", same)
	}
	if one := Gap([]Count{a}, 0.95); one != (Interval{}) {
		t.Errorf("gap of one rate %v, want 0", one)
	}
}

func TestRatio(t *testing.T) {
	a, b := Count{300, 1000}, Count{500, 1000}
	got := Ratio([]Count{a, b}, 0.95)
	ia, ib := a.Interval(0.975), b.Interval(0.975)
	if want := (Interval{ia.Low / ib.High, ia.High / ib.Low}); got != want {
		t.Errorf("ratio %v, want %v", got, want)
	}
	if got := Ratio([]Count{{0, 50}, {0, 50}}, 0.95); got != (Interval{0, 1}) {
		t.Errorf("ratio of rates without hits %v, want [0, 1]", got)
	}
	if got := Ratio([]Count{a}, 0.95); got != (Interval{1, 1}) {
		t.Errorf("ratio of one rate %v, want 1", got)
	}
}

func TestLinear(t *testing.T) {
	counts := []Count{{30, 100}, {7, 9}, {50, 200}}
	a, b := counts[0].Interval(0.975), counts[2].Interval(0.975)
	got := Linear(0.5, []float64{2, 0, -3}, counts, 0.95)
	want := Interval{0.5 + 2*a.Low - 3*b.High, 0.5 + 2*a.High - 3*b.Low}
	if math.Abs(got.Low-want.Low) > 1e-15 || math.Abs(got.High-want.High) > 1e-15 {
		t.Errorf("linear %v, want %v", got, want)
	}
	if got := Linear(0.5, []float64{0}, counts[:1], 0.95); got != (Interval{0.5, 0.5}) {
		t.Errorf("a constant %v, want [0.5, 0.5]", got)
	}
}

// TestCoverage draws rows from known rates, with a fixed seed, and counts how often each interval
// contains the true value. With 4000 draws, 5 standard deviations of the count are 1.7 percentage
// points.
func TestCoverage(t *testing.T) {
	const draws, level, slack = 4000, 0.95, 0.017
	rng := rand.New(rand.NewPCG(1, 0x73746174))
	for _, c := range []struct {
		rates []float64
		rows  []int
	}{
		{[]float64{0.05, 0.05}, []int{60, 400}},
		{[]float64{0.5, 0.3}, []int{200, 37}},
		{[]float64{0.01, 0.02, 0.2}, []int{150, 300, 80}},
		{[]float64{0.9, 0.9, 0.9, 0.85}, []int{50, 60, 70, 80}},
	} {
		coefficients := []float64{1, -2, 0.5, 1}[:len(c.rates)]
		linear := 0.0
		low, high := c.rates[0], c.rates[0]
		for r, p := range c.rates {
			linear += coefficients[r] * p
			low, high = min(low, p), max(high, p)
		}
		hits := [4]int{}
		for range draws {
			counts := make([]Count, len(c.rates))
			for r, p := range c.rates {
				counts[r].Rows = c.rows[r]
				for range c.rows[r] {
					if rng.Float64() < p {
						counts[r].Hits++
					}
				}
			}
			for i, inside := range []bool{
				counts[0].Interval(level).contains(c.rates[0]),
				Gap(counts, level).contains(high - low),
				Ratio(counts, level).contains(low / high),
				Linear(0, coefficients, counts, level).contains(linear),
			} {
				if inside {
					hits[i]++
				}
			}
		}
		for i, name := range []string{"rate", "gap", "ratio", "linear"} {
			if share := float64(hits[i]) / draws; share < level-slack {
				t.Errorf("rates %v, rows %v: the interval of the %s contains the value in %v of the draws, want at least %v",
					c.rates, c.rows, name, share, level)
			}
		}
		// The exact interval is not too wide: at these sizes it misses the rate in some draws.
		if share := float64(hits[0]) / draws; share > 0.999 {
			t.Errorf("rates %v: the interval of one rate contains the rate in %v of the draws: it is too wide", c.rates, share)
		}
	}
}
