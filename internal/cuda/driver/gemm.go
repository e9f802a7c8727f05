package driver

import (
	"fmt"
	"math"
)

// Precision is the arithmetic of a product.
type Precision uint8

// The precisions.
const (
	Float32 Precision = iota // float32 operands, float32 arithmetic
	TF32                     // tensor cores: float32 operands rounded to 10 bits of mantissa, float32 sums
	Float64                  // float64 operands and arithmetic
	BF16                     // bfloat16 operands, float32 sums and result
	Int8                     // signed 8-bit operands, 32-bit integer sums and result: exact if the sums fit
)

// Sizes returns the bytes of an element of the operands and of the result.
func (p Precision) Sizes() (in, out int) {
	switch p {
	case Float64:
		return 8, 8
	case BF16:
		return 2, 4
	case Int8:
		return 1, 4
	}
	return 4, 4
}

// Gemm is the product C = alpha op(A) op(B) + beta C of row-major matrices. C is Rows x Cols, and
// the sums run over Inner. A stride is the distance between rows, in elements. Batch > 1 runs a
// strided batch: Step* is the distance between consecutive operands, in elements.
//
// Int8 supports only A B^T with alpha = 1 and beta = 0. Cols must be a multiple of 4; Inner and the
// strides, steps and addresses of A and B must be multiples of 16, as tensor cores read rows.
type Gemm struct {
	Precision           Precision
	Rows, Cols, Inner   int
	TransA, TransB      bool // op(A) = A^T: A is Inner x Rows in memory
	Alpha, Beta         float64
	A, B, C             Pointer
	StrideA, StrideB    int
	StrideC             int
	Batch               int // 0 is 1
	StepA, StepB, StepC int
}

// Spans returns the memory that a product reads (A, B, and C if beta is not 0) and writes (C), each
// from the first element to the last.
func (g *Gemm) Spans() (reads, writes []Span) {
	in, out := g.Precision.Sizes()
	span := func(at Pointer, rows, cols, stride, step, size int, trans bool) Span {
		if trans {
			rows, cols = cols, rows
		}
		return Span{At: at, Bytes: (max(g.Batch-1, 0)*step + (rows-1)*stride + cols) * size}
	}
	c := span(g.C, g.Rows, g.Cols, g.StrideC, g.StepC, out, false)
	reads = []Span{span(g.A, g.Rows, g.Inner, g.StrideA, g.StepA, in, g.TransA), span(g.B, g.Inner, g.Cols, g.StrideB, g.StepB, in, g.TransB)}
	if g.Beta != 0 {
		reads = append(reads, c)
	}
	return reads, []Span{c}
}

// Check returns an error for an invalid product.
func (g *Gemm) Check() error {
	widthA, widthB := g.Inner, g.Cols
	if g.TransA {
		widthA = g.Rows
	}
	if g.TransB {
		widthB = g.Inner
	}
	switch {
	case g.Precision > Int8:
		return fmt.Errorf("cuda: multiply: unknown precision %d", g.Precision)
	case min(g.Rows, g.Cols, g.Inner, g.Batch) < 0 || max(g.Rows, g.Cols, g.Inner, g.Batch) > math.MaxInt32:
		return fmt.Errorf("cuda: multiply: %d x %d by %d x %d, %d times, is not between 0 and 2^31", g.Rows, g.Inner, g.Inner, g.Cols, g.Batch)
	case g.StrideA < widthA || g.StrideB < widthB || g.StrideC < g.Cols || max(g.StrideA, g.StrideB, g.StrideC) > math.MaxInt32:
		return fmt.Errorf("cuda: multiply: rows of %d, %d and %d elements cannot be %d, %d and %d apart", widthA, widthB, g.Cols,
			g.StrideA, g.StrideB, g.StrideC)
	case g.Precision == Int8 && !g.aligned():
		return fmt.Errorf("cuda: multiply: %+v does not have the form of a product of 8-bit integers", *g)
	}
	return nil
}

// aligned reports whether a product of 8-bit integers has the form that Gemm requires.
func (g *Gemm) aligned() bool {
	const fed, four = 16, 4
	apart := g.Inner%fed | g.StrideA%fed | g.StrideB%fed | g.StepA%fed | g.StepB%fed | int(g.A%fed) | int(g.B%fed)
	result := g.Cols%four | g.StrideC%four | g.StepC%four | int(g.C%fed)
	return apart == 0 && result == 0 && !g.TransA && g.TransB && g.Alpha == 1 && g.Beta == 0
}
