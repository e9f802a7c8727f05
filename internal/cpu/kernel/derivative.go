package kernel

// derivativeFunc computes a panel of D = f'(S) (E V): the comment of derivativeSigmoidF32AVX512 in
// the generated files gives the formula.
type derivativeFunc func(m, k, n int, e *float32, lde int, v *float32, ldv int, s *float32, lds int, d *float32, sums *float64, most *uint32)

// Factors are the factors of a product E V of few inner indices.
type Factors[F Float] struct{ E, V Strided[F] }

// Derives reports whether QuantizeDerivative supports products with these numbers of columns: all
// but the last fill whole panels, and the level is above Go.
func (k *ByteKernels) Derives(columns ...int) bool {
	for _, n := range columns[:max(0, len(columns)-1)] {
		if n%k.lanes != 0 {
			return false
		}
	}
	return k.derivative[0] != nil && len(columns) > 0
}

// QuantizeDerivative computes the digits of D = f'(S) (E V), the derivative with respect to the
// inputs of a hidden layer, and adds the sums of D's columns to sums. S has the values of the
// activation f. The products E V lie side by side: those of several heads, or one product. D has at
// most RowBlock rows.
//
// Digits and sums have the bits that CombineRows, SigmoidGrad (TanhGrad, ReLUGrad), AddColumns and
// Quantize give one after the other. QuantizeDerivative writes D panel by panel to memory that
// stays in the level-1 cache, and nowhere else.
func (d *Digits) QuantizeDerivative(f Activation, s Strided[float32], products []Factors[float32], sums []float64, scale float64, scratch *ByteScratch) {
	s.check("QuantizeDerivative")
	switch {
	case d.rows > RowBlock || s.Rows != d.rows || s.Cols != d.cols || s.ColStride != 1:
		panic("kernel: QuantizeDerivative: a matrix of another size, or gaps in rows")
	case len(sums) != d.cols:
		panic("kernel: QuantizeDerivative: sums of another length")
	}
	at, lanes := 0, d.k.lanes
	for _, x := range products {
		x.E.check("QuantizeDerivative")
		x.V.check("QuantizeDerivative")
		if at%lanes != 0 || x.E.Rows != d.rows || x.E.Cols != x.V.Rows || x.E.Cols == 0 || x.E.ColStride != 1 || x.V.ColStride != 1 {
			panic("kernel: QuantizeDerivative: factors of another size, or gaps in rows or panels")
		}
		for j := 0; j < x.V.Cols && d.rows > 0; j += lanes {
			p, n := (at+j)/lanes, min(lanes, x.V.Cols-j)
			d.k.derivative[f](d.rows, x.E.Cols, n, &x.E.Data[0], x.E.RowStride, &x.V.Data[j], x.V.RowStride,
				&s.Data[at+j], s.RowStride, &scratch.panel[0], &sums[at+j], &d.most[at+j])
			d.setFactors(p, scale)
			d.quantizePanel(p, n, scratch.panel, lanes)
			d.keepNonFinite(p, n, scratch.panel, lanes)
		}
		at += x.V.Cols
	}
	if at != d.cols {
		panic("kernel: QuantizeDerivative: products of another number of columns")
	}
}
