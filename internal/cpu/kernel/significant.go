package kernel

// significant returns x, and zero for a derivative x that is negligible.
func significant[F Float](x F) F {
	least := negligible[F]()
	if -least < x && x < least {
		return 0
	}
	return x
}

// negligible returns the magnitude below which a derivative counts as zero: 2^-100 for float32, and
// 2^-960 for float64. The generator has the same numbers.
//
// SigmoidGrad, TanhGrad, ReLUGrad, SignedLossGrad, LossGradFromTails, LossGradFromTailsWhere and
// QuantizeDerivative write zeros in place of negligible derivatives. The derivatives of saturated
// rows and units become that small, and products with them would be subnormal numbers. On many CPUs
// of Intel, an operation that reads or writes a subnormal number takes about 150 cycles more: an
// iteration took up to 13 times as long.
func negligible[F Float]() F {
	least := 0x1p-100
	if sizeof[F]() == 8 {
		least = 0x1p-960
	}
	return F(least)
}
