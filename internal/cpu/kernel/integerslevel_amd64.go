package kernel

import "golang.org/x/sys/cpu"

// integers chooses by what the CPU has: the 256-bit tiles are encoded with VEX (AVX-VNNI) or EVEX (AVX-512 VNNI and VL).
func integers(level Level) Integers {
	type (
		mul = [2]func(k int, x *uint8, q *int8, unit *float64, c *float32, ldc int, add bool)
		add = [2]func(k int, x *uint8, q *int8, units, c *float32, ldc int)
		cut = [2]func(groups, n int, b *float32, ldb int, factors *float32, q *int8)
	)
	k := integersGo(level, byteRows/2, 8)
	switch level {
	case AVX512:
		k = integersGo(level, byteRows, 16)
		k.columnMax, k.cut = columnMaxF32AVX512, cut{cut2F32AVX512, cut3F32AVX512}
		if cpu.X86.HasAVX512VNNI {
			k.instruction = "avx512_vnni"
			k.mulBytes, k.addBytes = mul{mulBytes2AVX512VNNI, mulBytes3AVX512VNNI}, add{addBytes2AVX512VNNI, addBytes3AVX512VNNI}
		}
	case AVX2:
		k.columnMax, k.cut = columnMaxF32AVX2, cut{cut2F32AVX2, cut3F32AVX2}
		switch {
		case cpu.X86.HasAVXVNNI:
			k.instruction = "avx_vnni"
			k.mulBytes, k.addBytes = mul{mulBytes2AVXVNNI, mulBytes3AVXVNNI}, add{addBytes2AVXVNNI, addBytes3AVXVNNI}
		case cpu.X86.HasAVX512VNNI && cpu.X86.HasAVX512VL:
			k.instruction = "avx512_vnni"
			k.mulBytes, k.addBytes = mul{mulBytes2AVX512VL, mulBytes3AVX512VL}, add{addBytes2AVX512VL, addBytes3AVX512VL}
		}
	}
	return k
}
