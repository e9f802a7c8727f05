package statistics

import (
	"math"
	"math/rand/v2"
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
			q := Quotient(x, y)
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
	e, d := Excess(part, all, own), part.Estimate(tail).Plus(Count{60, 300}.Estimate(tail).Times(-1))
	if want := 0.3 - 0.225; math.Abs(e.Value-want) > 1e-15 || e.Below < 0.75*d.Below || e.Below > 0.77*d.Below || e.Above < 0.75*d.Above {
		t.Errorf("%+v, the difference is %+v", e, d)
	}
	if got := Excess(all, all, own); got != (Estimate{}) {
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
			i, truth := Excess(part, all, own).Interval(), (1-c.share)*(c.p-c.q)
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
			if got := Extreme(largest, 0.95, at(n)); math.Abs(got.Low-want[k].Low) > 1e-9 || math.Abs(got.High-want[k].High) > 1e-9 {
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
	rows := RowsFor(500, margin, 0.01)
	if got := gap(float64(rows) / 500); math.Abs(got-0.01) > 4e-4 {
		t.Errorf("%d rows have the margin %v, want 0.01", rows, got)
	}
	if RowsFor(500, margin, 0) != 0 || RowsFor(500, margin, math.NaN()) != 0 {
		t.Error("an impossible bound needs a number of rows, want 0")
	}
	if got := RowsFor(1<<40, 1, 1e-12); got != math.MaxInt {
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
