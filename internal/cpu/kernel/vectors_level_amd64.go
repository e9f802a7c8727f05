package kernel

func sweeps32(level Level) sweeps[float32] {
	switch level {
	case AVX512:
		return sweeps[float32]{
			combine: combineF32AVX512, scaledCopy: scaledCopyF32AVX512,
			reach: reachF32AVX512, reachPlain: reachPlainF32AVX512,
			descend: descendF32AVX512, descendPlain: descendPlainF32AVX512,
			adam: adamF32AVX512,
		}
	case AVX2:
		return sweeps[float32]{
			combine: combineF32AVX2, scaledCopy: scaledCopyF32AVX2,
			reach: reachF32AVX2, reachPlain: reachPlainF32AVX2,
			descend: descendF32AVX2, descendPlain: descendPlainF32AVX2,
			adam: adamF32AVX2,
		}
	}
	return sweepsGo[float32]()
}

func sweeps64(level Level) sweeps[float64] {
	switch level {
	case AVX512:
		return sweeps[float64]{
			combine: combineF64AVX512, scaledCopy: scaledCopyF64AVX512,
			reach: reachF64AVX512, reachPlain: reachPlainF64AVX512,
			descend: descendF64AVX512, descendPlain: descendPlainF64AVX512,
			adam: adamF64AVX512,
		}
	case AVX2:
		return sweeps[float64]{
			combine: combineF64AVX2, scaledCopy: scaledCopyF64AVX2,
			reach: reachF64AVX2, reachPlain: reachPlainF64AVX2,
			descend: descendF64AVX2, descendPlain: descendPlainF64AVX2,
			adam: adamF64AVX2,
		}
	}
	return sweepsGo[float64]()
}
