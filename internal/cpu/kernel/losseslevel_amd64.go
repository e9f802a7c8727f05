package kernel

func losses32(level Level) losses[float32] {
	type (
		value = [lossCount]func(n int, out, s, minus *float32)
		grad  = [lossCount]func(n int, out, s, minus, d *float32)
	)
	switch level {
	case AVX512:
		return losses[float32]{
			value:   value{signedSigmoidF32AVX512, signedLogisticF32AVX512, signedHingeF32AVX512},
			grad:    grad{signedSigmoidGradF32AVX512, signedLogisticGradF32AVX512, signedHingeGradF32AVX512},
			gradAdd: grad{signedSigmoidGradAddF32AVX512, signedLogisticGradAddF32AVX512, signedHingeGradAddF32AVX512},
		}
	case AVX2:
		return losses[float32]{
			value:   value{signedSigmoidF32AVX2, signedLogisticF32AVX2, signedHingeF32AVX2},
			grad:    grad{signedSigmoidGradF32AVX2, signedLogisticGradF32AVX2, signedHingeGradF32AVX2},
			gradAdd: grad{signedSigmoidGradAddF32AVX2, signedLogisticGradAddF32AVX2, signedHingeGradAddF32AVX2},
		}
	}
	return lossesGo[float32]()
}

func losses64(level Level) losses[float64] {
	type (
		value = [lossCount]func(n int, out, s, minus *float64)
		grad  = [lossCount]func(n int, out, s, minus, d *float64)
	)
	switch level {
	case AVX512:
		return losses[float64]{
			value:   value{signedSigmoidF64AVX512, signedLogisticF64AVX512, signedHingeF64AVX512},
			grad:    grad{signedSigmoidGradF64AVX512, signedLogisticGradF64AVX512, signedHingeGradF64AVX512},
			gradAdd: grad{signedSigmoidGradAddF64AVX512, signedLogisticGradAddF64AVX512, signedHingeGradAddF64AVX512},
		}
	case AVX2:
		return losses[float64]{
			value:   value{signedSigmoidF64AVX2, signedLogisticF64AVX2, signedHingeF64AVX2},
			grad:    grad{signedSigmoidGradF64AVX2, signedLogisticGradF64AVX2, signedHingeGradF64AVX2},
			gradAdd: grad{signedSigmoidGradAddF64AVX2, signedLogisticGradAddF64AVX2, signedHingeGradAddF64AVX2},
		}
	}
	return lossesGo[float64]()
}
