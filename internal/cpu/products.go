package cpu

import (
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// product compiles a product in a region. product returns nil if the kernels do not support the
// product.
func (e *executor[T]) product(p *plan.Product) step[T] {
	data := e.data[p.A.Buffer]
	if x := e.sparse[p.A.Buffer]; x != nil && e.packable(p, p.A.Rows) {
		return newSparse(e, p, x)
	}
	if x := e.bytes[p.A.Buffer]; x != nil && e.packable(p, p.A.Rows) {
		return newByteProduct(e, p, x)
	}
	if x := e.bfloat16[p.A.Buffer]; x != nil && e.packable(p, p.A.Rows) {
		return newBFloat16Product(e, p, x)
	}
	switch {
	case p.TransA && p.TransB, p.TransA && p.A.Rows != p.B.Rows:
		return nil
	case p.TransA && data == nil && min(p.A.Cols, p.B.Cols) <= narrow:
		return newOuterSums(e, p)
	case p.TransA:
		return newGradientProduct(e, p, data)
	case data != nil && !p.Add:
		return newDataProduct(e, p, data)
	case p.Add:
		return nil
	}
	return newRowProduct(e, p)
}

// factor is the small factor of a product, B or B^T. The workers pack the factor before the
// blocks.
type factor[T plan.Float] struct {
	p      *plan.Product
	panels *kernel.Panels[T]
}

func newFactor[T plan.Float](e *executor[T], p *plan.Product) factor[T] {
	rows, cols := p.B.Rows, p.B.Cols
	if p.TransB {
		rows, cols = cols, rows
	}
	f := factor[T]{p, e.k.NewPanels(rows, cols)}
	f.panels.Resize(rows, cols)
	return f
}

func (f factor[T]) prepareShare(e *executor[T], worker, workers int) {
	from, to := share(f.panels.Count(), worker, workers)
	f.panels.PackPanels(from, to, e.Data[f.p.B.Buffer][f.p.B.Offset:], f.p.B.Stride, f.p.TransB)
}

// dataProduct computes Z = X W with the packed data X.
type dataProduct[T plan.Float] struct {
	factor[T]
	data *kernel.PackedFloats[T]
}

func newDataProduct[T plan.Float](e *executor[T], p *plan.Product, data *kernel.PackedFloats[T]) *dataProduct[T] {
	return &dataProduct[T]{newFactor(e, p), data}
}

func (s *dataProduct[T]) block(_ int, w *worker[T], lo, hi int) error {
	z := w.From(s.p.Out, lo)
	w.k.Mul(z, s.p.Out.Stride, s.data, lo, hi, s.panels, w.scratch)
	return nil
}

// newRowProduct compiles Z = A W for activations A. The step computes row by row if one side is
// narrow, else with packed blocks.
func newRowProduct[T plan.Float](e *executor[T], p *plan.Product) step[T] {
	if min(p.A.Cols, p.Out.Cols) > narrow {
		return &packedProduct[T]{newFactor(e, p)}
	}
	return newNarrowProduct[T](p)
}

// packedProduct computes Z = A W for activations A. The step packs a block of A at a time.
type packedProduct[T plan.Float] struct{ factor[T] }

func (s *packedProduct[T]) block(_ int, w *worker[T], lo, hi int) error {
	if w.isZero(s.p.A, lo, hi) {
		for i := lo; i < hi; i++ {
			clear(w.Row(s.p.Out, i))
		}
		return nil
	}
	w.packRows(s.p.A, lo, hi)
	w.k.Mul(w.From(s.p.Out, lo), s.p.Out.Stride, w.rows, 0, hi-lo, s.panels, w.scratch)
	return nil
}

// packRows packs rows lo to hi-1 of v for a kernel that reads a packed matrix.
func (w *worker[T]) packRows(v plan.View, lo, hi int) {
	w.rows.Resize(hi-lo, v.Cols)
	for i := lo; i < hi; i++ {
		w.rows.SetRow(i-lo, w.Row(v, i))
	}
}

// productSums holds the sums of a product over rows, G = A^T D, by slot.
type productSums[T plan.Float] struct {
	p *plan.Product
	*slotSums[T]
}

func newProductSums[T plan.Float](e *executor[T], p *plan.Product) productSums[T] {
	return productSums[T]{p, newSlotSums(p.Out.Len(), e.k.Axpy)}
}

// productRows is the least number of rows of a share of G. To clear and add the sums of a share
// takes as long as 5 to 10 rows of the two products with the data.
const productRows = 4 * kernel.RowBlock

func (s productSums[T]) shareRows() int { return productRows }

// isZero reports whether rows lo to hi-1 of v are zero. The derivatives of a constraint are, on
// blocks of rows that the constraint does not bound: a column of the Jacobian then needs the
// products of the other blocks only. A sum keeps its bits without a sum of zeros.
func (w *worker[T]) isZero(v plan.View, lo, hi int) bool {
	for i := lo; i < hi; i++ {
		for _, x := range w.Row(v, i) {
			if x != 0 {
				return false
			}
		}
	}
	return true
}

// finishShare adds up the sums for a part of the rows of G. finishShare writes the totals to the
// result of the product or adds the totals to the result.
func (s productSums[T]) finishShare(e *executor[T], roots []int, worker, workers int) {
	out := s.p.Out
	from, to := share(out.Rows, worker, workers)
	total := s.slots[roots[0]][from*out.Cols : to*out.Cols]
	for _, r := range roots[1:] {
		e.k.Axpy(total, 1, s.slots[r][from*out.Cols:to*out.Cols])
	}
	for i := from; i < to; i++ {
		row := total[(i-from)*out.Cols:][:out.Cols]
		if s.p.Add {
			e.k.Axpy(e.Row(out, i), 1, row)
		} else {
			copy(e.Row(out, i), row)
		}
	}
}

// gradientProduct computes G = A^T D, or G += A^T D. A is the packed data or activations.
type gradientProduct[T plan.Float] struct {
	productSums[T]
	data *kernel.PackedFloats[T] // nil: A is activations, packed a block at a time
}

func newGradientProduct[T plan.Float](e *executor[T], p *plan.Product, data *kernel.PackedFloats[T]) *gradientProduct[T] {
	return &gradientProduct[T]{newProductSums(e, p), data}
}

func (s *gradientProduct[T]) block(_ int, w *worker[T], lo, hi int) error {
	if w.isZero(s.p.B, lo, hi) {
		return nil
	}
	d := w.From(s.p.B, lo)
	if s.data != nil {
		w.k.AddMulTrans(s.slots[w.slot], s.p.Out.Cols, s.data, lo, hi, d, s.p.B.Stride, s.p.B.Cols, w.scratch)
		return nil
	}
	w.packRows(s.p.A, lo, hi)
	w.k.AddMulTrans(s.slots[w.slot], s.p.Out.Cols, w.rows, 0, hi-lo, d, s.p.B.Stride, s.p.B.Cols, w.scratch)
	return nil
}

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
	wide    bool  // A is the wide factor: the sums are G^T
	buffers [][]T // for the rows and factors that compact keeps, by slot
}

func newOuterSums[T plan.Float](e *executor[T], p *plan.Product) *outerSums[T] {
	return &outerSums[T]{productSums: newProductSums(e, p), wide: p.A.Cols > p.B.Cols}
}

func (s *outerSums[T]) reserve(slots int) {
	s.productSums.reserve(slots)
	s.buffers = make([][]T, slots)
}

func (s *outerSums[T]) block(_ int, w *worker[T], lo, hi int) error {
	if w.isZero(s.p.B, lo, hi) {
		return nil
	}
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
	if len(s.buffers[slot]) < size {
		s.buffers[slot] = make([]T, size)
	}
	kept, buffer := s.buffers[slot][:n], s.buffers[slot][most:]
	n = 0
	for i := range short.Rows {
		if x := short.Data[i*short.RowStride]; x != 0 {
			kept[n] = x
			copy(buffer[n*long.Cols:(n+1)*long.Cols], long.Data[i*long.RowStride:])
			n++
		}
	}
	return kernel.Dense(kept, n, 1, 1), kernel.Dense(buffer, n, long.Cols, long.Cols)
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
