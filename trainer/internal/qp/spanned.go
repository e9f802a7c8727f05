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
	Rows   [][]Entry // C, row by row, each with increasing columns
	Gram   *mat.SymDense
	Linear []float64

	combined, image, sizes []float64 // C'y, MC'y and the size of the terms of MC'y
}

// NonNegative moves y >= 0 to the minimiser over y >= 0. It reports whether y is the minimiser, up
// to rounding.
func (q *Spanned) NonNegative(y []float64) bool { return nonNegative(q, y) }

// Combine writes C'y, which has a number for each column of M.
func (q *Spanned) Combine(dst, y []float64) {
	clear(dst)
	for j, v := range y {
		if v == 0 {
			continue
		}
		for _, e := range q.Rows[j] {
			dst[e.Column] += e.Value * v
		}
	}
}

// Spread writes Cu for a number u of each column of M.
func (q *Spanned) Spread(dst, u []float64) {
	for j, row := range q.Rows {
		dst[j] = 0
		for _, e := range row {
			dst[j] += e.Value * u[e.Column]
		}
	}
}

func (q *Spanned) linear() []float64 { return q.Linear }

func (q *Spanned) at(i, j int) float64 {
	m, sum := q.Gram.RawSymmetric(), 0.0 // the upper triangle
	for _, a := range q.Rows[i] {
		for _, b := range q.Rows[j] {
			sum += a.Value * b.Value * m.Data[min(a.Column, b.Column)*m.Stride+max(a.Column, b.Column)]
		}
	}
	return sum
}

func (q *Spanned) slopes(slope, size, y []float64) {
	n := q.Gram.SymmetricDim()
	if len(q.combined) != n {
		q.combined, q.image, q.sizes = make([]float64, n), make([]float64, n), make([]float64, n)
	}
	q.Combine(q.combined, y)
	m := q.Gram.RawSymmetric()
	clear(q.image)
	clear(q.sizes)
	for t, v := range q.combined {
		if v == 0 {
			continue
		}
		for s := range n {
			product := m.Data[min(s, t)*m.Stride+max(s, t)] * v
			q.image[s] += product
			q.sizes[s] += math.Abs(product)
		}
	}
	for j, row := range q.Rows {
		slope[j], size[j] = q.Linear[j], math.Abs(q.Linear[j])
		for _, e := range row {
			slope[j] += e.Value * q.image[e.Column]
			size[j] += math.Abs(e.Value) * q.sizes[e.Column]
		}
	}
}

// Length returns the length of the column of y_j.
func (q *Spanned) Length(j int) float64 { return math.Sqrt(q.at(j, j)) }
