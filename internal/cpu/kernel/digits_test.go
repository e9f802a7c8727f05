package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// digit returns digit q of element (i, j).
func (s *Digits) digit(q, i, j int) int64 {
	panel := s.data[j/s.k.lanes*s.k.panelSize(s.rows, s.count):]
	return int64(panel[((i/quad*s.count+q)*s.k.lanes+j%s.k.lanes)*quad+i%quad])
}

// whole returns the integer that the digits of element (i, j) represent, in units of the last
// digit.
func (s *Digits) whole(i, j int) int64 {
	var x int64
	for q := range s.count {
		x = x*base + s.digit(q, i, j)
	}
	return x
}

// TestDigits checks that the magnitude of a digit is at most 127. The digits leave at most the
// remainder that the doc comment of Digits states, plus the rounding of a remainder, 2^-25 of a
// unit of the first digit.
func TestDigits(t *testing.T) {
	eachByteKernels(t, func(t *testing.T, k *ByteKernels, count int) {
		r := rand.New(rand.NewPCG(23, 24))
		for _, size := range []float64{1, 1e-3, 1e30, 0x1p127, 1e-19, 1e-30, 1e-38, 1e-42, 0x1p-149} {
			const rows, cols = 41, 19
			b := make([]float32, rows*cols)
			for i := range b {
				b[i] = float32(size * (2*r.Float64() - 1))
			}
			s := k.NewDigits(rows, cols, count)
			s.Quantize(0, s.Panels(), b, cols, 1)
			for j := range cols {
				var c float64
				for i := range rows {
					c = max(c, math.Abs(float64(b[i*cols+j])))
				}
				least := 0.5*math.Pow(base, float64(1-count)) + 0x1p-25
				for i := range rows {
					for q := range count {
						if d := s.digit(q, i, j); d < -127 || d > 127 {
							t.Fatalf("size %v: digit %d", size, d)
						}
					}
					rest := float64(b[i*cols+j]) - s.wide[j]*float64(s.whole(i, j))
					if !(math.Abs(rest) <= c/127*least*(1+0x1p-23)) {
						t.Fatalf("size %v: %v leaves %v of %v", size, b[i*cols+j], rest, c)
					}
				}
			}
		}
	})
}
