package cpu

import (
	"slices"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// blocking divides the rows of a region. Workers share units of rows, and each worker runs the
// steps on a block of rows at a time.
type blocking struct{ unit, block int }

// units returns the number of units in the given number of rows.
func (b blocking) units(rows int) int { return (rows + b.unit - 1) / b.unit }

// A region with few units and little work has a single unit, so a single share on one thread. An
// example is a mini-batch of a linear model: one thread has done all before another thread would
// have started, and the sums of each share cost as much as hundreds of rows.
const (
	fewUnits  = 2
	leastWork = 1 << 16 // operations, some microseconds
)

// together returns the blocking for a region's rows and operations: b, or for little work the same
// blocks in a single unit.
func (b blocking) together(rows int, operations int64) blocking {
	if b.units(rows) <= fewUnits && operations < leastWork {
		b.unit *= fewUnits
	}
	return b
}

// columnRows is the number of rows of a block of single columns. Some vectors with columnRows
// elements fit in cache, and the calls of the steps cost little. columnUnit is the unit by which
// workers share the rows. columnUnit gives even shares, because it is a multiple of a usual block
// and of the 32 rows that sparse products process together.
const (
	columnUnit = 2 * kernel.RowBlock
	columnRows = 4 * columnUnit
)

func usualBlocking() blocking  { return blocking{kernel.RowBlock, kernel.RowBlock} }
func columnBlocking() blocking { return blocking{columnUnit, columnRows} }

// pictureBytes is the size of a block of pictures with the results of all steps on the block. The
// block stays in a level-2 cache together with the patches of a convolution.
const pictureBytes = 384 << 10

// pictureBlocking returns blocks of few rows, because each row is a whole picture.
func (e *executor[T]) pictureBlocking(r plan.Region) blocking {
	bytes, seen := 0, map[int]bool{}
	for _, s := range r.Steps {
		for _, o := range slices.Concat(s.Reads(), s.Writes()) {
			if o.Access == plan.ByRow && !seen[o.Buffer] {
				seen[o.Buffer] = true
				bytes += o.Cols * int(e.plan.Dtype.Size())
			}
		}
	}
	rows := max(1, min(kernel.RowBlock, pictureBytes/max(1, bytes)))
	return blocking{rows, rows}
}

// blockingOf returns short blocks for regions over pictures, and long blocks for regions whose
// steps read and write only single columns and data that is not packed. Other regions get usual
// blocks.
func (e *executor[T]) blockingOf(r plan.Region) blocking {
	if r.OfPictures() {
		return e.pictureBlocking(r)
	}
	if slices.ContainsFunc(r.Steps, func(s plan.Step) bool { return !e.ofColumns(s, r.Rows) }) {
		return usualBlocking()
	}
	return columnBlocking()
}

// ofColumns reports whether the operands that a step reads or writes row by row are single columns
// or data that is not packed.
func (e *executor[T]) ofColumns(s plan.Step, rows int) bool {
	if p, ok := s.(*plan.Product); ok {
		return p.Out.Cols == 1 && e.data[p.A.Buffer] == nil && e.bytes[p.A.Buffer] == nil && e.bfloat16[p.A.Buffer] == nil && e.packable(p, rows)
	}
	return !slices.ContainsFunc(slices.Concat(s.Reads(), s.Writes()), func(o plan.Operand) bool { return o.Access == plan.ByRow && o.Cols > 1 })
}

// scratchSizes returns the sizes, in elements, of the storage of local buffers: for each slot, the
// largest block of the buffers that share the slot.
func (e *executor[T]) scratchSizes() []int {
	sizes := make([]int, len(e.plan.Scratch))
	for _, r := range slices.Concat(e.plan.Forward, e.plan.Backward) {
		if r.Rows == 0 {
			continue
		}
		rows := e.blockingOf(r).block
		for _, b := range e.localBuffers(r) {
			sizes[b.Slot] = max(sizes[b.Slot], rows*b.Cols)
		}
	}
	return sizes
}

// localBuffers returns the local buffers of a region, each once.
func (e *executor[T]) localBuffers(r plan.Region) (list []plan.Buffer) {
	seen := map[int]bool{}
	for _, s := range r.Steps {
		for _, o := range slices.Concat(s.Reads(), s.Writes()) {
			if b := e.plan.Buffers[o.Buffer]; b.Class == plan.Local && !seen[o.Buffer] {
				seen[o.Buffer] = true
				list = append(list, b)
			}
		}
	}
	return list
}
