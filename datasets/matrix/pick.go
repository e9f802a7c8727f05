package matrix

// Pick returns the given rows of m, in the given order, as a matrix that copies nothing. Rows of
// an EightBit matrix are EightBit again; other rows are widened (see PickSparse). The caller may
// change the elements of the list between reads, to reuse the matrix for the next mini-batch.
func Pick(m Matrix, rows []int) Matrix {
	p := picked{m, rows}
	if b, ok := m.(EightBit); ok {
		return &pickedBytes{p, b}
	}
	return &p
}

// PickSparse returns the given rows of m, in the given order, as a sparse matrix. Entries copies
// the entries of the rows into the matrix's memory, which a later call overwrites: one goroutine
// may call Entries at a time. The caller may change the elements of the list between calls.
func PickSparse(m Sparse, rows []int) Sparse {
	p := &pickedEntries{picked: picked{m, rows}}
	p.from.starts, p.from.columns, p.from.values = m.Entries()
	return p
}

// pickedEntries holds the rows of a sparse matrix whose numbers are in a list.
type pickedEntries struct {
	picked
	from, own entries
}

// entries are the slices of a Sparse.
type entries struct {
	starts  []int
	columns []int32
	values  []float64
}

// Entries implements Sparse.
func (p *pickedEntries) Entries() (starts []int, columns []int32, values []float64) {
	own, from := &p.own, &p.from
	own.starts, own.columns, own.values = append(own.starts[:0], 0), own.columns[:0], own.values[:0]
	for _, i := range p.rows {
		first, last := from.starts[i], from.starts[i+1]
		own.columns = append(own.columns, from.columns[first:last]...)
		if from.values != nil {
			own.values = append(own.values, from.values[first:last]...)
		}
		own.starts = append(own.starts, len(own.columns))
	}
	if from.values == nil {
		return own.starts, own.columns, nil
	}
	return own.starts, own.columns, own.values
}

// picked holds the rows of a matrix whose numbers are in a list.
type picked struct {
	source Matrix
	rows   []int
}

func (p *picked) Dims() (rows, cols int) {
	_, cols = p.source.Dims()
	return len(p.rows), cols
}

func (p *picked) Float32(dst []float32, from, to int) { widenPicked(dst, p, from, to) }
func (p *picked) Float64(dst []float64, from, to int) { widenPicked(dst, p, from, to) }

// Gatherer is a matrix that reads many listed rows at a time faster than row by row.
type Gatherer interface {
	Matrix
	// Gather32 writes the listed rows to dst.
	Gather32(dst []float32, rows []int)
	// Gather64 writes the listed rows to dst.
	Gather64(dst []float64, rows []int)
}

// widenPicked widens consecutive rows of the underlying matrix with one call.
func widenPicked[T Float](dst []T, p *picked, from, to int) {
	CheckRows(p, len(dst), from, to)
	_, cols := p.Dims()
	if g, ok := p.source.(Gatherer); ok {
		switch dst := any(dst).(type) {
		case []float32:
			g.Gather32(dst, p.rows[from:to])
		case []float64:
			g.Gather64(dst, p.rows[from:to])
		}
		return
	}
	for i := from; i < to; {
		first, end := p.rows[i], i+1
		for end < to && p.rows[end] == first+end-i {
			end++
		}
		Widen(dst[(i-from)*cols:(end-from)*cols], p.source, first, first+end-i)
		i = end
	}
}

// pickedBytes holds the rows of an 8-bit matrix whose numbers are in a list.
type pickedBytes struct {
	picked
	bytes EightBit
}

var _ EightBit = (*pickedBytes)(nil)

func (p *pickedBytes) ByteScale() float64 { return p.bytes.ByteScale() }

func (p *pickedBytes) ByteRow(i int, buffer []uint8) []uint8 {
	return p.bytes.ByteRow(p.rows[i], buffer)
}

func (p *pickedBytes) Float32(dst []float32, from, to int) { WidenBytes(dst, p, from, to) }
func (p *pickedBytes) Float64(dst []float64, from, to int) { WidenBytes(dst, p, from, to) }
