package statistics

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestRefuses checks the panic of each function for a probability or a count out of range.
func TestRefuses(t *testing.T) {
	counts := []Count{{1, 10}, {2, 10}}
	for _, p := range []float64{-0.5, 0, 1, 1.5, math.NaN()} {
		for name, call := range map[string]func(){
			"ClopperPearson": func() { ClopperPearson(1, 10, p) },
			"Gap":            func() { Gap(counts, p) },
			"Quantile":       func() { Quantile(p) },
			"Umbrella":       func() { Umbrella(10, 1, p) },
			"UmbrellaRows":   func() { UmbrellaRows(0, p) },
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

// TestEnds checks ends of intervals that the limits 0 and 1 do not hide.
func TestEnds(t *testing.T) {
	a, b := Count{30, 1000}, Count{500, 1000}
	x, y := a.Interval(0.975), b.Interval(0.975)
	if got, want := Gap([]Count{a, b}, 0.95), (Interval{y.Low - x.High, y.High - x.Low}); got != want || want.Low <= 0 {
		t.Errorf("gap %v, want %v", got, want)
	}
	// A rate without rows has the interval [0, 1]. Its distance to itself is not in the gap.
	if got, want := Gap([]Count{{0, 0}, b}, 0.95), (Interval{0, max(y.High, 1-y.Low)}); got != want || want.High == 1 {
		t.Errorf("gap with a rate without rows %v, want %v", got, want)
	}
	// A rate without rows does not change a margin in which it has the coefficient 0.
	z := Quantile(0.95)
	p, n := (3+z*z/2)/(7+z*z), 7+z*z
	want := z * math.Sqrt(4*p*(1-p)/n)
	if got := Margin([]float64{0, -2}, []Count{{0, 0}, {3, 7}}, 0.05); math.Abs(got-want) > 1e-15 {
		t.Errorf("margin %v, want %v", got, want)
	}
	if got := roundUp(math.MaxInt); got != math.MaxInt {
		t.Errorf("2^63 rounded up is %d, want the largest int", got)
	}
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
		if got := UmbrellaRows(c.bound, c.tail); got != c.rows {
			t.Errorf("bound %v, tail %v: %d rows, want %d", c.bound, c.tail, got, c.rows)
		}
	}
}
