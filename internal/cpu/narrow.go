package cpu

import (
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// narrow is the largest width of products that read activations without packing. Packing a block
// would cost more than it gains.
const narrow = 16

// blockOf returns rows lo to hi-1 of v for the kernels.
func (w *worker[T]) blockOf(v plan.View, lo, hi int) kernel.Strided[T] {
	return kernel.Dense(w.From(v, lo), hi-lo, v.Cols, v.Stride)
}

// narrowProduct computes Z = A W for activations A, if A or Z is narrow.
type narrowProduct[T plan.Float] struct {
	p          *plan.Product
	dots       bool // Z is narrow: its elements are dot products
	transposed []T  // transpose of the stored B, if the kernel reads its rows
}

func newNarrowProduct[T plan.Float](p *plan.Product) *narrowProduct[T] {
	s := &narrowProduct[T]{p: p, dots: p.Out.Cols <= p.A.Cols}
	if s.dots != p.TransB { // dot products read rows of W^T, combinations read rows of W
		s.transposed = make([]T, p.B.Len())
	}
	return s
}

func (s *narrowProduct[T]) prepare(e *executor[T]) {
	if s.transposed != nil {
		transpose(e, s.p.B, s.transposed)
	}
}

// transpose writes the transpose of v.
func transpose[T plan.Float](e *executor[T], v plan.View, to []T) {
	for i := range v.Rows {
		for j, x := range e.Row(v, i) {
			to[j*v.Rows+i] = x
		}
	}
}

func (s *narrowProduct[T]) block(_ int, w *worker[T], lo, hi int) error {
	z, f := w.blockOf(s.p.Out, lo, hi), s.factors(w, lo, hi)
	if s.dots {
		w.k.Dots(z, f.E, f.V)
	} else {
		w.k.CombineRows(z, f.E, f.V, false)
	}
	return nil
}

// factors returns the factors for rows lo to hi-1 of A, in the form that the kernel reads.
func (s *narrowProduct[T]) factors(w *worker[T], lo, hi int) kernel.Factors[T] {
	f := kernel.Factors[T]{E: w.blockOf(s.p.A, lo, hi), V: w.blockOf(s.p.B, 0, s.p.B.Rows)}
	if s.transposed != nil {
		f.V = kernel.Dense(s.transposed, f.V.Cols, f.V.Rows, f.V.Rows)
	}
	return f
}

// outerSums computes G = A^T D, or G += A^T D, if A or D is narrow. Each row of G or of G^T is a
// combination of the rows of the wide factor.
type outerSums[T plan.Float] struct {
	productSums[T]
	wide  bool  // A is the wide factor: the sums are G^T
	rooms [][]T // for the rows and factors that compact keeps, by slot
}

func newOuterSums[T plan.Float](e *executor[T], p *plan.Product) *outerSums[T] {
	return &outerSums[T]{productSums: newProductSums(e, p), wide: p.A.Cols > p.B.Cols}
}

func (s *outerSums[T]) reserve(slots int) {
	s.productSums.reserve(slots)
	s.rooms = make([][]T, slots)
}

func (s *outerSums[T]) block(_ int, w *worker[T], lo, hi int) error {
	short, long := w.blockOf(s.p.A, lo, hi), w.blockOf(s.p.B, lo, hi)
	if s.wide {
		short, long = long, short
	}
	sums := kernel.Dense(s.slots[w.slot], short.Cols, long.Cols, long.Cols)
	if short.Cols == 1 {
		short, long = s.compact(w.slot, short, long)
	}
	w.k.CombineRows(sums, short.T(), long, true)
	return nil
}

// compactShare is the largest share of rows that compact copies: copying a row costs about as much
// as combining it.
const compactShare = 0.25

// compact leaves out the rows whose factor in short is 0, if they are most rows: the gradient of
// the rate of a group needs the rows of the group only. The sums keep their bits, because the rest
// of their chains remains in order.
func (s *outerSums[T]) compact(slot int, short, long kernel.Strided[T]) (factors, rows kernel.Strided[T]) {
	most, n := int(compactShare*float64(short.Rows)), 0
	for i := range short.Rows {
		if short.Data[i*short.RowStride] == 0 {
			continue
		}
		if n++; n > most {
			return short, long
		}
	}
	size := most * (1 + long.Cols)
	if len(s.rooms[slot]) < size {
		s.rooms[slot] = make([]T, size)
	}
	kept, room := s.rooms[slot][:n], s.rooms[slot][most:]
	n = 0
	for i := range short.Rows {
		if x := short.Data[i*short.RowStride]; x != 0 {
			kept[n] = x
			copy(room[n*long.Cols:(n+1)*long.Cols], long.Data[i*long.RowStride:])
			n++
		}
	}
	return kernel.Dense(kept, n, 1, 1), kernel.Dense(room, n, long.Cols, long.Cols)
}

// finishShare adds up the sums for a part of the rows of G, and writes or adds them to the
// product's result.
func (s *outerSums[T]) finishShare(e *executor[T], roots []int, worker, workers int) {
	out := s.p.Out
	first := s.slots[roots[0]]
	sums := kernel.Dense(first, out.Rows, out.Cols, out.Cols)
	if s.wide {
		sums = kernel.Dense(first, out.Cols, out.Rows, out.Rows).T()
	}
	from, to := share(out.Rows, worker, workers)
	for i := from; i < to; i++ {
		row := e.Row(out, i)
		for j := range row {
			at := i*sums.RowStride + j*sums.ColStride
			x := first[at]
			for _, r := range roots[1:] {
				x += s.slots[r][at]
			}
			if s.p.Add {
				x += row[j]
			}
			row[j] = x
		}
	}
}
