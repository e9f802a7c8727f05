package kernel

import (
	"math"
	"unsafe"
)

// byteKernelsGo are the loops in Go, the reference, for tiles of that size.
func byteKernelsGo(level Level, rows, lanes int) ByteKernels {
	k := ByteKernels{
		level:     level,
		byteTiles: byteTiles{instruction: "go", rows: rows, lanes: lanes},
		columnMax: columnMaxGo(lanes),
	}
	for i := range 2 {
		k.mulBytes[i], k.addBytes[i], k.quantize[i] = mulBytesGo(rows, lanes, i+2), addBytesGo(rows, lanes, i+2), quantizeGo(lanes, i+2)
	}
	return k
}

// dots are the sums I_s of a row and a column: see the comment of mulBytes3 in the generated files.
func dots(k int, x []uint8, q []int8, lanes, slices, i, j int) (sums [3]int32) {
	for l := range k {
		for s := range slices {
			for e := range quad {
				sums[s] += int32(x[(l*byteRows+i)*quad+e]) * int32(q[((l*slices+s)*lanes+j)*quad+e])
			}
		}
	}
	return sums
}

func mulBytesGo(rows, lanes, slices int) func(k int, x *uint8, q *int8, unit *float64, c *float32, ldc int, add bool) {
	return func(k int, x *uint8, q *int8, unit *float64, c *float32, ldc int, add bool) {
		data, digits := unsafe.Slice(x, ((k-1)*byteRows+rows)*quad), unsafe.Slice(q, k*slices*lanes*quad)
		units, out := unsafe.Slice(unit, lanes), unsafe.Slice(c, (rows-1)*ldc+lanes)
		for i := range rows {
			for j := range lanes {
				var total float64
				sums := dots(k, data, digits, lanes, slices, i, j)
				for _, sum := range sums[:slices] {
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

func addBytesGo(rows, lanes, slices int) func(k int, x *uint8, q *int8, units, c *float32, ldc int) {
	return func(k int, x *uint8, q *int8, units, c *float32, ldc int) {
		data, digits := unsafe.Slice(x, ((k-1)*byteRows+rows)*quad), unsafe.Slice(q, k*slices*lanes*quad)
		scale, out := unsafe.Slice(units, 2*lanes), unsafe.Slice(c, (rows-1)*ldc+lanes)
		for i := range rows {
			for j := range lanes {
				sums := dots(k, data, digits, lanes, slices, i, j)
				z := fma32(float32(sums[0]), base, float32(sums[1]))
				if slices == 3 {
					z = fma32(float32(sums[0]), base*base, fma32(float32(sums[1]), base, float32(sums[2])))
				}
				out[i*ldc+j] = fma32(z*scale[j], scale[lanes+j], out[i*ldc+j])
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

func quantizeGo(lanes, slices int) func(groups, n int, b *float32, ldb int, factors *float32, q *int8) {
	return func(groups, n int, b *float32, ldb int, factors *float32, q *int8) {
		in, scale := unsafe.Slice(b, (groups*quad-1)*ldb+n), unsafe.Slice(factors, 2*lanes)
		out := unsafe.Slice(q, groups*slices*lanes*quad)
		clear(out)
		for i := range groups * quad {
			for j, v := range in[i*ldb:][:n] {
				r, factor := v*scale[j], scale[lanes+j]
				for s := range slices {
					digit := float32(math.RoundToEven(float64(r) * float64(factor)))
					out[((i/quad*slices+s)*lanes+j)*quad+i%quad] = int8(digit)
					r, factor = fma32(r, factor, -digit), base
				}
			}
		}
	}
}

// fma32 is x y + z, rounded once: the product is exact in float64, and where the sum's rounding there made a tie of what is none, the
// odd neighbour tells (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
func fma32(x, y, z float32) float32 {
	product := float64(x) * float64(y)
	sum := product + float64(z)
	back := sum - product
	lost := (product - (sum - back)) + (float64(z) - back) // exactly (Knuth's two-sum)
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
