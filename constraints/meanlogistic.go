package constraints

import "math"

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
