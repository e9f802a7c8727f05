package kernel

import (
	"math"
	"unsafe"
)

// byteKernelsGo returns the loops in Go, the reference, for data in a layout and tiles of that
// size.
func byteKernelsGo(level Level, layout Layout, rows, lanes int) ByteKernels {
	t := byteTiles{instruction: "go", layout: layout, rows: rows, lanes: lanes}
	k := ByteKernels{level: level, columnMax: columnMaxGo(lanes)}
	for i := range t.mulBytes {
		count := i + 2
		k.quantize[i] = quantizeGo(lanes, count)
		t.mulBytes[i], t.addBytes[i] = t.mulBytesGo(count), t.addBytesGo(count)
	}
	k.byteTiles = t
	return k
}

// dots returns the sums I_s of a row and a column in the formula of mulBytes3: see the comment in
// the generated files.
func (t byteTiles) dots(k int, x []uint8, q []int8, count, i, j int) (sums [3]int32) {
	depth := t.layout.Depth
	for l := range k {
		for s := range count {
			for e := range depth {
				group := l*(depth/quad) + e/quad
				sums[s] += int32(x[(l*t.layout.Rows+i)*depth+e]) * int32(q[((group*count+s)*t.lanes+j)*quad+e%quad])
			}
		}
	}
	return sums
}

// operands returns the data and the digits that a tile reads.
func (t byteTiles) operands(k int, x *uint8, q *int8, count int) (data []uint8, digits []int8) {
	depth := t.layout.Depth
	return unsafe.Slice(x, ((k-1)*t.layout.Rows+t.rows)*depth), unsafe.Slice(q, k*depth*count*t.lanes)
}

func (t byteTiles) mulBytesGo(count int) mulBytesFunc {
	return func(k int, x *uint8, q *int8, unit *float64, c *float32, ldc int, add bool) {
		data, digits := t.operands(k, x, q, count)
		units, out := unsafe.Slice(unit, t.lanes), unsafe.Slice(c, (t.rows-1)*ldc+t.lanes)
		for i := range t.rows {
			for j := range t.lanes {
				var total float64
				sums := t.dots(k, data, digits, count, i, j)
				for _, sum := range sums[:count] {
					total = total*base + float64(sum)
				}
				z := float32(units[j] * total)
				if add {
					z += out[i*ldc+j]
				}
				out[i*ldc+j] = z
			}
		}
	}
}

func (t byteTiles) addBytesGo(count int) addBytesFunc {
	return func(k int, x *uint8, q *int8, units, c *float32, ldc int) {
		data, digits := t.operands(k, x, q, count)
		scale, out := unsafe.Slice(units, 2*t.lanes), unsafe.Slice(c, (t.rows-1)*ldc+t.lanes)
		for i := range t.rows {
			for j := range t.lanes {
				sums := t.dots(k, data, digits, count, i, j)
				z := fma32(float32(sums[0]), base, float32(sums[1]))
				if count == 3 {
					z = fma32(float32(sums[0]), base*base, fma32(float32(sums[1]), base, float32(sums[2])))
				}
				out[i*ldc+j] = fma32(z*scale[j], scale[t.lanes+j], out[i*ldc+j])
			}
		}
	}
}

func columnMaxGo(lanes int) func(m, n int, b *float32, ldb int, most *uint32) {
	return func(m, n int, b *float32, ldb int, most *uint32) {
		in, out := unsafe.Slice(b, (m-1)*ldb+n), unsafe.Slice(most, lanes)
		clear(out)
		for i := range m {
			for j, v := range in[i*ldb:][:n] {
				out[j] = max(out[j], math.Float32bits(v)&^(1<<31))
			}
		}
	}
}

func quantizeGo(lanes, count int) func(groups, n int, b *float32, ldb int, factors *float32, q *int8) {
	return func(groups, n int, b *float32, ldb int, factors *float32, q *int8) {
		in, scale := unsafe.Slice(b, (groups*quad-1)*ldb+n), unsafe.Slice(factors, 2*lanes)
		out := unsafe.Slice(q, groups*count*lanes*quad)
		clear(out)
		for i := range groups * quad {
			for j, v := range in[i*ldb:][:n] {
				r, factor := v*scale[j], scale[lanes+j]
				for s := range count {
					digit := float32(math.RoundToEven(float64(r) * float64(factor)))
					out[((i/quad*count+s)*lanes+j)*quad+i%quad] = int8(digit)
					r, factor = fma32(r, factor, -digit), base
				}
			}
		}
	}
}

// fma32 returns x y + z, rounded once. The product is exact in float64. If rounding the sum to
// float64 lost anything, the sum is rounded to odd, so that the second rounding, to float32, sees
// no false tie (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
func fma32(x, y, z float32) float32 {
	product := float64(x) * float64(y)
	sum := product + float64(z)
	back := sum - product
	lost := (product - (sum - back)) + (float64(z) - back) // exact: Knuth's two-sum
	if bits := math.Float64bits(sum); lost != 0 && bits&1 == 0 {
		if (lost > 0) == (sum > 0) {
			bits++
		} else {
			bits--
		}
		sum = math.Float64frombits(bits)
	}
	return float32(sum)
}
