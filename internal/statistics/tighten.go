package statistics

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Margin returns the amount by which the bound of a linear combination of rates is tightened so
// that the untightened bound holds on new rows:
//
//	u' = u - Margin,   Margin = z sqrt(sum_r c_r^2 p_r (1-p_r) / n_r)
//
// c_r are the coefficients, p_r and n_r the rates and rows of the counts, and z is the normal
// quantile at 1 - tail. A combination of measured rates that is at most u' is at most u on new rows
// with a probability of about 1 - tail (normal approximation, one-sided). For J inequalities
// together, tail is (1 - confidence)/J; a bound on a gap of two rates is two inequalities. The
// formula is for rates without rows in common.
//
// So that a rate of 0 or 1 on few rows does not count as certain, p_r and n_r are the rate and rows
// after adding z^2/2 hits and z^2/2 misses (Agresti and Coull, "Approximate is better than 'exact'
// for interval estimation of binomial proportions", 1998). A rate without rows gives an infinite
// Margin.
func Margin(coefficients []float64, counts []Count, tail float64) float64 {
	z := Quantile(1 - tail)
	sum := 0.0
	for r, c := range coefficients {
		if c == 0 {
			continue
		}
		if counts[r].Rows == 0 {
			return math.Inf(1)
		}
		n := float64(counts[r].Rows) + z*z
		p := (float64(counts[r].Hits) + z*z/2) / n
		sum += c * c * p * (1 - p) / n
	}
	return z * math.Sqrt(sum)
}

// Quantile returns the quantile of the standard normal distribution at p.
func Quantile(p float64) float64 {
	checkProbability("probability", p)
	return distuv.UnitNormal.Quantile(p)
}

// RowsFor returns the number of rows with which Margin returns wanted, if Margin returns margin on
// the given number of rows. A margin falls with the square root of the number of rows. RowsFor
// returns 0 if no number of rows is enough, because wanted is not positive or margin is infinite.
func RowsFor(rows int, margin, wanted float64) int {
	if !(wanted > 0) || math.IsInf(margin, 1) {
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
