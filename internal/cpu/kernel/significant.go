package kernel

// Derivatives of magnitude below 2^-100 (float64: 2^-960) are negligible: SigmoidGrad, TanhGrad,
// ReLUGrad, SignedLossGrad, the functions of derivatives from tails and QuantizeDerivative write
// zeros in their place. The derivatives of rows and units that are saturated become that small.
// Products with them would be subnormal numbers, and on many CPUs of Intel, each operation that
// reads or writes one takes about 150 cycles more: an iteration took up to 13 times as long.

// significant returns x, and zero for a negligible x.
func significant[F Float](x F) F {
	least := negligible[F]()
	if -least < x && x < least {
		return 0
	}
	return x
}

// negligible returns the magnitude below which a derivative counts as zero. The generator has the
// same numbers.
func negligible[F Float]() F {
	if sizeof[F]() == 4 {
		return 0x1p-100
	}
	double := 0x1p-960
	return F(double)
}
