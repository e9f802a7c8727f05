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

// blockingOf returns long blocks for regions whose steps read and write only single columns and
// data that is not packed. Other regions get usual blocks.
func (e *executor[T]) blockingOf(r plan.Region) blocking {
	if slices.ContainsFunc(r.Steps, func(s plan.Step) bool { return !e.ofColumns(s, r.Rows) }) {
		return usualBlocking()
	}
	return columnBlocking()
}

// ofColumns reports whether the operands that a step reads or writes row by row are single columns
// or data that is not packed.
func (e *executor[T]) ofColumns(s plan.Step, rows int) bool {
	if p, ok := s.(*plan.Product); ok {
		return p.Out.Cols == 1 && e.data[p.A.Buffer] == nil && e.bytes[p.A.Buffer] == nil && e.packable(p, rows)
	}
	return !slices.ContainsFunc(slices.Concat(s.Reads(), s.Writes()), func(o plan.Operand) bool { return o.Access == plan.ByRow && o.Cols > 1 })
}

// scratchRows returns the number of rows of the local buffers.
func (e *executor[T]) scratchRows() int {
	for _, r := range slices.Concat(e.plan.Forward, e.plan.Backward) {
		if e.blockingOf(r) == columnBlocking() {
			return columnRows
		}
	}
	return kernel.RowBlock
}
