package kernel

import "unsafe"

// pairs are the passes of one level over the pairs of rows elements of e and cols elements of f, at
// least one of each.
type pairs[F Float] struct {
	shares                 func(rows, cols int, e, f *F) float64
	sharesGrad, slopesGrad func(rows, cols int, e, de, f, df *F, w F)
}

// PairShares returns the sum over all i and j of f[j] / (e[i] + f[j]), in float64. The elements of
// e and f are positive. With e = e^s and f = e^t, a share is sigmoid(t[j] - s[i]), for one
// exponential function of each element instead of each pair.
func (k *Kernels[F]) PairShares(e, f []F) float64 {
	if len(e) == 0 || len(f) == 0 {
		return 0
	}
	return k.pairs.shares(len(e), len(f), &e[0], &f[0])
}

// AddPairShares computes, row by row,
//
//	de[i] = de[i] - w sum_j r[i,j],   df[j] = df[j] + w sum_i r[i,j]
//
// for the shares r[i,j] = f[j] / (e[i] + f[j]). The sums are in the element type.
func (k *Kernels[F]) AddPairShares(e, de, f, df []F, w F) {
	addPairs("AddPairShares", k.pairs.sharesGrad, e, de, f, df, w)
}

// AddPairSlopes is AddPairShares for r[i,j] = e[i] f[j] / (e[i] + f[j])^2, the derivative of the
// share by t[j].
func (k *Kernels[F]) AddPairSlopes(e, de, f, df []F, w F) {
	addPairs("AddPairSlopes", k.pairs.slopesGrad, e, de, f, df, w)
}

func addPairs[F Float](name string, pass func(rows, cols int, e, de, f, df *F, w F), e, de, f, df []F, w F) {
	checkLength(name, len(e), len(de))
	checkLength(name, len(f), len(df))
	if len(e) > 0 && len(f) > 0 {
		pass(len(e), len(f), &e[0], &de[0], &f[0], &df[0], w)
	}
}

// pairsGo returns the reference of the passes in assembly.
func pairsGo[F Float]() pairs[F] {
	return pairs[F]{
		shares: pairSharesGo[F],
		sharesGrad: addPairsGo(func(e, f F) F {
			return f / (e + f)
		}),
		slopesGrad: addPairsGo(func(e, f F) F {
			q := 1 / (e + f)
			return e * q * (f * q)
		}),
	}
}

func pairSharesGo[F Float](rows, cols int, e, f *F) (sum float64) {
	columns := unsafe.Slice(f, cols)
	for _, x := range unsafe.Slice(e, rows) {
		for _, y := range columns {
			sum += float64(y / (x + y))
		}
	}
	return sum
}

func addPairsGo[F Float](r func(e, f F) F) func(rows, cols int, e, de, f, df *F, w F) {
	return func(rows, cols int, e, de, f, df *F, w F) {
		columns, slopes, row := unsafe.Slice(f, cols), unsafe.Slice(df, cols), unsafe.Slice(de, rows)
		for i, x := range unsafe.Slice(e, rows) {
			var sum F
			for j, y := range columns {
				v := r(x, y)
				sum += v
				slopes[j] += w * v
			}
			row[i] -= w * sum
		}
	}
}
