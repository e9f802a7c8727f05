package kernel

import (
	"math/bits"
	"unsafe"
)

// WithBFloat16InGo returns kernels that multiply digits of bfloat16 in Go, with the roundings and
// the order of additions of the AMX kernels. They are the model of these kernels, for tests on CPUs
// without AMX: they are much slower than float32.
func (k *ByteKernels) WithBFloat16InGo() *ByteKernels {
	own := *k
	own.bfloat16Strip = [2]bfloat16StripFunc{bfloat16StripGo(2), bfloat16StripGo(3)}
	own.split = [2]splitFunc{splitGo(2), splitGo(3)}
	return &own
}

// splitGo returns the reference of the kernels split.
func splitGo(count int) splitFunc {
	return func(pairs, n int, b *float32, ldb int, q *uint16) {
		in, out := unsafe.Slice(b, (2*pairs-1)*ldb+n), unsafe.Slice(q, (count-1)*bfloat16Tile+pairs*2*bfloat16Rows)
		for i := range 2 * pairs {
			for j := range bfloat16Rows {
				at, v := i/2*2*bfloat16Rows+2*j+i%2, float32(0)
				if j < n {
					v = in[i*ldb+j]
				}
				for range count {
					out[at], v = nextDigit(v)
					at += bfloat16Tile
				}
			}
		}
	}
}

// bfloat16StripGo returns the reference of the kernels bfloat16Strip.
func bfloat16StripGo(count int) bfloat16StripFunc {
	return func(k, rows int, x *uint16, panel int, b *uint16, c *float32, ldc, columns int, _ *float32) {
		group := count * bfloat16Tile
		first := unsafe.Slice(x, (ceil(rows, bfloat16Rows)-1)*panel/2+k*group)
		width := bits.Len(uint(columns))
		second, out := unsafe.Slice(b, k*group), unsafe.Slice(c, (rows-1)*ldc+width)
		for i := range rows {
			line := first[i/bfloat16Rows*panel/2+i%bfloat16Rows*bfloat16Depth:]
			for j := range width {
				for g := 0; g < k; {
					var sum float32
					for end := min(g+bfloat16Sum/bfloat16Depth, k); g < end; g++ {
						sum = addDigits(sum, count, line[g*group:], second[g*group+2*j:])
					}
					out[i*ldc+j] += sum
				}
			}
		}
	}
}

// addDigits adds the products of the digits p and q with p + q < count of 32 inner indices to a
// sum, the smallest digits first.
func addDigits(sum float32, count int, x, b []uint16) float32 {
	for p := count - 1; p >= 0; p-- {
		for q := count - 1 - p; q >= 0; q-- {
			sum = dotBFloat16(sum, x[p*bfloat16Tile:][:bfloat16Depth], b[q*bfloat16Tile:], 2*bfloat16Rows)
		}
	}
	return sum
}

// dotBFloat16 computes one element of the result of TDPBF16PS, in the order of the pseudocode in
// Intel's manual (volume 2): two sums of fused multiply-adds, of the even and of the odd inner
// indices, then the sum of both, then the sum with the previous value. Every result is rounded to
// nearest, ties to even. Subnormal operands and results are zero. Pairs of numbers of b are step
// elements apart.
func dotBFloat16(sum float32, x, b []uint16, step int) float32 {
	var even, odd float32
	for l := 0; l < len(x); l += 2 {
		// The products are exact in float32, so that an addition rounds like a fused multiply-add.
		// (A product below 2^-126 can round, but is far below the sums of the tests.)
		pair := b[l/2*step:][:2]
		even = flushed(operand16(x[l])*operand16(pair[0]) + even)
		odd = flushed(operand16(x[l+1])*operand16(pair[1]) + odd)
	}
	return flushed(flushed(sum) + flushed(even+odd))
}

// operand16 returns a number of a tile, and zero for a subnormal number.
func operand16(b uint16) float32 { return flushed(widened(b)) }

// flushed returns zero for a subnormal number.
func flushed(v float32) float32 {
	const smallest = 0x1p-126
	if v > -smallest && v < smallest {
		return 0 * v
	}
	return v
}
