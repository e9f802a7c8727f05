package rates

import (
	"fmt"

	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is a closed interval.
type Interval struct{ Low, High float64 }

// Count is the number of hits among rows. Its rate is Hits/Rows.
type Count struct{ Hits, Rows int }

// Rate returns Hits/Rows, or NaN without rows.
func (c Count) Rate() float64 { return float64(c.Hits) / float64(c.Rows) }

// Interval is ClopperPearson(c.Hits, c.Rows, level).
func (c Count) Interval(level float64) Interval { return ClopperPearson(c.Hits, c.Rows, level) }

// Weighted is a rate of rows with weights: the weight of the hits over the weight of all rows, with
// the effective number of rows.
type Weighted struct{ Rate, Rows float64 }

// Interval is the Clopper-Pearson interval for the effective number of rows. Source: Korn and
// Graubard, "Confidence intervals for proportions with small expected number of positive counts
// estimated from survey data", 1998.
func (w Weighted) Interval(level float64) Interval {
	return clopperPearson(w.Rate*w.Rows, w.Rows, level)
}

// Rate is a counted rate with its intervals and limits: a Count or a Weighted.
type Rate interface {
	Interval(level float64) Interval
	Estimate(tail float64) Estimate
}

// ClopperPearson returns the exact interval of a rate after hits among rows:
//
//	low  = quantile (1-level)/2 of Beta(hits, rows-hits+1), 0 without hits
//	high = quantile (1+level)/2 of Beta(hits+1, rows-hits), 1 without misses
//
// It contains the rate with a probability of at least level, for every rate and every number of
// rows. Without rows, it is [0, 1]. ClopperPearson panics if hits is not in 0..rows or level is not
// between 0 and 1. Source: Clopper and Pearson, "The use of confidence or fiducial limits
// illustrated in the case of the binomial", 1934.
func ClopperPearson(hits, rows int, level float64) Interval {
	if hits < 0 || hits > rows {
		panic(fmt.Sprintf("rates: %d hits among %d rows", hits, rows))
	}
	return clopperPearson(float64(hits), float64(rows), level)
}

// clopperPearson is ClopperPearson for numbers that need not be whole.
func clopperPearson(k, n, level float64) Interval {
	checkProbability("level", level)
	tail := (1 - level) / 2
	interval := Interval{0, 1}
	if k > 0 {
		interval.Low = distuv.Beta{Alpha: k, Beta: n - k + 1}.Quantile(tail)
	}
	if k < n {
		interval.High = distuv.Beta{Alpha: k + 1, Beta: n - k}.Quantile(1 - tail)
	}
	return interval
}

func checkProbability(name string, p float64) {
	if !(p > 0 && p < 1) {
		panic(fmt.Sprintf("rates: the %s is %v, want a number between 0 and 1", name, p))
	}
}
