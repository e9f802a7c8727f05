package rates

import "gonum.org/v1/gonum/stat/distuv"

// interval returns the Clopper-Pearson interval of hits among rows at confidence Level.
func interval(hits, rows int) (low, high float64) {
	const tail = (1 - Level) / 2
	low, high = 0, 1
	if hits > 0 {
		low = distuv.Beta{Alpha: float64(hits), Beta: float64(rows - hits + 1)}.Quantile(tail)
	}
	if hits < rows {
		high = distuv.Beta{Alpha: float64(hits + 1), Beta: float64(rows - hits)}.Quantile(1 - tail)
	}
	return low, high
}
