package constraints

import (
	"fmt"
	"math"
	"slices"
)

// Phi is a surrogate: a decreasing function of the margin y that replaces the 0-1 loss.
//
//	Sigmoid   1/(1+e^y)      in (0, 1); phi(0) = 1/2
//	Logistic  log(1+e^-y)    convex, smooth; phi(0) = log 2
//	Hinge     max(0, 1-y)    convex, kink at y = 1; phi(0) = 1
type Phi string

// The surrogates.
const (
	Sigmoid  Phi = "sigmoid"  // 1/(1+e^y), the paper's choice for Neyman-Pearson
	Logistic Phi = "logistic" // log(1+e^-y)
	Hinge    Phi = "hinge"    // max(0, 1-y)
)

// Phis lists the surrogates.
func Phis() []Phi { return []Phi{Sigmoid, Logistic, Hinge} }

// String returns the surrogate's name.
func (p Phi) String() string { return string(p) }

func (p Phi) valid() error {
	if !slices.Contains(Phis(), p) {
		return fmt.Errorf("constraints: unknown surrogate phi %q (supported: sigmoid, logistic, hinge)", string(p))
	}
	return nil
}

// Smooth reports whether phi is differentiable everywhere; Hinge is not.
func (p Phi) Smooth() bool { return p != Hinge }

// Value returns phi(y). It is accurate to a few ulps over the whole range. At the infinities it
// returns the limits: 0 at +Inf; at -Inf 1 for Sigmoid and +Inf for the unbounded Logistic and
// Hinge. NaN gives NaN. The caller widens float32 margins to float64, so the result is exact up to
// the rounding to float32.
func (p Phi) Value(y float64) float64 {
	if p == Hinge {
		return math.Max(0, 1-y)
	}
	return p.valueWith(y, math.Exp(-math.Abs(y)))
}

// valueWith returns Value(y) for e = exp(-abs(y)), of a surrogate other than Hinge.
func (p Phi) valueWith(y, e float64) float64 {
	switch p {
	case Sigmoid:
		if y > 0 { // use e^-y/(1+e^-y), because e^y overflows for large y
			return e / (1 + e)
		}
		return 1 / (1 + e)
	case Logistic:
		return math.Max(0, -y) + math.Log1p(e)
	}
	panic("constraints: invalid surrogate")
}

// Deriv returns phi'(y), in [-1, 0]. At Hinge's kink y = 1, where the subdifferential is [-1, 0],
// it returns 0, the element of smallest norm. The limits at the infinities are 0, except -1 at -Inf
// for Logistic and Hinge. NaN gives NaN.
func (p Phi) Deriv(y float64) float64 {
	switch p {
	case Sigmoid: // -phi(y) phi(-y), symmetric in y
		e := math.Exp(-math.Abs(y))
		return -e / ((1 + e) * (1 + e))
	case Logistic:
		return -Sigmoid.Value(y)
	case Hinge:
		switch {
		case y < 1:
			return -1
		case y >= 1:
			return 0
		}
		return y // NaN
	}
	panic("constraints: invalid surrogate")
}

// logisticChunk is the number of rows with one logarithm. A factor 1+e is at most 2, so that the
// product of a chunk does not overflow.
const logisticChunk = 64

// smallExponential is the bound below which e itself, and not 1+e, is added: 1+e would round e.
const smallExponential = 1.0 / 256

// meanLogistic returns the mean of the logistic losses of op loss, and the sigmoids of op rate, to
// the bit of signedLosses. Both losses of a row share the exponential e_i = exp(-|s_i|):
//
//	mean = 1/n sum_i max(0, -y_i s_i) + log(1 + e_i)
//
// The sum of the logarithms of a chunk of rows is the logarithm of a product. The chunks depend on
// n alone, so that the mean does not depend on the number of cores.
func meanLogistic(loss, rate *SignedLoss, scores []float64) (mean float64, rates []float64) {
	n := len(scores)
	rates = make([]float64, n)
	sums := make([]float64, (n+logisticChunk-1)/logisticChunk)
	inParts(n, func(from, to int) {
		// a part has the chunks that begin in it
		for k := (from + logisticChunk - 1) / logisticChunk; k*logisticChunk < to; k++ {
			first, end := k*logisticChunk, min((k+1)*logisticChunk, n)
			sum, product := 0.0, 1.0
			for i := first; i < end; i++ {
				s := scores[i]
				e := math.Exp(-math.Abs(s))
				if e < smallExponential {
					sum += smallLog1p(e)
				} else {
					product *= 1 + e
				}
				sum += math.Max(0, -float64(loss.labels[i])*s)
				rates[i] = Sigmoid.valueWith(float64(rate.labels[i])*s, e)
			}
			sums[k] = sum + math.Log(product)
		}
	})
	for _, sum := range sums {
		mean += sum
	}
	return mean / float64(n), rates
}

// smallLog1p returns log(1+e) for 0 <= e < smallExponential, by the series e - e^2/2 + ... - e^8/8,
// whose next term is below e/2^67.
func smallLog1p(e float64) float64 {
	return e * (1 - e*(1./2-e*(1./3-e*(1./4-e*(1./5-e*(1./6-e*(1./7-e/8)))))))
}
