package qp

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Entry is a coefficient of a Spanned's row.
type Entry struct {
	Column int
	Value  float64
}

// Spanned is the quadratic y'CMC'y/2 + b'y of many numbers y: row j of the sparse C states column
// j of a least-squares problem by few vectors, and M has the products of these vectors. y may have
// thousands of numbers; a positive minimiser has at most as many of them as M has columns.
type Spanned struct {
	Gram   *mat.SymDense // M
	Linear []float64     // b

	// C: row j has the entries starts[j] to starts[j+1], with increasing columns.
	starts  []int
	columns []int32
	values  []float64

	combined, image, sizes []float64 // C'y, MC'y and the size of the terms of MC'y
}

// NewSpanned returns the quadratic with the rows of C, M = 0 of the given number of columns, and
// b = 0. The columns of a row must increase.
func NewSpanned(rows [][]Entry, columns int) *Spanned {
	q := &Spanned{Gram: mat.NewSymDense(columns, nil), Linear: make([]float64, len(rows)), starts: make([]int, 1, len(rows)+1),
		combined: make([]float64, columns), image: make([]float64, columns), sizes: make([]float64, columns)}
	for _, row := range rows {
		for _, e := range row {
			q.columns, q.values = append(q.columns, int32(e.Column)), append(q.values, e.Value)
		}
		q.starts = append(q.starts, len(q.columns))
	}
	return q
}

// NonNegative moves y >= 0 to the minimiser over y >= 0. It reports whether y is the minimiser, up
// to rounding.
func (q *Spanned) NonNegative(y []float64) bool { return nonNegative(q, y) }

// row returns the columns and the values of row j of C.
func (q *Spanned) row(j int) ([]int32, []float64) {
	from, to := q.starts[j], q.starts[j+1]
	return q.columns[from:to], q.values[from:to:to]
}

// Combine writes C'y, which has a number for each column of M.
func (q *Spanned) Combine(dst, y []float64) {
	clear(dst)
	for j, v := range y {
		if v == 0 {
			continue
		}
		columns, values := q.row(j)
		for k, c := range columns {
			dst[c] += values[k] * v
		}
	}
}

// Spread writes Cu for a number u of each column of M.
func (q *Spanned) Spread(dst, u []float64) {
	at := 0
	for j := range dst {
		sum := 0.0
		for end := q.starts[j+1]; at < end; at++ {
			sum += q.values[at] * u[q.columns[at]]
		}
		dst[j] = sum
	}
}

func (q *Spanned) linear() []float64 { return q.Linear }

func (q *Spanned) at(i, j int) float64 {
	m, sum := q.Gram.RawSymmetric(), 0.0 // the upper triangle
	columns, values := q.row(j)
	own, factors := q.row(i)
	for k, a := range own {
		for l, b := range columns {
			sum += factors[k] * values[l] * m.Data[int(min(a, b))*m.Stride+int(max(a, b))]
		}
	}
	return sum
}

func (q *Spanned) slopes(slope, y []float64) {
	q.Combine(q.combined, y)
	m := q.Gram.RawSymmetric()
	clear(q.image)
	clear(q.sizes)
	for t, v := range q.combined {
		if v == 0 {
			continue
		}
		for s := range q.image {
			product := m.Data[min(s, t)*m.Stride+max(s, t)] * v
			q.image[s] += product
			q.sizes[s] += math.Abs(product)
		}
	}
	at := 0
	for j, b := range q.Linear {
		for end := q.starts[j+1]; at < end; at++ {
			b += q.values[at] * q.image[q.columns[at]]
		}
		slope[j] = b
	}
}

func (q *Spanned) size(j int, _ []float64) float64 {
	columns, values := q.row(j)
	size := math.Abs(q.Linear[j])
	for k, c := range columns {
		size += math.Abs(values[k]) * q.sizes[c]
	}
	return size
}

// Length returns the length of the column of y_j.
func (q *Spanned) Length(j int) float64 { return math.Sqrt(q.at(j, j)) }
