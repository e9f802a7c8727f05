package matrix

import (
	"math"
	"math/bits"
)

// Tally sums the columns of 8-bit rows v_i exactly, in integers: the moments have the same bits
// for any order of the rows and any number of tallies.
type Tally struct {
	rows        int
	sum, square []uint64 // sum_i v_ij and sum_i v_ij^2
}

// NewTally returns an empty tally for rows of cols values.
func NewTally(cols int) *Tally {
	return &Tally{sum: make([]uint64, cols), square: make([]uint64, cols)}
}

// Add counts a row.
func (t *Tally) Add(row []uint8) {
	t.rows++
	sum, square := t.sum[:len(row)], t.square[:len(row)]
	for j, v := range row {
		sum[j] += uint64(v)
		square[j] += uint64(v) * uint64(v)
	}
}

// Join counts the rows of another tally.
func (t *Tally) Join(o *Tally) {
	t.rows += o.rows
	for j := range t.sum {
		t.sum[j] += o.sum[j]
		t.square[j] += o.square[j]
	}
}

// Moments returns the Moments of the matrix scale v. They come from
// n sum(v^2) - sum(v)^2 = n sum (v - mean)^2, which is exact in 128-bit integers.
func (t *Tally) Moments(scale float64) (center []float64, deviation float64) {
	center = make([]float64, len(t.sum))
	if t.rows == 0 || len(center) == 0 {
		return center, 0
	}
	n := float64(t.rows)
	squares := 0.0 // n * sum_ij (v_ij - mean_j)^2
	for j := range center {
		center[j] = scale * (float64(t.sum[j]) / n)
		hi, lo := bits.Mul64(uint64(t.rows), t.square[j])
		sqHi, sqLo := bits.Mul64(t.sum[j], t.sum[j])
		lo, borrow := bits.Sub64(lo, sqLo, 0)
		hi, _ = bits.Sub64(hi, sqHi, borrow)
		squares += float64(hi)*0x1p64 + float64(lo)
	}
	return center, math.Abs(scale) * math.Sqrt(squares/float64(len(center))) / n
}
