package kernel

func sparse32(level Level) sparse[float32] {
	switch level {
	case AVX512:
		return sparse[float32]{
			lanes:         16,
			rowsMul:       [2]rowsPass[float32]{rowsMul4F32AVX512, rowsMul1F32AVX512},
			rowsAddTrans:  [2]rowsPass[float32]{rowsAddTrans4F32AVX512, rowsAddTrans1F32AVX512},
			groupMul:      groupMulF32AVX512,
			groupAddTrans: groupAddTransF32AVX512,
		}
	case AVX2:
		return sparse[float32]{
			lanes:         8,
			rowsMul:       [2]rowsPass[float32]{rowsMul4F32AVX2, rowsMul1F32AVX2},
			rowsAddTrans:  [2]rowsPass[float32]{rowsAddTrans4F32AVX2, rowsAddTrans1F32AVX2},
			groupMul:      groupMulF32AVX2,
			groupAddTrans: groupAddTransF32AVX2,
		}
	}
	return sparseGo[float32]()
}

func sparse64(level Level) sparse[float64] {
	switch level {
	case AVX512:
		return sparse[float64]{
			lanes:         8,
			rowsMul:       [2]rowsPass[float64]{rowsMul4F64AVX512, rowsMul1F64AVX512},
			rowsAddTrans:  [2]rowsPass[float64]{rowsAddTrans4F64AVX512, rowsAddTrans1F64AVX512},
			groupMul:      groupMulF64AVX512,
			groupAddTrans: groupAddTransF64AVX512,
		}
	case AVX2:
		return sparse[float64]{
			lanes:         4,
			rowsMul:       [2]rowsPass[float64]{rowsMul4F64AVX2, rowsMul1F64AVX2},
			rowsAddTrans:  [2]rowsPass[float64]{rowsAddTrans4F64AVX2, rowsAddTrans1F64AVX2},
			groupMul:      groupMulF64AVX2,
			groupAddTrans: groupAddTransF64AVX2,
		}
	}
	return sparseGo[float64]()
}
