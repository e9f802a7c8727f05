package plan

import (
	"slices"

	"ppal/datasets/matrix"
)

// CountEntries sets the number of entries of each product whose factor is a whole sparse matrix.
// Lower calls CountEntries.
func (p *Plan) CountEntries() {
	for _, r := range slices.Concat(p.Forward, p.Backward) {
		for _, s := range r.Steps {
			if s, ok := s.(*Product); ok {
				if x := p.sparseOf(s.A); x != nil {
					s.Sparse, s.Entries = true, entries(x)
				}
			}
		}
	}
}

// sparseOf returns the sparse matrix if the view covers the whole matrix, else nil.
func (p *Plan) sparseOf(v View) matrix.Sparse {
	if x, ok := p.DataOf(v.Buffer).(matrix.Sparse); ok && v.Len() == p.Buffers[v.Buffer].Len() {
		return x
	}
	return nil
}

// entries returns the number of entries of a sparse matrix, which may be a window of rows of a
// larger matrix.
func entries(x matrix.Sparse) int {
	starts, _, _ := x.Entries()
	if len(starts) == 0 { // malformed; the device reports the error
		return 0
	}
	return starts[len(starts)-1] - starts[0]
}

// sparseBytes returns the memory of a sparse matrix whose values have size bytes.
func sparseBytes(x matrix.Sparse, size int64) int64 {
	starts, _, values := x.Entries()
	entry := int64(4)
	if values != nil {
		entry += size
	}
	return 8*int64(len(starts)) + entry*int64(entries(x))
}

// bytes returns the number of bytes that a step reads and writes.
func (p *Plan) bytes(s Step) int64 {
	var n int64
	size := int64(p.Dtype.Size())
	for _, o := range append(s.Reads(), s.Writes()...) {
		product, ok := s.(*Product)
		if x := p.sparseOf(o.View); x != nil && ok && product.Sparse && o.View == product.A {
			n += sparseBytes(x, size)
			continue
		}
		n += size * int64(o.Len())
	}
	return n
}
