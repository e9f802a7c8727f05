package rates

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// Umbrella returns the order statistic of the Neyman-Pearson umbrella algorithm. A threshold at the
// k-th smallest score of n held-out rows leaves a share of more than bound of new rows' scores
// above the threshold with a probability of at most
//
//	v(k) = sum_{j=k}^{n} C(n,j) (1-bound)^j bound^(n-j)
//
// with equality for continuous scores. Umbrella returns the smallest k in 1..n with v(k) <= tail,
// and false if none exists, because n < umbrellaRows(bound, tail). Source: Tong, Feng and Li,
// "Neyman-Pearson classification algorithms and NP receiver operating characteristics", 2018,
// Proposition 1.
func Umbrella(n int, bound, tail float64) (k int, ok bool) {
	checkProbability("tail", tail)
	if bound >= 1 {
		return 1, n > 0
	}
	if n < 1 || !(bound > 0) || umbrellaTail(n, n, bound) > tail {
		return 0, false
	}
	return 1 + sort.Search(n-1, func(i int) bool { return umbrellaTail(n, i+1, bound) <= tail }), true
}

// umbrellaTail returns v(k).
func umbrellaTail(n, k int, bound float64) float64 {
	return distuv.Binomial{N: float64(n), P: 1 - bound}.Survival(float64(k - 1))
}

// umbrellaRows returns the smallest number of held-out rows with which Umbrella can keep a rate at
// or below bound: log(tail) / log(1-bound), rounded up. It returns 0 if bound is not positive: no
// number of rows is enough.
func umbrellaRows(bound, tail float64) int {
	checkProbability("tail", tail)
	switch {
	case !(bound > 0):
		return 0
	case bound >= 1:
		return 1
	}
	// Rounding leaves the quotient a few units in the last place off, so the definition decides.
	n := max(1, int(math.Log(tail)/math.Log1p(-bound)))
	for math.Pow(1-bound, float64(n)) > tail {
		n++
	}
	return n
}
