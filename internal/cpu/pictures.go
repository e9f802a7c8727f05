package cpu

import (
	"slices"

	"ppal/datasets/matrix"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// filters is the factor F of a convolution, or F^T, packed before the first block.
type filters[T plan.Float] struct {
	view   plan.View
	trans  bool
	packed *kernel.PackedFloats[T]
}

func newFilters[T plan.Float](e *executor[T], view plan.View, trans bool) filters[T] {
	rows, cols := view.Rows, view.Cols
	if trans {
		rows, cols = cols, rows
	}
	return filters[T]{view, trans, e.k.NewPackedFloats(rows, cols)}
}

func (f filters[T]) prepare(e *executor[T]) {
	if !f.trans {
		for l := range f.view.Rows {
			f.packed.SetRow(l, e.Row(f.view, l))
		}
		return
	}
	column := make([]T, f.view.Rows)
	for i := range f.view.Cols {
		for l := range column {
			column[l] = e.Row(f.view, l)[i]
		}
		f.packed.SetRow(i, column)
	}
}

// convolution computes the channels of pictures, one picture at a time, as the product of the
// filters with the patches of the picture.
type convolution[T plan.Float] struct {
	filters[T]
	s      *plan.Convolution
	window kernel.Window
}

func newConvolution[T plan.Float](e *executor[T], s *plan.Convolution) *convolution[T] {
	return &convolution[T]{newFilters(e, s.Filter, false), s, kernel.Window{Window: s.Window}}
}

func (c *convolution[T]) block(_ int, w *worker[T], lo, hi int) error {
	for i := lo; i < hi; i++ {
		w.k.Convolve(w.Row(c.s.Out, i), w.Row(c.s.In, i), &c.window, c.packed, w.scratch, w.patches)
	}
	return nil
}

// convolutionInputGrad computes the derivatives of convolution with respect to the pictures.
type convolutionInputGrad[T plan.Float] struct {
	filters[T]
	s      *plan.ConvolutionInputGrad
	window kernel.Window
}

func newConvolutionInputGrad[T plan.Float](e *executor[T], s *plan.ConvolutionInputGrad) *convolutionInputGrad[T] {
	return &convolutionInputGrad[T]{newFilters(e, s.Filter, true), s, kernel.Window{Window: s.Window}}
}

func (c *convolutionInputGrad[T]) block(_ int, w *worker[T], lo, hi int) error {
	for i := lo; i < hi; i++ {
		if w.isZero(c.s.D, i, i+1) {
			clear(w.Row(c.s.Out, i))
			continue
		}
		w.k.ConvolveInputGrad(w.Row(c.s.Out, i), w.Row(c.s.D, i), &c.window, c.packed, w.scratch, w.patches)
	}
	return nil
}

// convolutionFilterGrad adds up the derivative with respect to the filters. A slot holds the sums
// as a matrix [Patch, filters].
type convolutionFilterGrad[T plan.Float] struct {
	*slotSums[T]
	s      *plan.ConvolutionFilterGrad
	window kernel.Window
}

func newConvolutionFilterGrad[T plan.Float](e *executor[T], s *plan.ConvolutionFilterGrad) *convolutionFilterGrad[T] {
	return &convolutionFilterGrad[T]{newSlotSums(s.Out.Len(), e.k.Axpy), s, kernel.Window{Window: s.Window}}
}

// placesForSums is the number of places of the output whose products cost much more than to clear
// and to add the sums.
const placesForSums = 256

// shareRows implements summing.
func (c *convolutionFilterGrad[T]) shareRows() int {
	return (placesForSums + c.window.Places() - 1) / max(1, c.window.Places())
}

// ofPictures says that shareRows counts pictures.
func (c *convolutionFilterGrad[T]) ofPictures() {}

func (c *convolutionFilterGrad[T]) block(_ int, w *worker[T], lo, hi int) error {
	for i := lo; i < hi; i++ {
		if w.isZero(c.s.D, i, i+1) {
			continue
		}
		w.k.AddConvolveFilterGrad(c.slots[w.slot], w.Row(c.s.In, i), w.Row(c.s.D, i), c.s.Out.Rows, &c.window, w.scratch, w.patches)
	}
	return nil
}

func (c *convolutionFilterGrad[T]) finish(e *executor[T], roots []int) {
	sums, filters := c.total(roots), c.s.Out.Rows
	for l := range filters {
		row := e.Row(c.s.Out, l)
		for i := range row {
			row[i] = sums[i*filters+l]
		}
	}
}

// maxPool takes the largest element under each window.
type maxPool[T plan.Float] struct{ s *plan.MaxPool }

func (m *maxPool[T]) block(_ int, w *worker[T], lo, hi int) error {
	window := kernel.Window{Window: m.s.Window}
	for i := lo; i < hi; i++ {
		w.k.MaxPool(w.Row(m.s.Out, i), w.Row(m.s.In, i), &window)
	}
	return nil
}

// maxPoolGrad adds the derivatives to the largest elements.
type maxPoolGrad[T plan.Float] struct{ s *plan.MaxPoolGrad }

func (m *maxPoolGrad[T]) block(_ int, w *worker[T], lo, hi int) error {
	window := kernel.Window{Window: m.s.Window}
	for i := lo; i < hi; i++ {
		w.k.MaxPoolGrad(w.Row(m.s.Out, i), w.Row(m.s.In, i), w.Row(m.s.D, i), &window)
	}
	return nil
}

// pictureRows are a leaf of 8-bit pictures whose rows the workers widen block by block. The floats
// of all rows would take 4 or 8 times the memory of the pictures.
type pictureRows[T plan.Float] struct {
	buffer, cols int
	data         matrix.EightBit
	own          *matrix.Bytes // the memory that Bind copies rows to; nil: none
	table        [256]T        // the elements of the 256 values
	blocks       [][]T         // the floats of a block, by worker
	buffers      [][]uint8     // a row, by worker
}

// findPictures finds the leaves of 8-bit data that only regions over pictures read, row by row.
func (e *executor[T]) findPictures() {
	for i, b := range e.plan.Buffers {
		data, ok := e.plan.DataOf(i).(matrix.EightBit)
		if !ok || b.Class != plan.Leaf {
			continue
		}
		block, other := 0, false
		for _, r := range slices.Concat(e.plan.Forward, e.plan.Backward) {
			if reads, byRow := readsOf(r, i); reads && byRow && r.Rows == b.Rows && r.OfPictures() {
				block = max(block, e.blockingOf(r).block)
			} else if reads {
				other = true
			}
		}
		if block == 0 || other {
			continue
		}
		x := &pictureRows[T]{buffer: i, cols: b.Cols}
		x.set(data)
		for range e.threads {
			x.blocks, x.buffers = append(x.blocks, make([]T, block*b.Cols)), append(x.buffers, make([]uint8, b.Cols))
		}
		e.pictures[i] = x
	}
}

// readsOf reports whether a region reads a buffer, and whether all its steps read it row by row.
func readsOf(r plan.Region, buffer int) (reads, byRow bool) {
	byRow = true
	for _, s := range r.Steps {
		for _, o := range s.Reads() {
			if o.Buffer == buffer {
				reads, byRow = true, byRow && o.Access == plan.ByRow
			}
		}
	}
	return reads, byRow
}

// set makes data the rows.
func (x *pictureRows[T]) set(data matrix.EightBit) {
	x.data = data
	for v := range x.table {
		x.table[v] = T(float64(v) * data.ByteScale())
	}
}

// bind makes a copy of data the rows.
func (x *pictureRows[T]) bind(data matrix.EightBit) {
	rows, _ := data.Dims()
	if x.own == nil {
		x.own = matrix.NewBytes(rows, x.cols, 0)
	}
	x.own.Scale = data.ByteScale()
	for i := range rows {
		x.own.SetRows(i, [][]uint8{data.ByteRow(i, x.buffers[0])})
	}
	x.set(x.own)
}

// stored returns the rows. A later bind does not change them.
func (x *pictureRows[T]) stored() matrix.EightBit {
	x.own = nil
	return x.data
}

// block widens the rows of a block, the first step of a region that reads them.
func (x *pictureRows[T]) block(worker int, w *worker[T], lo, hi int) error {
	rows := x.blocks[worker]
	w.Data[x.buffer], w.First[x.buffer] = rows, lo
	for i := lo; i < hi; i++ {
		row := rows[(i-lo)*x.cols:][:x.cols]
		for j, v := range x.data.ByteRow(i, x.buffers[worker]) {
			row[j] = x.table[v]
		}
	}
	return nil
}

// widening returns the steps that widen the rows that a region reads.
func (e *executor[T]) widening(r plan.Region) (steps []step[T]) {
	for i := range e.plan.Buffers {
		if x := e.pictures[i]; x != nil {
			if reads, _ := readsOf(r, i); reads {
				steps = append(steps, x)
			}
		}
	}
	return steps
}

// leavePictures gives a leaf memory for the floats of all rows.
func (e *executor[T]) leavePictures(buffer int) {
	delete(e.pictures, buffer)
	e.setData(buffer, make([]T, e.plan.Buffers[buffer].Len()))
	for _, w := range e.workers {
		w.First[buffer] = 0
	}
}
