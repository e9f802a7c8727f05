package radix

import (
	"math"
)

// singleDigits is the number of digits of digitBits bits that cover 32 bits.
const singleDigits = 3

// single reports whether all numbers are float32. The scores of a training in float32 are.
func single(x []float64) bool {
	for _, v := range x {
		if float64(float32(v)) != v {
			return false
		}
	}
	return true
}

// sortSingle is Sort for numbers that are float32: half of the digits, and half of the memory.
func (s *Sorter) sortSingle(x []float64) {
	n := len(x)
	if cap(s.short) < n {
		s.short, s.spareShort = make([]uint32, n), make([]uint32, n)
	}
	keys, spare := s.short[:n], s.spareShort[:n]
	var counts [singleDigits][1 << digitBits]int32
	const mask = 1<<digitBits - 1
	for i, v := range x {
		key := singleKey(v)
		keys[i] = key
		counts[0][key&mask]++
		counts[1][key>>digitBits&mask]++
		counts[2][key>>(2*digitBits)]++
	}
	for d := range singleDigits {
		c, shift := &counts[d], d*digitBits
		at := int32(0)
		for v, count := range c {
			c[v] = at
			at += count
		}
		for _, key := range keys {
			v := key >> shift & mask
			spare[c[v]] = key
			c[v]++
		}
		keys, spare = spare, keys
	}
	for i, key := range keys {
		x[i] = singleOf(key)
	}
}

// singleKey returns a number that increases with x, a float32. Equal numbers have equal keys.
func singleKey(x float64) uint32 {
	if x == 0 {
		x = 0 // not -0
	}
	bits := math.Float32bits(float32(x))
	if bits>>31 == 0 {
		return bits | 1<<31
	}
	return ^bits
}

// singleOf is the inverse of singleKey.
func singleOf(key uint32) float64 {
	if key>>31 == 1 {
		return float64(math.Float32frombits(key &^ (1 << 31)))
	}
	return float64(math.Float32frombits(^key))
}
