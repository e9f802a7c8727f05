package rates

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// TestEstimates compares estimates and their sums with the definitions.
func TestEstimates(t *testing.T) {
	a, b := Count{30, 100}, Count{7, 9}
	x, y := a.Estimate(0.05), b.Estimate(0.05)
	if i, want := x.Interval(), a.Interval(0.9); x.Value != 0.3 || math.Abs(i.Low-want.Low) > 1e-15 || math.Abs(i.High-want.High) > 1e-15 {
		t.Errorf("%+v, want the interval %v of both tails", x, want)
	}
	if got := (Count{}).Estimate(0.05).Interval(); got != (Interval{0, 1}) {
		t.Errorf("without rows %v, want [0, 1]", got)
	}
	got := x.Times(2).Plus(y.Times(-3))
	want := Estimate{0.6 - 3*7./9, math.Hypot(2*x.Below, 3*y.Above), math.Hypot(2*x.Above, 3*y.Below)}
	if math.Abs(got.Value-want.Value) > 1e-15 || math.Abs(got.Below-want.Below) > 1e-15 || math.Abs(got.Above-want.Above) > 1e-15 {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestQuotient checks the definition of the quotient's limit on rates with and without hits, and
// that it grows with a and falls with b.
func TestQuotient(t *testing.T) {
	for _, a := range []Count{{0, 50}, {1, 50}, {20, 50}, {50, 50}, {300, 1000}} {
		for _, b := range []Count{{0, 50}, {2, 50}, {20, 50}, {50, 50}, {500, 1000}} {
			x, y := a.Estimate(0.05), b.Estimate(0.05)
			q := quotient(x, y)
			if x.Value == 0 {
				if q != 0 {
					t.Errorf("%v / %v: %v, want 0", a, b, q)
				}
				continue
			}
			at := func(f float64) float64 { return x.Plus(y.Times(-f * q)).Interval().Low }
			if !(q > 0) || math.Abs(at(1)) > 1e-12 || at(0.99) <= 0 || at(1.01) >= 0 || y.Value > 0 && q > x.Value/y.Value {
				t.Errorf("%v / %v: %v, where the lower limit is %v", a, b, q, at(1))
			}
		}
	}
}

// TestExcess compares the excess of a group with that of the difference to the other rows, and
// checks by drawing that its limits fail as often as the tail says.
func TestExcess(t *testing.T) {
	const tail, draws = 0.05, 4000
	own := func(c Count) Estimate { return c.Estimate(tail) }
	part, all := Count{30, 100}, Count{90, 400}
	e, d := excessOf(part, all, own), part.Estimate(tail).Plus(Count{60, 300}.Estimate(tail).Times(-1))
	if want := 0.3 - 0.225; math.Abs(e.Value-want) > 1e-15 || e.Below < 0.75*d.Below || e.Below > 0.77*d.Below || e.Above < 0.75*d.Above {
		t.Errorf("%+v, the difference is %+v", e, d)
	}
	if got := excessOf(all, all, own); got != (Estimate{}) {
		t.Errorf("all rows: %+v", got)
	}
	rng := rand.New(rand.NewPCG(6, 7))
	for _, c := range []struct{ share, p, q float64 }{{0.5, 0.4, 0.3}, {0.2, 0.15, 0.05}, {0.8, 0.9, 0.2}} {
		var low, high int
		for range draws {
			var part, all Count
			all.Rows = 600
			for range all.Rows {
				in, p := rng.Float64() < c.share, c.q
				if in {
					p = c.p
					part.Rows++
				}
				if rng.Float64() < p {
					all.Hits++
					if in {
						part.Hits++
					}
				}
			}
			i, truth := excessOf(part, all, own).Interval(), (1-c.share)*(c.p-c.q)
			if truth < i.Low {
				low++
			} else if truth > i.High {
				high++
			}
		}
		for _, n := range []int{low, high} {
			if share := float64(n) / draws; share > tail+0.007 || share < 0.025 {
				t.Errorf("%+v: a limit fails in %v of the draws, want about %v", c, share, tail)
			}
		}
	}
}

// TestLimitsOfPairs computes the probability that the upper limit of a difference of two rates, or
// of a difference that bounds their ratio, is at most the true value, exactly and over a grid of
// rates: for no rates is it more than the tail beyond rounding to a tenth of a point.
func TestLimitsOfPairs(t *testing.T) {
	const tail = 0.05
	for _, rows := range [][2]int{{20, 20}, {30, 100}, {100, 30}, {300, 60}, {60, 300}, {200, 200}} {
		var estimates [2][]Estimate
		for k, n := range rows {
			for hits := range n + 1 {
				estimates[k] = append(estimates[k], Count{hits, n}.Estimate(tail))
			}
		}
		worst := 0.0
		for q := 0.0; q < 0.99; q += 0.06 {
			for _, bound := range []float64{0.05, 0.2} {
				for _, scale := range []float64{1, 1 - bound} {
					limit, p := bound, q+bound
					if scale < 1 { // (1 - bound) p - q <= 0 at its bound
						limit, p = 0, q/scale
					}
					if p > 1 || p == q {
						continue
					}
					wrong := 0.0
					for x, a := range estimates[0] {
						px := distuv.Binomial{N: float64(rows[0]), P: p}.Prob(float64(x))
						for y, b := range estimates[1] {
							if px > 1e-6 && a.Times(scale).Plus(b.Times(-1)).Interval().High < limit {
								wrong += px * distuv.Binomial{N: float64(rows[1]), P: q}.Prob(float64(y))
							}
						}
					}
					worst = max(worst, wrong)
				}
			}
		}
		if worst > tail+0.001 || worst < 0.6*tail {
			t.Errorf("%v rows: the limit fails with a probability of up to %v, want about %v at most", rows, worst, tail)
		}
	}
}

// TestExtreme checks which ends and tails the interval of an extreme takes.
func TestExtreme(t *testing.T) {
	values := []float64{1, 5, 3, 4}
	at := func(n int) func(tail float64) []Interval {
		return func(tail float64) (list []Interval) {
			for _, v := range values[:n] {
				list = append(list, Interval{v - 1/tail, v + 1/tail})
			}
			return list
		}
	}
	for n, want := range map[int][2]Interval{ // of the largest and of the smallest
		1: {{1 - 40, 1 + 40}, {1 - 40, 1 + 40}},
		2: {{5 - 40, 5 + 40}, {1 - 40, 1 + 40}},
		4: {{5 - 80, 5 + 80./3}, {1 - 80./3, 1 + 80}},
	} {
		for k, largest := range []bool{true, false} {
			if got := extreme(largest, 0.95, at(n)); math.Abs(got.Low-want[k].Low) > 1e-9 || math.Abs(got.High-want[k].High) > 1e-9 {
				t.Errorf("%d numbers, largest %t: %v, want %v", n, largest, got, want[k])
			}
		}
	}
}

// TestQuantile compares Quantile with scipy.stats.norm.ppf.
func TestQuantile(t *testing.T) {
	for p, want := range map[float64]float64{0.95: 1.6448536269514722, 0.975: 1.959963984540054, 0.9875: 2.241402727604947} {
		if got := Quantile(p); math.Abs(got-want) > 1e-12 {
			t.Errorf("quantile at %v: %v, want %v", p, got, want)
		}
	}
}

// TestRowsFor checks that the returned number of rows gives the wanted distance.
func TestRowsFor(t *testing.T) {
	gap := func(factor float64) float64 {
		times := func(n int) int { return int(math.Ceil(factor * float64(n))) }
		return Count{times(80), times(200)}.Estimate(0.025).Plus(Count{times(120), times(300)}.Estimate(0.025).Times(-1)).Above
	}
	margin := gap(1)
	rows := rowsFor(500, margin, 0.01)
	if got := gap(float64(rows) / 500); math.Abs(got-0.01) > 4e-4 {
		t.Errorf("%d rows have the margin %v, want 0.01", rows, got)
	}
	if rowsFor(500, margin, 0) != 0 || rowsFor(500, margin, math.NaN()) != 0 {
		t.Error("an impossible bound needs a number of rows, want 0")
	}
	if got := rowsFor(1<<40, 1, 1e-12); got != math.MaxInt {
		t.Errorf("%d rows, want the largest int", got)
	}
	if got := roundUp(math.MaxInt); got != math.MaxInt {
		t.Errorf("2^63 rounded up is %d, want the largest int", got)
	}
}

// A tail of a half or more has limits, too, on the safe side of the number itself.
func TestLargeTails(t *testing.T) {
	for _, tail := range []float64{0.5, 0.9} {
		for _, e := range []Estimate{{Value: 0.3}, Count{Hits: 3, Rows: 10}.Estimate(tail), Weighted{Rate: 0.3, Rows: 10}.Estimate(tail)} {
			if !(e.Below >= 0 && e.Above >= 0 && e.Value == 0.3) {
				t.Errorf("tail %v: %+v", tail, e)
			}
		}
	}
}

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

// TestRefuses checks the panic of each function for a probability or a count out of range.
func TestRefuses(t *testing.T) {
	for _, p := range []float64{-0.5, 0, 1, 1.5, math.NaN()} {
		for name, call := range map[string]func(){
			"ClopperPearson": func() { ClopperPearson(1, 10, p) },
			"Quantile":       func() { Quantile(p) },
			"Umbrella":       func() { Umbrella(10, 1, p) },
			"UmbrellaRows":   func() { umbrellaRows(0, p) },
		} {
			if said := panics(call); !strings.Contains(said, "want a number between 0 and 1") {
				t.Errorf("%s with %v: panic %q", name, p, said)
			}
		}
	}
	for _, hits := range []int{-1, 11} {
		if said := panics(func() { ClopperPearson(hits, 10, 0.95) }); !strings.Contains(said, "hits among 10 rows") {
			t.Errorf("%d hits: panic %q", hits, said)
		}
	}
}

// panics returns the text of the panic of call, or "".
func panics(call func()) (said string) {
	defer func() {
		if r := recover(); r != nil {
			said = fmt.Sprint(r)
		}
	}()
	call()
	return ""
}

// TestUmbrellaAtItsLimits uses bounds and tails at which v(k) is exactly the tail, bounds out of
// range, and few rows.
func TestUmbrellaAtItsLimits(t *testing.T) {
	for _, c := range []struct {
		n           int
		bound, tail float64
		k           int
		ok          bool
	}{
		{1, 0.5, 0.5, 1, true}, {2, 0.5, 0.75, 1, true}, {2, 0.5, 0.25, 2, true}, {2, 0.5, 0.24, 0, false}, {1, 0.96, 0.05, 1, true},
		{10, 1.5, 0.05, 1, true}, {0, 1, 0.05, 1, false}, {10, -0.1, 0.05, 0, false}, {10, math.NaN(), 0.05, 0, false}, {0, 0.5, 0.05, 0, false},
		{-1, 0.5, 0.05, 0, false},
	} {
		if k, ok := Umbrella(c.n, c.bound, c.tail); k != c.k || ok != c.ok {
			t.Errorf("n %d, bound %v, tail %v: %d, %t, want %d, %t", c.n, c.bound, c.tail, k, ok, c.k, c.ok)
		}
	}
	for _, c := range []struct {
		bound, tail float64
		rows        int
	}{{0.5, 0.25, 2}, {0.9, 0.02, 2}, {1, 0.05, 1}, {2, 0.05, 1}, {math.NaN(), 0.05, 0}} {
		if got := umbrellaRows(c.bound, c.tail); got != c.rows {
			t.Errorf("bound %v, tail %v: %d rows, want %d", c.bound, c.tail, got, c.rows)
		}
	}
}

// The exact coverage of Paired, by enumeration of all outcomes, is close to the level, and the
// interval is that of the paper's formula.
func TestPairedCoverage(t *testing.T) {
	const level = 0.95
	logFactorial := func(n int) float64 { v, _ := math.Lgamma(float64(n + 1)); return v }
	mean, cases := 0.0, 0.0
	for _, n := range []int{10, 30, 100} {
		for _, p := range []float64{0.01, 0.05, 0.2, 0.4} {
			for _, q := range []float64{0.01, 0.05, 0.2, 0.4} {
				covered := 0.0
				for b := 0; b <= n; b++ {
					for c := 0; b+c <= n; c++ {
						i := Paired(b, c, n, level)
						if i.Low <= p-q && p-q <= i.High {
							rest := n - b - c
							covered += math.Exp(logFactorial(n) - logFactorial(b) - logFactorial(c) - logFactorial(rest) +
								float64(b)*math.Log(p) + float64(c)*math.Log(q) + float64(rest)*math.Log(1-p-q))
						}
					}
				}
				if covered < 0.93 {
					t.Errorf("%d rows, %v gained, %v lost: coverage %.3f", n, p, q, covered)
				}
				mean, cases = mean+covered, cases+1
			}
		}
	}
	if mean /= cases; mean < level || mean > 0.985 {
		t.Errorf("mean coverage %.4f", mean)
	}
	if i := Paired(0, 0, 8, level); math.Abs(i.High-1.959964*math.Sqrt(0.02)) > 1e-6 || i.Low != -i.High {
		t.Errorf("%+v", i)
	}
}

// PairedPrecision covers the difference of precisions of dependent decisions with about its level.
func TestPairedPrecisionCoverage(t *testing.T) {
	const level, samples, n = 0.95, 2000, 300
	rng := rand.New(rand.NewPCG(8, 3))
	// A row is positive with probability 0.4. The old model accepts positive rows with probability 0.7
	// and others with 0.2; the new one repeats the decision with probability 0.8, else draws anew with
	// 0.6 and 0.1.
	accepted := func(a, b float64) float64 { return 0.4 * a / (0.4*a + 0.6*b) }
	want := accepted(0.8*0.7+0.2*0.6, 0.8*0.2+0.2*0.1) - accepted(0.7, 0.2)
	covered := 0
	truth, old, new := make([]bool, n), make([]bool, n), make([]bool, n)
	of := func(list []bool) func(int) bool { return func(i int) bool { return list[i] } }
	for range samples {
		for i := range truth {
			truth[i] = rng.Float64() < 0.4
			first, again := 0.2, 0.1
			if truth[i] {
				first, again = 0.7, 0.6
			}
			old[i] = rng.Float64() < first
			if new[i] = old[i]; rng.Float64() < 0.2 {
				new[i] = rng.Float64() < again
			}
		}
		if i := PairedPrecision(of(truth), of(old), of(new), n, level); i.Low <= want && want <= i.High {
			covered++
		}
	}
	if share := float64(covered) / samples; share < 0.935 || share > 0.97 {
		t.Errorf("coverage %.3f", share)
	}
	if i := PairedPrecision(of(truth), of(old), of(make([]bool, n)), n, level); i != (Interval{-1, 1}) {
		t.Errorf("%+v", i)
	}
}
