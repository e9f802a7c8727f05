package cpu

import (
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// narrow is the width up to which a product with activations runs by rows and not by tiles: packing a block costs more than
// it gains.
const narrow = 16

// blockStep compiles a step of a region with rows.
func (e *executor[T]) blockStep(s plan.Step) step[T] {
	switch s := s.(type) {
	case *plan.Product:
		if p := e.product(s); p != nil {
			return p
		}
	case *plan.Map:
		return newElements[T](s)
	case *plan.Sums:
		if s.Over == plan.OverRows {
			return newColumnSums[T](s, e.threads)
		}
	case *plan.GroupMeans:
		if s.RowStarts != nil && s.In.Stride == 1 {
			return newGroupMeans[T](s, e.threads)
		}
	case *plan.GroupMeansGrad:
		if s.RowStarts != nil && s.Out.Stride == 1 {
			return newGroupMeansGrad[T](s, e.threads)
		}
	}
	return newReference[T](s, e.threads)
}

// product compiles a product in a region, nil where the kernels have no form for it.
func (e *executor[T]) product(p *plan.Product) step[T] {
	data := e.data[p.A.Buffer]
	if x := e.sparse[p.A.Buffer]; x != nil && e.packable(p, p.A.Rows) {
		return newSparse(e, p, x)
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

// factor packs the small factor of a product: B, or B^T.
func factor[T plan.Float](e *executor[T], p *plan.Product, panels *kernel.Panels[T], transposed []T) {
	if !p.TransB {
		panels.Pack(p.B.Rows, p.B.Cols, e.Data[p.B.Buffer][p.B.Offset:], p.B.Stride)
		return
	}
	transpose(e, p.B, transposed)
	panels.Pack(p.B.Cols, p.B.Rows, transposed, p.B.Rows)
}

// transpose writes v^T.
func transpose[T plan.Float](e *executor[T], v plan.View, to []T) {
	for i := range v.Rows {
		for j, x := range e.Row(v, i) {
			to[j*v.Rows+i] = x
		}
	}
}

// dataProduct is Z = X W over the packed data.
type dataProduct[T plan.Float] struct {
	p          *plan.Product
	data       *kernel.Matrix[T]
	panels     *kernel.Panels[T]
	transposed []T
}

func newDataProduct[T plan.Float](e *executor[T], p *plan.Product, data *kernel.Matrix[T]) *dataProduct[T] {
	return &dataProduct[T]{p, data, e.k.NewPanels(p.A.Cols, p.Out.Cols), transposedRoom[T](p)}
}

func transposedRoom[T plan.Float](p *plan.Product) []T {
	if p.TransB {
		return make([]T, p.B.Len())
	}
	return nil
}

func (s *dataProduct[T]) prepare(e *executor[T]) { factor(e, s.p, s.panels, s.transposed) }

func (s *dataProduct[T]) block(_ int, w *worker[T], lo, hi int) error {
	z := w.From(s.p.Out, lo)
	w.k.Mul(z, s.p.Out.Stride, s.data, lo, hi, s.panels, w.scratch)
	return nil
}

func (s *dataProduct[T]) finish(*executor[T], int) {}

// rowProduct is Z = A W for activations A: by rows where one side is narrow, else with the block packed.
type rowProduct[T plan.Float] struct {
	p          *plan.Product
	panels     *kernel.Panels[T]
	transposed []T // B^T, of B or of B^T, as the narrow forms want it
	dots       bool
}

func newRowProduct[T plan.Float](e *executor[T], p *plan.Product) *rowProduct[T] {
	s := &rowProduct[T]{p: p}
	inner, cols := p.A.Cols, p.Out.Cols
	switch {
	case min(inner, cols) > narrow:
		s.panels, s.transposed = e.k.NewPanels(inner, cols), transposedRoom[T](p)
	case cols <= inner:
		s.dots = true
		if !p.TransB { // the columns of B in a row
			s.transposed = make([]T, p.B.Len())
		}
	case p.TransB: // the rows of B^T in a row
		s.transposed = make([]T, p.B.Len())
	}
	return s
}

func (s *rowProduct[T]) prepare(e *executor[T]) {
	if s.panels != nil {
		factor(e, s.p, s.panels, s.transposed)
	} else if s.transposed != nil {
		transpose(e, s.p.B, s.transposed)
	}
}

func (s *rowProduct[T]) block(_ int, w *worker[T], lo, hi int) error {
	p := s.p
	switch {
	case s.panels != nil:
		w.packRows(p.A, lo, hi)
		w.k.Mul(w.From(p.Out, lo), p.Out.Stride, w.rows, 0, hi-lo, s.panels, w.scratch)
	case s.dots:
		for i := lo; i < hi; i++ {
			a, out := w.Row(p.A, i), w.Row(p.Out, i)
			for j := range out {
				out[j] = T(w.k.Dot(a, s.factorRow(w, j, p.A.Cols)))
			}
		}
	default:
		for i := lo; i < hi; i++ {
			a, out := w.Row(p.A, i), w.Row(p.Out, i)
			clear(out)
			for l, x := range a {
				w.k.Axpy(out, x, s.factorRow(w, l, p.Out.Cols))
			}
		}
	}
	return nil
}

// factorRow is a row of the factor in the order that the narrow forms read it.
func (s *rowProduct[T]) factorRow(w *worker[T], i, cols int) []T {
	if s.transposed != nil {
		return s.transposed[i*cols : (i+1)*cols]
	}
	return w.Row(s.p.B, i)
}

func (s *rowProduct[T]) finish(*executor[T], int) {}

// packRows packs rows lo to hi-1 of v for a kernel that wants a matrix.
func (w *worker[T]) packRows(v plan.View, lo, hi int) {
	if rows, cols := w.rowsDims(); cols != v.Cols || rows != hi-lo {
		w.rows = kernel.NewMatrix[T](hi-lo, v.Cols)
	}
	for i := lo; i < hi; i++ {
		w.rows.SetRow(i-lo, w.Row(v, i))
	}
}

func (w *worker[T]) rowsDims() (rows, cols int) {
	if w.rows == nil {
		return 0, 0
	}
	return w.rows.Dims()
}

// gradientProduct is G = A^T D, or G += it, each worker with a G of its own; A is the packed data or activations.
type gradientProduct[T plan.Float] struct {
	p    *plan.Product
	data *kernel.Matrix[T] // nil: activations, packed a block at a time
	sums [][]T             // by worker
}

func newGradientProduct[T plan.Float](e *executor[T], p *plan.Product, data *kernel.Matrix[T]) *gradientProduct[T] {
	s := &gradientProduct[T]{p: p, data: data, sums: make([][]T, e.threads)}
	for t := range s.sums {
		s.sums[t] = kernel.Alloc[T](p.Out.Len())
	}
	return s
}

func (s *gradientProduct[T]) prepare(*executor[T]) {
	for _, g := range s.sums {
		clear(g)
	}
}

func (s *gradientProduct[T]) block(t int, w *worker[T], lo, hi int) error {
	d := w.From(s.p.B, lo)
	if s.data != nil {
		w.k.AddMulTrans(s.sums[t], s.p.Out.Cols, s.data, lo, hi, d, s.p.B.Stride, s.p.B.Cols, w.scratch)
		return nil
	}
	w.packRows(s.p.A, lo, hi)
	w.k.AddMulTrans(s.sums[t], s.p.Out.Cols, w.rows, 0, hi-lo, d, s.p.B.Stride, s.p.B.Cols, w.scratch)
	return nil
}

func (s *gradientProduct[T]) finish(e *executor[T], workers int) {
	for t := 1; t < workers; t++ {
		e.k.Axpy(s.sums[0], 1, s.sums[t])
	}
	storeSums(e, s.p, s.sums[0])
}

// storeSums writes the dense sums to a product's result, or adds them.
func storeSums[T plan.Float](e *executor[T], p *plan.Product, sums []T) {
	for i := range p.Out.Rows {
		out, row := e.Row(p.Out, i), sums[i*p.Out.Cols:(i+1)*p.Out.Cols]
		if p.Add {
			e.k.Axpy(out, 1, row)
		} else {
			copy(out, row)
		}
	}
}

// outerSums is G = A^T D where A or D is narrow: row by row, G or G^T gets the row's outer product, added along the wide side.
type outerSums[T plan.Float] struct {
	p    *plan.Product
	wide bool  // A is the wide one: the sums are G^T
	sums [][]T // by worker
}

func newOuterSums[T plan.Float](e *executor[T], p *plan.Product) *outerSums[T] {
	s := &outerSums[T]{p: p, wide: p.A.Cols > p.B.Cols, sums: make([][]T, e.threads)}
	for t := range s.sums {
		s.sums[t] = kernel.Alloc[T](p.Out.Len())
	}
	return s
}

func (s *outerSums[T]) prepare(*executor[T]) {
	for _, g := range s.sums {
		clear(g)
	}
}

func (s *outerSums[T]) block(t int, w *worker[T], lo, hi int) error {
	g := s.sums[t]
	for i := lo; i < hi; i++ {
		short, long := w.Row(s.p.A, i), w.Row(s.p.B, i)
		if s.wide {
			short, long = long, short
		}
		for j, x := range short {
			w.k.Axpy(g[j*len(long):(j+1)*len(long)], x, long)
		}
	}
	return nil
}

func (s *outerSums[T]) finish(e *executor[T], workers int) {
	for t := 1; t < workers; t++ {
		e.k.Axpy(s.sums[0], 1, s.sums[t])
	}
	if !s.wide {
		storeSums(e, s.p, s.sums[0])
		return
	}
	out := s.p.Out
	for i := range out.Rows {
		row := e.Row(out, i)
		for j := range row {
			if x := s.sums[0][j*out.Rows+i]; s.p.Add {
				row[j] += x
			} else {
				row[j] = x
			}
		}
	}
}

// columnSums is Out[0,j] = sum_i In[i,j] in float64, block by block in the rows' order, then by worker.
type columnSums[T plan.Float] struct {
	s    *plan.Sums
	sums [][]float64
}

func newColumnSums[T plan.Float](s *plan.Sums, workers int) *columnSums[T] {
	c := &columnSums[T]{s: s, sums: make([][]float64, workers)}
	for t := range c.sums {
		c.sums[t] = make([]float64, s.In.Cols)
	}
	return c
}

func (c *columnSums[T]) prepare(*executor[T]) {
	for _, s := range c.sums {
		clear(s)
	}
}

func (c *columnSums[T]) block(t int, w *worker[T], lo, hi int) error {
	sums := c.sums[t]
	for i := lo; i < hi; i++ {
		row := w.Row(c.s.In, i)
		sums := sums[:len(row)]
		for j, x := range row {
			sums[j] += float64(x)
		}
	}
	return nil
}

func (c *columnSums[T]) finish(e *executor[T], workers int) {
	addPartials(c.sums[0], c.sums[1:workers])
	for j := range e.Row(c.s.Out, 0) {
		e.Row(c.s.Out, 0)[j] = T(c.sums[0][j])
	}
}
