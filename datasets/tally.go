package datasets

import (
	"math"
	"math/bits"
)

// tally adds up the columns of 8-bit rows v_i in integers, exactly. The moments are the same bits
// for every order of the rows and every number of tallies.
type tally struct {
	rows        int
	sum, square []uint64 // sum_i v_ij and sum_i v_ij^2
}

func newTally(cols int) *tally {
	return &tally{sum: make([]uint64, cols), square: make([]uint64, cols)}
}

// add adds a row.
func (t *tally) add(row []uint8) {
	t.rows++
	sum, square := t.sum[:len(row)], t.square[:len(row)]
	for j, v := range row {
		sum[j] += uint64(v)
		square[j] += uint64(v) * uint64(v)
	}
}

// join adds the rows of another tally.
func (t *tally) join(o *tally) {
	t.rows += o.rows
	for j := range t.sum {
		t.sum[j] += o.sum[j]
		t.square[j] += o.square[j]
	}
}

// moments returns the moments of scale v, as Moments does, from n sum(v^2) - sum(v)^2 = n sum (v -
// mean)^2, which is exact in 128-bit integers.
func (t *tally) moments(scale float64) (center []float64, deviation float64) {
	center = make([]float64, len(t.sum))
	if t.rows == 0 || len(center) == 0 {
		return center, 0
	}
	n := float64(t.rows)
	spread := 0.0 // n * sum_ij (v_ij - mean_j)^2
	for j := range center {
		center[j] = scale * (float64(t.sum[j]) / n)
		hi, lo := bits.Mul64(uint64(t.rows), t.square[j])
		sqHi, sqLo := bits.Mul64(t.sum[j], t.sum[j])
		lo, borrow := bits.Sub64(lo, sqLo, 0)
		hi, _ = bits.Sub64(hi, sqHi, borrow)
		spread += float64(hi)*0x1p64 + float64(lo)
	}
	return center, math.Abs(scale) * math.Sqrt(spread/float64(len(center))) / n
}
