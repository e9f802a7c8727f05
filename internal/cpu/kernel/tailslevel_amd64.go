package kernel

func tails32(level Level) tails[float32] {
	type (
		grad  = [smoothCount]func(n int, out, tails, minus, d *float32)
		where = [smoothCount]func(n int, out, tails, minus *float32, set *uint16, yes, no float32)
	)
	switch level {
	case AVX512:
		return tails[float32]{
			of: tailsF32AVX512, sigmoid: tailSigmoidF32AVX512, logisticSums: tailLogisticSumsF32AVX512,
			grad:         grad{tailSigmoidGradF32AVX512, tailLogisticGradF32AVX512},
			gradAdd:      grad{tailSigmoidGradAddF32AVX512, tailLogisticGradAddF32AVX512},
			gradWhere:    where{tailSigmoidGradWhereF32AVX512, tailLogisticGradWhereF32AVX512},
			gradAddWhere: where{tailSigmoidGradAddWhereF32AVX512, tailLogisticGradAddWhereF32AVX512},
		}
	case AVX2:
		return tails[float32]{
			of: tailsF32AVX2, sigmoid: tailSigmoidF32AVX2, logisticSums: tailLogisticSumsF32AVX2,
			grad:         grad{tailSigmoidGradF32AVX2, tailLogisticGradF32AVX2},
			gradAdd:      grad{tailSigmoidGradAddF32AVX2, tailLogisticGradAddF32AVX2},
			gradWhere:    where{tailSigmoidGradWhereF32AVX2, tailLogisticGradWhereF32AVX2},
			gradAddWhere: where{tailSigmoidGradAddWhereF32AVX2, tailLogisticGradAddWhereF32AVX2},
		}
	}
	return tailsGo[float32]()
}

func tails64(level Level) tails[float64] {
	type (
		grad  = [smoothCount]func(n int, out, tails, minus, d *float64)
		where = [smoothCount]func(n int, out, tails, minus *float64, set *uint16, yes, no float64)
	)
	switch level {
	case AVX512:
		return tails[float64]{
			of: tailsF64AVX512, sigmoid: tailSigmoidF64AVX512, logisticSums: tailLogisticSumsF64AVX512,
			grad:         grad{tailSigmoidGradF64AVX512, tailLogisticGradF64AVX512},
			gradAdd:      grad{tailSigmoidGradAddF64AVX512, tailLogisticGradAddF64AVX512},
			gradWhere:    where{tailSigmoidGradWhereF64AVX512, tailLogisticGradWhereF64AVX512},
			gradAddWhere: where{tailSigmoidGradAddWhereF64AVX512, tailLogisticGradAddWhereF64AVX512},
		}
	case AVX2:
		return tails[float64]{
			of: tailsF64AVX2, sigmoid: tailSigmoidF64AVX2, logisticSums: tailLogisticSumsF64AVX2,
			grad:         grad{tailSigmoidGradF64AVX2, tailLogisticGradF64AVX2},
			gradAdd:      grad{tailSigmoidGradAddF64AVX2, tailLogisticGradAddF64AVX2},
			gradWhere:    where{tailSigmoidGradWhereF64AVX2, tailLogisticGradWhereF64AVX2},
			gradAddWhere: where{tailSigmoidGradAddWhereF64AVX2, tailLogisticGradAddWhereF64AVX2},
		}
	}
	return tailsGo[float64]()
}

func rowSets32(level Level) rowSets[float32] {
	switch level {
	case AVX512:
		return rowSets[float32]{sum: sumWhereF32AVX512, set: setWhereF32AVX512, add: addWhereF32AVX512}
	case AVX2:
		return rowSets[float32]{sum: sumWhereF32AVX2, set: setWhereF32AVX2, add: addWhereF32AVX2}
	}
	return rowSetsGo[float32]()
}

func rowSets64(level Level) rowSets[float64] {
	switch level {
	case AVX512:
		return rowSets[float64]{sum: sumWhereF64AVX512, set: setWhereF64AVX512, add: addWhereF64AVX512}
	case AVX2:
		return rowSets[float64]{sum: sumWhereF64AVX2, set: setWhereF64AVX2, add: addWhereF64AVX2}
	}
	return rowSetsGo[float64]()
}
