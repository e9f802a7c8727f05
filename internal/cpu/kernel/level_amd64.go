package kernel

import "golang.org/x/sys/cpu"

func best() Level {
	switch {
	case !cpu.X86.HasAVX2 || !cpu.X86.HasFMA:
		return Go
	case cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL:
		return AVX512
	}
	return AVX2
}

func products32(level Level) products[float32] {
	type (
		tile      = [2]func(k int, x, b, c *float32, ldc int, add bool)
		tileTrans = [2]func(m int, x *float32, panel int, b, c *float32, ldc int, add bool)
	)
	switch level {
	case AVX512:
		return products[float32]{
			rows: 12, cols: 32, half: 16,
			tile:      tile{tile2F32AVX512, tile1F32AVX512},
			tileTrans: tileTrans{tileTrans2F32AVX512, tileTrans1F32AVX512},
			packPanel: packPanelF32AVX512,
		}
	case AVX2:
		return products[float32]{
			rows: 6, cols: 16, half: 8,
			tile:      tile{tile2F32AVX2, tile1F32AVX2},
			tileTrans: tileTrans{tileTrans2F32AVX2, tileTrans1F32AVX2},
			packPanel: packPanelF32AVX2,
		}
	}
	return productsGo32()
}

func products64(level Level) products[float64] {
	type (
		tile      = [2]func(k int, x, b, c *float64, ldc int, add bool)
		tileTrans = [2]func(m int, x *float64, panel int, b, c *float64, ldc int, add bool)
	)
	switch level {
	case AVX512:
		return products[float64]{
			rows: 12, cols: 16, half: 8,
			tile:      tile{tile2F64AVX512, tile1F64AVX512},
			tileTrans: tileTrans{tileTrans2F64AVX512, tileTrans1F64AVX512},
			packPanel: packPanelF64AVX512,
		}
	case AVX2:
		return products[float64]{
			rows: 6, cols: 8, half: 4,
			tile:      tile{tile2F64AVX2, tile1F64AVX2},
			tileTrans: tileTrans{tileTrans2F64AVX2, tileTrans1F64AVX2},
			packPanel: packPanelF64AVX2,
		}
	}
	return productsGo64()
}

func passes32(level Level) passes[float32] {
	switch level {
	case AVX512:
		return passes[float32]{
			exp: expF32AVX512, sigmoid: sigmoidF32AVX512, tanh: tanhF32AVX512, log1p: log1pF32AVX512,
			biasSigmoid: biasSigmoidF32AVX512, sigmoidGrad: sigmoidGradF32AVX512,
			biasTanh: biasTanhF32AVX512, biasReLU: biasReLUF32AVX512, tanhGrad: tanhGradF32AVX512, reluGrad: reluGradF32AVX512,
			axpy: axpyF32AVX512, shift: shiftF32AVX512,
			sum: sumF32AVX512, dot: dotF32AVX512, distance2: distance2F32AVX512,
		}
	case AVX2:
		return passes[float32]{
			exp: expF32AVX2, sigmoid: sigmoidF32AVX2, tanh: tanhF32AVX2, log1p: log1pF32AVX2,
			biasSigmoid: biasSigmoidF32AVX2, sigmoidGrad: sigmoidGradF32AVX2,
			biasTanh: biasTanhF32AVX2, biasReLU: biasReLUF32AVX2, tanhGrad: tanhGradF32AVX2, reluGrad: reluGradF32AVX2,
			axpy: axpyF32AVX2, shift: shiftF32AVX2,
			sum: sumF32AVX2, dot: dotF32AVX2, distance2: distance2F32AVX2,
		}
	}
	return passesGo[float32]()
}

func passes64(level Level) passes[float64] {
	switch level {
	case AVX512:
		return passes[float64]{
			exp: expF64AVX512, sigmoid: sigmoidF64AVX512, tanh: tanhF64AVX512, log1p: log1pF64AVX512,
			biasSigmoid: biasSigmoidF64AVX512, sigmoidGrad: sigmoidGradF64AVX512,
			biasTanh: biasTanhF64AVX512, biasReLU: biasReLUF64AVX512, tanhGrad: tanhGradF64AVX512, reluGrad: reluGradF64AVX512,
			axpy: axpyF64AVX512, shift: shiftF64AVX512,
			sum: sumF64AVX512, dot: dotF64AVX512, distance2: distance2F64AVX512,
		}
	case AVX2:
		return passes[float64]{
			exp: expF64AVX2, sigmoid: sigmoidF64AVX2, tanh: tanhF64AVX2, log1p: log1pF64AVX2,
			biasSigmoid: biasSigmoidF64AVX2, sigmoidGrad: sigmoidGradF64AVX2,
			biasTanh: biasTanhF64AVX2, biasReLU: biasReLUF64AVX2, tanhGrad: tanhGradF64AVX2, reluGrad: reluGradF64AVX2,
			axpy: axpyF64AVX2, shift: shiftF64AVX2,
			sum: sumF64AVX2, dot: dotF64AVX2, distance2: distance2F64AVX2,
		}
	}
	return passesGo[float64]()
}

func narrow32(level Level) narrows[float32] {
	type (
		combine = [2]func(k, n int, x *float32, down, right int, b *float32, ldb int, c *float32, ldc int, add bool)
		dots    = [2]func(m, k int, x *float32, ldx int, b *float32, ldb int, c *float32, ldc int)
	)
	switch level {
	case AVX512:
		return narrows[float32]{
			combine:    combine{combine4F32AVX512, combine1F32AVX512},
			dots:       dots{dots4F32AVX512, dots1F32AVX512},
			addColumns: addColumnsF32AVX512,
		}
	case AVX2:
		return narrows[float32]{
			combine:    combine{combine4F32AVX2, combine1F32AVX2},
			dots:       dots{dots4F32AVX2, dots1F32AVX2},
			addColumns: addColumnsF32AVX2,
		}
	}
	return narrowGo[float32]()
}

func narrow64(level Level) narrows[float64] {
	type (
		combine = [2]func(k, n int, x *float64, down, right int, b *float64, ldb int, c *float64, ldc int, add bool)
		dots    = [2]func(m, k int, x *float64, ldx int, b *float64, ldb int, c *float64, ldc int)
	)
	switch level {
	case AVX512:
		return narrows[float64]{
			combine:    combine{combine4F64AVX512, combine1F64AVX512},
			dots:       dots{dots4F64AVX512, dots1F64AVX512},
			addColumns: addColumnsF64AVX512,
		}
	case AVX2:
		return narrows[float64]{
			combine:    combine{combine4F64AVX2, combine1F64AVX2},
			dots:       dots{dots4F64AVX2, dots1F64AVX2},
			addColumns: addColumnsF64AVX2,
		}
	}
	return narrowGo[float64]()
}
