package kernels

import (
	"encoding/binary"
	"math"
)

// none is the offset of a list that a table does not have.
const none = -1

// table holds bytes for the device: a head of 64-bit numbers, then lists. Each list begins at a
// multiple of 8.
type table struct{ bytes []byte }

func newTable(head int) *table { return &table{make([]byte, head)} }

// put writes numbers into the head.
func (t *table) put(at int, numbers ...int64) {
	for i, n := range numbers {
		binary.LittleEndian.PutUint64(t.bytes[at+8*i:], uint64(n))
	}
}

func bitsOf(x float64) int64 { return int64(math.Float64bits(x)) }

// begin returns the offset of the next list.
func (t *table) begin() int64 {
	for len(t.bytes)%8 != 0 {
		t.bytes = append(t.bytes, 0)
	}
	return int64(len(t.bytes))
}

func (t *table) int64s(list []int) int64 {
	at := t.begin()
	for _, n := range list {
		t.bytes = binary.LittleEndian.AppendUint64(t.bytes, uint64(n))
	}
	return at
}

func (t *table) int32s(list []int32) int64 {
	at := t.begin()
	for _, n := range list {
		t.bytes = binary.LittleEndian.AppendUint32(t.bytes, uint32(n))
	}
	return at
}

func (t *table) float64s(list []float64) int64 {
	at := t.begin()
	for _, x := range list {
		t.bytes = binary.LittleEndian.AppendUint64(t.bytes, math.Float64bits(x))
	}
	return at
}
