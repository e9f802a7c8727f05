package statistics

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestRefuses checks the panic of each function for a probability or a count out of range.
func TestRefuses(t *testing.T) {
	for _, p := range []float64{-0.5, 0, 1, 1.5, math.NaN()} {
		for name, call := range map[string]func(){
			"ClopperPearson": func() { ClopperPearson(1, 10, p) },
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
