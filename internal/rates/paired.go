package rates

import (
	"fmt"
	"math"
)

// Paired returns an interval of the difference of two rates of the same rows, for example the rate
// of the decisions of a new model minus that of an old one. Of n rows, gained are hits of the new
// model alone, and lost of the old one alone. With p = (gained+1)/(n+2) and q = (lost+1)/(n+2),
//
//	p - q ± z sqrt((p + q - (p - q)^2)/(n + 2)), within [-1, 1]
//
// for the quantile z of the level. Its coverage is close to the level, or above it if few rows
// differ. Source: Bonett and Price, "Adjusted Wald confidence interval for a difference of binomial
// proportions based on paired data", 2012. Paired panics if the counts are not of n rows.
func Paired(gained, lost, n int, level float64) Interval {
	if min(gained, lost) < 0 || gained+lost > n {
		panic(fmt.Sprintf("rates: %d gained and %d lost of %d rows", gained, lost, n))
	}
	rows := float64(n + 2)
	p, q := float64(gained+1)/rows, float64(lost+1)/rows
	return around(p-q, math.Sqrt((p+q-(p-q)*(p-q))/rows), level)
}

// PairedPrecision returns an interval of the difference of two precisions on the same rows. Each
// row adds influence/n, with mean 0, to the difference of the precisions P' and P:
//
//	influence = n (d' (y - P')/D' - d (y - P)/D)
//
// for the label y, the decisions d' and d, and the numbers D' and D of positive decisions; the
// variance is sum (influence/n)^2 (the delta method), at least 2/(min(D, D') + 2)^2, because few
// changes do not tell their number on new rows. truth, old and new say of each row whether its
// label and decisions are positive. Without positive decisions of both, the interval is [-1, 1].
func PairedPrecision(truth, old, new func(i int) bool, n int, level float64) Interval {
	var hits, all [2]float64
	for i := range n {
		for k, decided := range [2]bool{old(i), new(i)} {
			if decided {
				all[k]++
				if truth(i) {
					hits[k]++
				}
			}
		}
	}
	if min(all[0], all[1]) == 0 {
		return Interval{-1, 1}
	}
	variance := 0.0
	for i := range n {
		influence := 0.0
		for k, decided := range [2]bool{old(i), new(i)} {
			if !decided {
				continue
			}
			// One more right and one more wrong decision, as in Paired: a precision of 1 is not certain.
			own := -(hits[k] + 1) / (all[k] + 2)
			if truth(i) {
				own++
			}
			influence += float64(2*k-1) * own / all[k]
		}
		variance += influence * influence
	}
	fewer := min(all[0], all[1]) + 2
	variance = max(variance, 2/(fewer*fewer)) // one gained and one lost row, as in Paired
	return around(hits[1]/all[1]-hits[0]/all[0], math.Sqrt(variance), level)
}

// around returns the normal interval of a difference of rates.
func around(difference, standardError, level float64) Interval {
	checkProbability("level", level)
	half := Quantile((1+level)/2) * standardError
	return Interval{max(-1, difference-half), min(1, difference+half)}
}
