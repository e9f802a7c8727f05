package kernel

// A goroutine flushes its partial sums in F to the totals in float64 after at least flushRows rows.
// It does not flush before adding the rows' entries took flushCost times as long as the flush.
const (
	flushRows = 4096
	flushCost = 64
)

// SparseSums is the memory in which one goroutine adds up X^T D.
type SparseSums[F Float] struct {
	k           *Kernels[F]
	x           *Sparse[F]
	cols        int
	part        []F // since the last flush, in panels or in a column's lanes; nil if sums go to totals at once
	lanes       int // number of lanes of a panel's vector, or of a column
	rows, limit int // rows since the last flush, and rows until the next flush
	totals      []float64
	used        bool      // the totals may differ from 0
	scaled      bool      // the totals are multiplied by the value of all entries
	folded      []float64 // room for AddColumn
	fold        func(columns int, sums *F, from, to *float64)
	group       [groupRows]F
}

// NewSparseSums returns zero sums for products of x with a D of cols columns. It may add row groups
// to x, so no product with x may run at the same time.
func (k *Kernels[F]) NewSparseSums(x *Sparse[F], cols int) *SparseSums[F] {
	s := &SparseSums[F]{k: k, x: x, cols: cols, totals: make([]float64, x.cols*cols)}
	adds := x.cols // additions of a flush, for each of D's columns
	if cols == 1 {
		k.group(x)
	}
	switch {
	case cols == 1 && x.groups != nil:
		s.lanes = lanes[F]()
		s.part = Alloc[F](x.cols * s.lanes)
		s.fold, s.folded = k.sparse.groupFold, make([]float64, x.cols)
		adds *= s.lanes
	case cols != 1:
		s.lanes = k.sparse.lanes
		s.part = Alloc[F](x.cols * rowsWidth(cols, s.lanes))
	}
	s.limit = max(flushRows, flushCost*adds*x.rows/max(len(x.columns), 1))
	return s
}

// Another returns zero sums for the same products. It only reads s and x.
func (s *SparseSums[F]) Another() *SparseSums[F] {
	other := &SparseSums[F]{k: s.k, x: s.x, cols: s.cols, lanes: s.lanes, limit: s.limit, totals: make([]float64, len(s.totals)), fold: s.fold,
		folded: make([]float64, len(s.folded))}
	if s.part != nil {
		other.part = Alloc[F](len(s.part))
	}
	return other
}

// FlushRows returns the number of rows after which AddMulTransSparse adds the partial sums to the
// totals in float64. For fewer rows the addition would cost more than 1/64 of the rows' products.
func (s *SparseSums[F]) FlushRows() int { return s.limit }

// Clear sets the sums to zero.
func (s *SparseSums[F]) Clear() {
	clear(s.part)
	if s.used {
		clear(s.totals)
	}
	s.rows, s.used, s.scaled = 0, false, false
}

// AddMulTransSparse adds the product of rows lo to hi-1: G += X[lo:hi]^T D. d has hi-lo rows, ldd
// elements apart.
//
// If D has several columns, each element of G is a chain of multiply-adds in the order of the rows,
// fused above level Go, that is cut every few thousand rows: the parts are in F and their sum in
// float64.
//
// If D has one column, the products are rounded and summed in float64 at once. With groups, every
// 16th row (float32; every 8th in float64) goes to one of as many chains in F. When the chains are
// cut, they are added in float64, every fourth in turn.
//
// So G depends on the sequence of the rows, not on the blocks that they came in, and is the same at
// AVX2 and AVX512.
func (k *Kernels[F]) AddMulTransSparse(s *SparseSums[F], lo, hi int, d []F, ldd int) {
	x := s.x
	checkSparseBlock(x, lo, hi)
	checkMatrix("AddMulTransSparse", d, hi-lo, s.cols, ldd)
	if x.cols == 0 || s.cols == 0 {
		return
	}
	for lo < hi {
		n := min(hi-lo, s.limit-s.rows)
		switch {
		case s.cols != 1:
			k.addTransRows(s, lo, n, d, ldd)
		case x.groups != nil:
			k.addTransGroups(s, lo, lo+n, d, ldd)
		default:
			s.addColumn(lo, lo+n, d, ldd)
		}
		if s.rows += n; s.rows == s.limit {
			s.flush()
		}
		lo += n
		d = d[min(n*ldd, len(d)):]
	}
}

// addTransRows adds X[lo:lo+rows]^T D in panels.
func (k *Kernels[F]) addTransRows(s *SparseSums[F], lo, rows int, d []F, ldd int) {
	x := s.x
	for j := 0; j < s.cols; {
		n, width := rowsPanel(s.cols-j, s.lanes)
		pass := k.sparse.rowsAddTrans[passOf(width, s.lanes)]
		pass(rows, &x.starts[lo], at(x.columns), at(x.values), x.step, &d[j], ldd, &s.part[j*x.cols], width, n)
		j += n
	}
}

// addColumn adds X^T d to the totals.
func (s *SparseSums[F]) addColumn(lo, hi int, d []F, ldd int) {
	x, g := s.x, s.totals
	s.used = true
	for i := lo; i < hi; i++ {
		from, to := x.starts[i], x.starts[i+1]
		columns, di := x.columns[from:to], float64(d[(i-lo)*ldd])
		if x.step == 0 {
			for _, c := range columns {
				g[c] += di
			}
			continue
		}
		values := x.values[from:to][:len(columns)]
		for e, c := range columns {
			g[c] += float64(values[e]) * di
		}
	}
}

// scale returns the factor of a single column's sums: the value of all entries if they are equal,
// else 1. It is 1 once the totals are multiplied.
func (s *SparseSums[F]) scale() float64 {
	if s.x.step == 0 && !s.scaled {
		return float64(s.x.values[0])
	}
	return 1
}

// Add adds the sums of o, in float64. o loses its partial sums and keeps its totals.
func (s *SparseSums[F]) Add(o *SparseSums[F]) {
	s.flush()
	o.flush()
	s.used = s.used || o.used
	for i, v := range o.totals {
		s.totals[i] += v
	}
}

// Totals ends the additions until the next Clear, and returns the sums, row after row. The caller
// may change them. Another process may have other values of its entries, so the sums of a single
// column are multiplied by the value of all entries.
func (s *SparseSums[F]) Totals() []float64 {
	s.flush()
	if scale := s.scale(); s.cols == 1 && scale != 1 {
		for i := range s.totals {
			s.totals[i] *= scale
		}
	}
	s.used, s.scaled = true, true
	return s.totals
}

// flush adds the partial sums to the totals and clears them.
func (s *SparseSums[F]) flush() {
	if s.rows == 0 {
		return
	}
	s.rows, s.used = 0, true
	if s.fold != nil {
		s.foldLanes(s.totals, 0)
		clear(s.part)
		return
	}
	s.addParts(s.totals, 0)
	clear(s.part)
}

// fewElements is the number of elements below which a loop in Go is as fast as a call of a kernel.
const fewElements = 24

// addParts adds the partial sums in panels, from row i on, to rows.
func (s *SparseSums[F]) addParts(rows []float64, i int) {
	if s.part == nil || len(rows) == 0 {
		return
	}
	if n, width := rowsPanel(s.cols, s.lanes); n == s.cols && n == width { // one panel without padding
		s.k.Accumulate(rows, 1, s.part[i*width:][:len(rows)])
		return
	}
	for ; len(rows) > 0; i, rows = i+1, rows[s.cols:] {
		for j := 0; j < s.cols; {
			n, width := rowsPanel(s.cols-j, s.lanes)
			to, from := rows[j:][:n], s.part[j*s.x.cols+i*width:][:n]
			j += n
			if n >= fewElements {
				s.k.Accumulate(to, 1, from)
				continue
			}
			for l, v := range from {
				to[l] += float64(v)
			}
		}
	}
}

// foldLanes writes rows from to from+len(to)-1 of the sums so far, of a single column in lanes, to
// the elements of to.
func (s *SparseSums[F]) foldLanes(to []float64, from int) {
	if len(to) > 0 {
		s.fold(len(to), &s.part[from*s.lanes:][:len(to)*s.lanes][0], &s.totals[from:][:len(to)][0], &to[0])
	}
}

// AddRows adds the sums so far, from row i on, to rows, which has complete rows. Goroutines may
// call AddRows for different rows at the same time.
func (s *SparseSums[F]) AddRows(rows []float64, i int) {
	if len(rows)%max(1, s.cols) != 0 {
		panic("kernel: AddRows: a row is not complete")
	}
	if s.cols == 1 {
		s.AddColumn(rows, i)
		return
	}
	if s.used {
		for j, v := range s.totals[i*s.cols:][:len(rows)] {
			rows[j] += v
		}
	}
	s.addParts(rows, i)
}

// AddColumn adds rows from to from+len(to)-1 of the sums so far, which have one column, to the
// elements of to. Goroutines may call AddColumn for different rows at the same time. AddColumn
// equals AddRows.
func (s *SparseSums[F]) AddColumn(to []float64, from int) {
	if s.cols != 1 {
		panic("kernel: AddColumn: the sums have several columns")
	}
	sums := s.totals[from:][:len(to)]
	if s.fold != nil {
		sums = s.folded[from:][:len(to)]
		s.foldLanes(sums, from)
	}
	scale := s.scale()
	for i, v := range sums {
		to[i] += scale * v
	}
}

// Column is AddColumn to zeros.
func (s *SparseSums[F]) Column(to []float64, from int) {
	if s.fold == nil || s.scale() != 1 {
		clear(to)
		s.AddColumn(to, from)
		return
	}
	s.foldLanes(to, from)
}
