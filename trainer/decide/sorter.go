package decide

import "math"

// sorter sorts moves by radix. Sorting all training rows by comparisons would be the dearest part
// of the exact step.
type sorter struct {
	keys, spare  []uint64
	order, other []int32
	moves        []move
}

// The digits of a key: six digits of 11 bits cover 64 bits.
const (
	digitBits = 11
	digits    = 6
)

// descending sorts moves by decreasing margin. Moves with equal margins keep their order.
func (s *sorter) descending(moves []move) {
	n := len(moves)
	if len(s.keys) != n {
		s.keys, s.spare = make([]uint64, n), make([]uint64, n)
		s.order, s.other, s.moves = make([]int32, n), make([]int32, n), make([]move, n)
	}
	var counts [digits][1 << digitBits]int32
	for i := range moves {
		key := descendingKey(moves[i].margin)
		s.keys[i], s.order[i] = key, int32(i)
		for d := range digits {
			counts[d][key>>(d*digitBits)&(1<<digitBits-1)]++
		}
	}
	for d := range digits {
		if n == 0 || counts[d][s.keys[0]>>(d*digitBits)&(1<<digitBits-1)] == int32(n) {
			continue // all keys have the same digit
		}
		at := int32(0)
		for v, c := range counts[d] {
			counts[d][v] = at
			at += c
		}
		for i, key := range s.keys {
			v := key >> (d * digitBits) & (1<<digitBits - 1)
			s.spare[counts[d][v]], s.other[counts[d][v]] = key, s.order[i]
			counts[d][v]++
		}
		s.keys, s.spare, s.order, s.other = s.spare, s.keys, s.other, s.order
	}
	copy(s.moves, moves)
	for i, from := range s.order {
		moves[i] = s.moves[from]
	}
}

// descendingKey returns a number that decreases where x increases. Equal numbers, such as 0 and -0,
// have equal keys. x is finite.
func descendingKey(x float64) uint64 {
	if x == 0 {
		x = 0 // not -0
	}
	bits := math.Float64bits(x)
	if bits>>63 == 0 {
		return ^bits &^ (1 << 63)
	}
	return bits
}
