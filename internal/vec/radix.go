package vec

import "math"

// The digits of a key: six digits of 11 bits cover 64 bits.
const (
	digitBits = 11
	digits    = 6
)

// Sorter sorts numbers that are not NaN by radix. For thousands of numbers, that is several times
// faster than sorting by comparisons. It keeps its memory from one call to the next. The zero value
// is ready for use.
type Sorter struct {
	keys, spare  []uint64
	order, other []int32
	// the keys of numbers that are float32
	short, spareShort []uint32
}

// Sort sorts x in increasing order. A result of -0 becomes 0.
func (s *Sorter) Sort(x []float64) {
	if single(x) {
		s.sortSingle(x)
		return
	}
	s.prepare(len(x))
	for i, v := range x {
		s.keys[i] = keyOf(v)
	}
	s.sort(false)
	for i, key := range s.keys {
		x[i] = numberOf(key)
	}
}

// Order returns the indices 0..n-1 by increasing number. Indices of equal numbers keep their order.
// The result is valid until the next call.
func (s *Sorter) Order(n int, number func(i int) float64) []int32 {
	s.prepare(n)
	if cap(s.order) < n {
		s.order, s.other = make([]int32, n), make([]int32, n)
	}
	s.order, s.other = s.order[:n], s.other[:n]
	if s.orderSingle(number) {
		return s.order
	}
	for i := range s.keys {
		s.keys[i], s.order[i] = keyOf(number(i)), int32(i)
	}
	s.sort(true)
	return s.order
}

// prepare makes room for n keys.
func (s *Sorter) prepare(n int) {
	if cap(s.keys) < n {
		s.keys, s.spare = make([]uint64, n), make([]uint64, n)
	}
	s.keys, s.spare = s.keys[:n], s.spare[:n]
}

// sort sorts the keys, and with them the order if ordered is true.
func (s *Sorter) sort(ordered bool) {
	var counts [digits][1 << digitBits]int32
	for _, key := range s.keys {
		for d := range digits {
			counts[d][key>>(d*digitBits)&(1<<digitBits-1)]++
		}
	}
	n := int32(len(s.keys))
	for d := range digits {
		c, shift := &counts[d], d*digitBits
		if n == 0 || c[s.keys[0]>>shift&(1<<digitBits-1)] == n {
			continue // all keys have the same digit
		}
		at := int32(0)
		for v, count := range c {
			c[v] = at
			at += count
		}
		for i, key := range s.keys {
			v := key >> shift & (1<<digitBits - 1)
			s.spare[c[v]] = key
			if ordered {
				s.other[c[v]] = s.order[i]
			}
			c[v]++
		}
		s.keys, s.spare = s.spare, s.keys
		if ordered {
			s.order, s.other = s.other, s.order
		}
	}
}

// keyOf returns a number that increases with x. Equal numbers, such as 0 and -0, have equal keys.
func keyOf(x float64) uint64 {
	if x == 0 {
		x = 0 // not -0
	}
	bits := math.Float64bits(x)
	if bits>>63 == 0 {
		return bits | 1<<63
	}
	return ^bits
}

// numberOf is the inverse of keyOf.
func numberOf(key uint64) float64 {
	if key>>63 == 1 {
		return math.Float64frombits(key &^ (1 << 63))
	}
	return math.Float64frombits(^key)
}

const (
	singleDigits = 3 // digits of digitBits bits that cover 32 bits
	mask         = 1<<digitBits - 1
)

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
	for i, v := range x {
		key := singleKey(v)
		keys[i] = key
		counts[0][key&mask]++
		counts[1][key>>digitBits&mask]++
		counts[2][key>>(2*digitBits)]++
	}
	for i, key := range byDigits(keys, spare, &counts, 0) {
		x[i] = singleOf(key)
	}
}

// orderSingle is Order for numbers that are float32: half of the digits, and each key carries its
// index. It returns false if a number is not float32.
func (s *Sorter) orderSingle(number func(i int) float64) bool {
	var counts [singleDigits][1 << digitBits]int32
	keys, spare := s.keys, s.spare
	for i := range keys {
		v := number(i)
		if float64(float32(v)) != v {
			return false
		}
		key := singleKey(v)
		keys[i] = uint64(key)<<32 | uint64(i)
		counts[0][key&mask]++
		counts[1][key>>digitBits&mask]++
		counts[2][key>>(2*digitBits)]++
	}
	for i, key := range byDigits(keys, spare, &counts, 32) {
		s.order[i] = int32(uint32(key))
	}
	return true
}

// byDigits sorts the keys by the 32 bits from the bit low on, and returns them. counts are the
// numbers of keys with each digit.
func byDigits[K uint32 | uint64](keys, spare []K, counts *[singleDigits][1 << digitBits]int32, low int) []K {
	for d := range counts {
		c, shift := &counts[d], low+d*digitBits
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
	return keys
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
