package rates

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Estimate is a number that counts estimate, with one-sided limits: the number on new rows is below
// Value - Below, and above Value + Above, with a probability of at most a tail each.
type Estimate struct{ Value, Below, Above float64 }

// Interval is [Value - Below, Value + Above].
func (e Estimate) Interval() Interval { return Interval{e.Value - e.Below, e.Value + e.Above} }

// Estimate returns the rate with the limits of Clopper and Pearson. Without rows, the rate is 1/2
// with the limits 0 and 1.
func (c Count) Estimate(tail float64) Estimate {
	if c.Rows == 0 {
		return Estimate{0.5, 0.5, 0.5}
	}
	return limitsOf(c.Rate(), ClopperPearson(c.Hits, c.Rows, both(tail)))
}

// Estimate returns the rate with the limits for the effective number of rows.
func (w Weighted) Estimate(tail float64) Estimate { return limitsOf(w.Rate, w.Interval(both(tail))) }

// both returns the level of the interval with a tail on both sides. From a tail of a half on, that
// is none; a level above it is on the safe side.
func both(tail float64) float64 { return max(1-2*tail, 1e-9) }

func limitsOf(rate float64, i Interval) Estimate { return Estimate{rate, rate - i.Low, i.High - rate} }

// Times returns factor times the estimate.
func (e Estimate) Times(factor float64) Estimate {
	if factor < 0 {
		e.Below, e.Above = e.Above, e.Below
	}
	return Estimate{factor * e.Value, math.Abs(factor) * e.Below, math.Abs(factor) * e.Above}
}

// Plus returns the sum of estimates from different rows. The distances to its limits are those of
// the summands, squared and added:
//
//	Below = sqrt(a.Below^2 + b.Below^2),   Above = sqrt(a.Above^2 + b.Above^2)
//
// Source: Zou and Donner, "Construction of confidence limits about effect measures: a general
// approach", 2008; Newcombe, "Interval estimation for the difference between independent
// proportions", 1998. With the limits of Clopper and Pearson, the limits of a difference of two
// rates fail with a probability of at most about the tail also on few rows (TestLimitsOfPairs).
func (e Estimate) Plus(other Estimate) Estimate {
	return Estimate{e.Value + other.Value, math.Hypot(e.Below, other.Below), math.Hypot(e.Above, other.Above)}
}

// excessOf returns the rate of some rows minus the rate of all rows. The rows of part are among the
// rows of all, and rest are the others. With the share w of part,
//
//	p_part - p_all = (1 - w) (p_part - p_rest),
//
// a difference of rates of different rows. w is an estimate, too. estimate returns the estimates of
// counts at the tail.
func excessOf(part, all Count, estimate func(Count) Estimate) Estimate {
	rest := Count{all.Hits - part.Hits, all.Rows - part.Rows}
	if rest.Rows <= 0 {
		return Estimate{}
	}
	rest.Hits = max(0, min(rest.Hits, rest.Rows))
	w := float64(part.Rows) / float64(all.Rows)
	difference := estimate(part).Plus(estimate(rest).Times(-1))
	share := estimate(Count{part.Rows, all.Rows})
	share.Value = 0
	return difference.Times(1 - w).Plus(share.Times(-difference.Value))
}

// quotient returns a lower limit of a divided by b, of rates from different rows, between 0 and
// a.Value / b.Value: the smallest t at which the lower limit of a - t b is not positive. A lower
// limit of b / a is also the reciprocal of an upper limit of a / b.
func quotient(a, b Estimate) float64 {
	// (a - t b)^2 = a.Below^2 + t^2 b.Above^2, for the smaller root t
	constant := a.Value*a.Value - a.Below*a.Below
	if constant <= 0 {
		return 0
	}
	square, linear := b.Value*b.Value-b.Above*b.Above, a.Value*b.Value
	return constant / (linear + math.Sqrt(max(0, linear*linear-square*constant)))
}

// extreme returns an interval of the largest of several numbers, or of the smallest of them. at
// returns the intervals of the numbers whose ends fail with a probability of at most tail each; it
// is called for two tails.
//
// The upper end of the largest of S numbers is the largest of their upper ends: the end of the
// number that is the largest fails with the probability of its tail, and the other ends only raise
// it. The lower end is the largest of the lower ends, each of which may fail, so that the tails of
// numbers that are nearly the largest add up. With S = 1 both tails are (1-level)/2, else the upper
// ends have the tail (1-level)(1 - 1/S) and the lower ends (1-level)/S: if one number is far above
// the others, its two tails are 1-level together, and if all are equal, the lower ends have 1-level
// together, and the upper ends, which then all have to fail, next to nothing. The interval of the
// smallest number is that of the largest of their negatives.
func extreme(largest bool, level float64, at func(tail float64) []Interval) Interval {
	near, far := at((1-level)/2), []Interval(nil)
	if s := float64(len(near)); s <= 2 {
		far = near
	} else {
		near, far = at((1-level)*(1-1/s)), at((1-level)/s)
	}
	i := Interval{far[0].Low, near[0].High}
	if !largest {
		i = Interval{near[0].Low, far[0].High}
	}
	for k := range near {
		if largest {
			i = Interval{max(i.Low, far[k].Low), max(i.High, near[k].High)}
		} else {
			i = Interval{min(i.Low, near[k].Low), min(i.High, far[k].High)}
		}
	}
	return i
}

// Quantile returns the quantile of the standard normal distribution at p.
func Quantile(p float64) float64 {
	checkProbability("probability", p)
	return distuv.UnitNormal.Quantile(p)
}

// rowsFor returns the number of rows with which a limit has the distance wanted, if the distance is
// margin on the given number of rows. It falls about with the square root of the number of rows.
// rowsFor returns 0 if no number of rows is enough, because wanted is not positive.
func rowsFor(rows int, margin, wanted float64) int {
	if !(wanted > 0) {
		return 0
	}
	return roundUp(float64(rows) * (margin / wanted) * (margin / wanted))
}

// roundUp returns x rounded up, or the largest int if x is larger.
func roundUp(x float64) int {
	if x >= math.MaxInt {
		return math.MaxInt
	}
	return int(math.Ceil(x))
}
