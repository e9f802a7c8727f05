package session

import (
	"ppal/datasets/matrix"
)

// recovered is a matrix of 8-bit values v that is read from v scale rounded to floating point, so that the bytes themselves need not be
// kept beside it. Its elements are those of the bytes, bit by bit, in both precisions.
type recovered struct {
	matrix.Matrix               // the rounded one, whose Float32 is the bytes' too: rounded once
	scale, inverse float64      // inverse is 1/scale
	wide           [256]float64 // v scale
}

// recoverBytes returns the matrix from its rounded form, or as it is where that does not tell all elements.
func recoverBytes(data matrix.Matrix, rounded matrix.Matrix) matrix.Matrix {
	b, ok := data.(*matrix.Bytes)
	if !ok || rounded == nil || rounded == matrix.Matrix(data) {
		return data
	}
	r := &recovered{Matrix: rounded, scale: b.Scale, inverse: 1 / b.Scale}
	for v := range r.wide {
		r.wide[v] = float64(v) * b.Scale
		if int(r.byte(float64(float32(r.wide[v])))) != v {
			return data
		}
	}
	return r
}

// byte is the 8-bit value of an element.
func (r *recovered) byte(x float64) uint8 { return uint8(x*r.inverse + 0.5) }

// Float64 implements matrix.Matrix.
func (r *recovered) Float64(dst []float64, from, to int) {
	r.Matrix.Float64(dst, from, to)
	for i, x := range dst {
		dst[i] = r.wide[r.byte(x)]
	}
}
