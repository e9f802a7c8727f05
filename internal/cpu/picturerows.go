package cpu

import (
	"slices"

	"ppal/datasets/matrix"
	"ppal/internal/plan"
)

// pictureRows are a leaf of 8-bit pictures whose rows the workers widen block by block. The floats
// of all rows would take 4 or 8 times the memory of the pictures.
type pictureRows[T plan.Float] struct {
	buffer, cols int
	data         matrix.EightBit
	own          *matrix.Bytes // the memory that Bind copies rows to; nil: none
	table        [256]T        // the elements of the 256 values
	blocks       [][]T         // the floats of a block, by worker
	rooms        [][]uint8     // a row, by worker
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
			x.blocks, x.rooms = append(x.blocks, make([]T, block*b.Cols)), append(x.rooms, make([]uint8, b.Cols))
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
		x.own.SetRows(i, [][]uint8{data.ByteRow(i, x.rooms[0])})
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
		for j, v := range x.data.ByteRow(i, x.rooms[worker]) {
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
