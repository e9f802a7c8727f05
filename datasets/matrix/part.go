package matrix

import "fmt"

// Part is a matrix of which this process has the rows From, From + 1, ... in Own. Other processes
// have the other rows.
type Part struct {
	Rows int // of the whole matrix
	From int
	Own  Matrix
}

var _ Matrix = (*Part)(nil)

// Dims returns the numbers of rows and columns of the whole matrix.
func (p *Part) Dims() (rows, cols int) {
	_, cols = p.Own.Dims()
	return p.Rows, cols
}

// Has reports whether this process has row i.
func (p *Part) Has(i int) bool {
	own, _ := p.Own.Dims()
	return p.From <= i && i < p.From+own
}

// Float32 implements Matrix. It panics if this process lacks one of the rows.
func (p *Part) Float32(dst []float32, from, to int) { widenPart(dst, p, from, to) }

// Float64 implements Matrix. It panics if this process lacks one of the rows.
func (p *Part) Float64(dst []float64, from, to int) { widenPart(dst, p, from, to) }

func widenPart[T Float](dst []T, p *Part, from, to int) {
	CheckRows(p, len(dst), from, to)
	if from == to {
		return
	}
	if own, _ := p.Own.Dims(); from < p.From || to > p.From+own {
		panic(fmt.Sprintf("matrix: rows [%d, %d) of a part that has the rows [%d, %d)", from, to, p.From, p.From+own))
	}
	Widen(dst, p.Own, from-p.From, to-p.From)
}

// EightBitPart is a Part of 8-bit rows.
type EightBitPart struct {
	Part
	own EightBit
}

var _ EightBit = (*EightBitPart)(nil)

// NewEightBitPart returns a part of a matrix with the given number of rows.
func NewEightBitPart(rows, from int, own EightBit) *EightBitPart {
	return &EightBitPart{Part{Rows: rows, From: from, Own: own}, own}
}

// ByteScale implements EightBit.
func (p *EightBitPart) ByteScale() float64 { return p.own.ByteScale() }

// ByteRow implements EightBit for a row of this process.
func (p *EightBitPart) ByteRow(i int, buffer []uint8) []uint8 { return p.own.ByteRow(i-p.From, buffer) }
