package statistics

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestQuantile compares Quantile with scipy.stats.norm.ppf.
func TestQuantile(t *testing.T) {
	for p, want := range map[float64]float64{0.95: 1.6448536269514722, 0.975: 1.959963984540054, 0.9875: 2.241402727604947} {
		if got := Quantile(p); math.Abs(got-want) > 1e-12 {
			t.Errorf("quantile at %v: %v, want %v", p, got, want)
		}
	}
}

// TestMargin checks the formula on many rows, where the added hits and misses hardly matter, and
// limits of the margin on few rows.
func TestMargin(t *testing.T) {
	counts := []Count{{400_000, 1_000_000}, {3, 7}, {100_000, 500_000}}
	want := Quantile(0.9875) * math.Sqrt(0.4*0.6/1e6+4*0.2*0.8/5e5)
	if got := Margin([]float64{1, 0, -2}, counts, 0.0125); math.Abs(got-want) > 1e-5*want {
		t.Errorf("margin %v, want %v", got, want)
	}
	if got := Margin([]float64{1}, []Count{{0, 100}}, 0.05); !(got > 0.01 && got < 0.03) {
		t.Errorf("margin of 0 hits in 100 rows %v, want about 0.02: no hits are not certainty", got)
	}
	if got := Margin([]float64{1, -1}, []Count{{1, 2}, {0, 0}}, 0.05); !math.IsInf(got, 1) {
		t.Errorf("margin without rows %v, want +Inf", got)
	}
}

// TestRowsFor checks that the returned number of rows gives the wanted margin.
func TestRowsFor(t *testing.T) {
	counts := []Count{{80, 200}, {120, 300}}
	gap := []float64{1, -1}
	margin := Margin(gap, counts, 0.025)
	rows := RowsFor(500, margin, 0.01)
	factor := float64(rows) / 500
	more := make([]Count, len(counts))
	for i, c := range counts {
		more[i] = Count{int(math.Ceil(factor * float64(c.Hits))), int(math.Ceil(factor * float64(c.Rows)))}
	}
	if got := Margin(gap, more, 0.025); math.Abs(got-0.01) > 2e-4 {
		t.Errorf("%d rows have the margin %v, want 0.01", rows, got)
	}
	if RowsFor(500, margin, 0) != 0 || RowsFor(0, math.Inf(1), 0.1) != 0 {
		t.Error("an impossible bound needs a number of rows, want 0")
	}
	if got := RowsFor(1<<40, 1, 1e-12); got != math.MaxInt {
		t.Errorf("%d rows, want the largest int", got)
	}
}

// TestMarginHolds draws counts of two groups with a fixed seed. The measured gap is within the
// tightened bound although the true gap exceeds the bound in at most the tail of all draws.
func TestMarginHolds(t *testing.T) {
	const draws, tail = 20000, 0.05
	rng := rand.New(rand.NewPCG(3, 0x6d617267))
	binomial := func(n int, p float64) Count {
		c := Count{Rows: n}
		for range n {
			if rng.Float64() < p {
				c.Hits++
			}
		}
		return c
	}
	for _, c := range []struct {
		p, q, bound float64
		n, m        int
	}{{0.42, 0.3, 0.1199, 150, 200}, {0.1, 0.03, 0.0699, 300, 90}, {0.05, 0.01, 0.0399, 200, 200}} {
		wrong := 0
		for range draws {
			counts := []Count{binomial(c.n, c.p), binomial(c.m, c.q)}
			if counts[0].Rate()-counts[1].Rate() <= c.bound-Margin([]float64{1, -1}, counts, tail) {
				wrong++
			}
		}
		if share := float64(wrong) / draws; share > tail+0.01 {
			t.Errorf("rates %v and %v: the bound %v is stated wrongly in %v of the draws, want at most %v", c.p, c.q, c.bound, share, tail)
		}
	}
}
