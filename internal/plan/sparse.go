package plan

import (
	"slices"

	"ppal/datasets/matrix"
)

// CountEntries sets the number of entries of the products with a whole sparse matrix. Lower calls
// it.
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

// sparseOf returns the sparse matrix that a view is all of, else nil.
func (p *Plan) sparseOf(v View) matrix.Sparse {
	if x, ok := p.DataOf(v.Buffer).(matrix.Sparse); ok && v.Len() == p.Buffers[v.Buffer].Len() {
		return x
	}
	return nil
}

// entries is the number of a sparse matrix's entries. Its rows may be some of a larger matrix's.
func entries(x matrix.Sparse) int {
	starts, _, _ := x.Entries()
	if len(starts) == 0 { // malformed: the device says so
		return 0
	}
	return starts[len(starts)-1] - starts[0]
}

// sparseBytes is what a sparse matrix takes with values of size bytes.
func sparseBytes(x matrix.Sparse, size int64) int64 {
	starts, _, values := x.Entries()
	entry := int64(4)
	if values != nil {
		entry += size
	}
	return 8*int64(len(starts)) + entry*int64(entries(x))
}

// bytes is what a step reads and writes.
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
