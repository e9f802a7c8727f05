package decisions

import "math"

// Counts holds a number for each cell: split (training, validation, test), group and label. The
// number is a number of rows, or the expected number of accepted rows of a classifier that may be
// randomised.
type Counts [3][2][2]float64

// Measured holds the values of a problem on the decisions of a split.
type Measured struct {
	// Error is the error rate. For a Neyman-Pearson problem, Error is the false negative rate.
	Error float64
	// Rates are the bounded values. Demographic parity has the gap of the positive rates. Equalized
	// odds has the gaps of the true and of the false positive rates. Neyman-Pearson has the false
	// positive rate.
	Rates []float64
}

// largest returns the largest bounded value.
func (m Measured) largest() float64 {
	largest := 0.0
	for _, r := range m.Rates {
		largest = max(largest, r)
	}
	return largest
}

// measure computes the values of a problem on a split from the accepted rows.
func measure(kind Kind, totals, accepted Counts, split int) Measured {
	n, a := totals[split], accepted[split]
	rate := func(group, label int) float64 { return a[group][label] / n[group][label] }
	both := func(c [2][2]float64, label int) float64 { return c[0][label] + c[1][label] }
	rows := both(n, 0) + both(n, 1)
	m := Measured{Error: (both(a, 0) + both(n, 1) - both(a, 1)) / rows}
	switch kind {
	case demographicParity:
		positive := func(g int) float64 { return (a[g][0] + a[g][1]) / (n[g][0] + n[g][1]) }
		m.Rates = []float64{math.Abs(positive(1) - positive(0))}
	case equalizedOdds:
		m.Rates = []float64{math.Abs(rate(1, 1) - rate(0, 1)), math.Abs(rate(1, 0) - rate(0, 0))}
	case neymanPearson:
		m.Rates = []float64{both(a, 0) / both(n, 0)}
		m.Error = 1 - both(a, 1)/both(n, 1)
	}
	return m
}

// rounding is the tolerance for the rounding of a quotient of counts.
const rounding = 1e-9
