package statistics

import (
	"fmt"
	"math"

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

// Effective returns Kish's effective number of rows, (sum of w)^2 / (sum of w^2): a mean of
// independent values with these weights has the variance of a plain mean of so many values. Source:
// Kish, "Survey Sampling", 1965.
func Effective(rows int, weight, squares float64) float64 {
	if rows == 0 {
		return 0
	}
	return min(weight*weight/squares, float64(rows))
}

// Rate is a counted rate with its intervals: a Count, a Weighted, or a Combination of several.
type Rate interface{ Interval(level float64) Interval }

// Combination is Constant + the sum of the rates of Counts times Coefficients.
type Combination struct {
	Constant     float64
	Coefficients []float64
	Counts       []Rate
}

// Interval is Linear of the combination.
func (c Combination) Interval(level float64) Interval {
	return Linear(c.Constant, c.Coefficients, c.Counts, level)
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
		panic(fmt.Sprintf("statistics: %d hits among %d rows", hits, rows))
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

// Gap returns an interval of the largest minus the smallest of the counts' rates. It takes the
// Clopper-Pearson interval of each of the K rates at the level 1 - (1-level)/K (Bonferroni): for
// two rates, both intervals have the level 1 - (1-level)/2. All K rates are in their intervals with
// a probability of at least level, also if the rates have rows in common, and the gap is then
// between
//
//	low  = max_a low_a - min_b high_b, at least 0
//	high = max over a != b of high_a - low_b
//
// The interval is conservative: it contains the gap more often than level. The gap of fewer than
// two rates is 0.
func Gap[R Rate](counts []R, level float64) Interval {
	boxes := simultaneous(counts, level)
	gap := Interval{}
	for a, first := range boxes {
		for b, second := range boxes {
			if a != b {
				gap.Low = max(gap.Low, first.Low-second.High)
				gap.High = max(gap.High, first.High-second.Low)
			}
		}
	}
	return gap
}

// Ratio returns an interval of the smallest of the counts' rates divided by the largest. The
// intervals of the rates are those of Gap. The ratio of fewer than two rates is 1, and so is the
// ratio of rates that are all 0.
func Ratio[R Rate](counts []R, level float64) Interval {
	boxes := simultaneous(counts, level)
	ratio := Interval{1, 1}
	for a, first := range boxes {
		for b, second := range boxes {
			if a != b {
				ratio.Low = min(ratio.Low, first.Low/second.High)
				ratio.High = min(ratio.High, first.High/second.Low) // +Inf if second.Low is 0: every High is positive
			}
		}
	}
	return ratio
}

// Excess returns an interval of the largest of the groups' rates minus the rate all. The intervals
// of the K + 1 rates are those of Gap, also if the rates have rows in common; the excess is then
// between
//
//	low  = max_a low_a - high_all
//	high = max_a high_a - low_all
func Excess[R Rate](all R, groups []R, level float64) Interval {
	boxes := simultaneous(append([]R{all}, groups...), level)
	excess := Interval{math.Inf(-1), math.Inf(-1)}
	for _, own := range boxes[1:] {
		excess.Low, excess.High = max(excess.Low, own.Low-boxes[0].High), max(excess.High, own.High-boxes[0].Low)
	}
	return excess
}

// Distance returns an interval of the largest absolute difference between one of the groups' rates
// and the rate all. The intervals of the rates are those of Excess.
func Distance[R Rate](all R, groups []R, level float64) Interval {
	boxes := simultaneous(append([]R{all}, groups...), level)
	var distance Interval
	for _, own := range boxes[1:] {
		above, below := own.Low-boxes[0].High, boxes[0].Low-own.High
		distance.Low = max(distance.Low, above, below)
		distance.High = max(distance.High, own.High-boxes[0].Low, boxes[0].High-own.Low)
	}
	return distance
}

// Linear returns an interval of constant + sum_r coefficients[r] rate_r. It takes the
// Clopper-Pearson interval of each rate with a coefficient other than 0, at the level
// 1 - (1-level)/K for K such rates (Bonferroni), and adds the ends that the signs of the
// coefficients select. The interval is conservative, also if the rates have rows in common.
func Linear[R Rate](constant float64, coefficients []float64, counts []R, level float64) Interval {
	var used []R
	var signed []float64
	for r, c := range coefficients {
		if c != 0 {
			used, signed = append(used, counts[r]), append(signed, c)
		}
	}
	sum := Interval{constant, constant}
	for r, box := range simultaneous(used, level) {
		if c := signed[r]; c > 0 {
			sum.Low, sum.High = sum.Low+c*box.Low, sum.High+c*box.High
		} else {
			sum.Low, sum.High = sum.Low+c*box.High, sum.High+c*box.Low
		}
	}
	return sum
}

// simultaneous returns intervals that contain all rates together with a probability of at least
// level.
func simultaneous[R Rate](counts []R, level float64) []Interval {
	checkProbability("level", level)
	intervals := make([]Interval, len(counts))
	for i, c := range counts {
		intervals[i] = c.Interval(1 - (1-level)/float64(len(counts)))
	}
	return intervals
}

func checkProbability(name string, p float64) {
	if !(p > 0 && p < 1) {
		panic(fmt.Sprintf("statistics: the %s is %v, want a number between 0 and 1", name, p))
	}
}
