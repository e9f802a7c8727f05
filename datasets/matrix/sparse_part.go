package matrix

import "fmt"

// SparsePart is a sparse matrix of which this process has the rows From to To-1. Other processes
// have the entries of the other rows, which look empty here: products read this process's rows
// alone.
type SparsePart struct {
	CSR
	From, To int
	All      int // entries of all rows, in all processes
}

var _ Sparse = (*SparsePart)(nil)

// Has reports whether this process has row i.
func (p *SparsePart) Has(i int) bool { return p.From <= i && i < p.To }

// Float32 implements Matrix. It panics if this process lacks one of the rows.
func (p *SparsePart) Float32(dst []float32, from, to int) {
	p.check(from, to)
	p.CSR.Float32(dst, from, to)
}

// Float64 implements Matrix. It panics if this process lacks one of the rows.
func (p *SparsePart) Float64(dst []float64, from, to int) {
	p.check(from, to)
	p.CSR.Float64(dst, from, to)
}

func (p *SparsePart) check(from, to int) {
	if from < to && (from < p.From || to > p.To) {
		panic(fmt.Sprintf("matrix: rows [%d, %d) of a part that has the rows [%d, %d)", from, to, p.From, p.To))
	}
}

// CountEntries returns the number of entries of a sparse matrix, or the number of entries in all
// rows of a SparsePart.
func CountEntries(m Sparse) int {
	if p, ok := m.(*SparsePart); ok {
		return p.All
	}
	starts, _, _ := m.Entries()
	return starts[len(starts)-1] - starts[0]
}
