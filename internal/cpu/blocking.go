package cpu

import (
	"slices"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// A blocking divides the rows of a region: workers share units of rows, and each worker runs the
// steps on a block of rows at a time.
type blocking struct{ unit, block int }

// units is the number of units of that many rows.
func (b blocking) units(rows int) int { return (rows + b.unit - 1) / b.unit }

// columnRows is the number of rows of a block of single columns: few enough that some vectors of
// that length stay in cache, and enough that the calls of the steps cost little. columnUnit is the
// unit by which workers share the rows, so that their shares are even: a multiple of a usual block
// and of the 32 rows that sparse products take together.
const (
	columnUnit = 2 * kernel.RowBlock
	columnRows = 4 * columnUnit
)

func usualBlocking() blocking  { return blocking{kernel.RowBlock, kernel.RowBlock} }
func columnBlocking() blocking { return blocking{columnUnit, columnRows} }

// blockingOf chooses long blocks for regions whose steps read and write single columns and data
// that is not packed.
func (e *executor[T]) blockingOf(r plan.Region) blocking {
	if slices.ContainsFunc(r.Steps, func(s plan.Step) bool { return !e.ofColumns(s, r.Rows) }) {
		return usualBlocking()
	}
	return columnBlocking()
}

// ofColumns reports whether the operands that a step takes row by row are single columns or data
// that is not packed.
func (e *executor[T]) ofColumns(s plan.Step, rows int) bool {
	if p, ok := s.(*plan.Product); ok {
		return p.Out.Cols == 1 && e.data[p.A.Buffer] == nil && e.bytes[p.A.Buffer] == nil && e.packable(p, rows)
	}
	return !slices.ContainsFunc(slices.Concat(s.Reads(), s.Writes()), func(o plan.Operand) bool { return o.Access == plan.ByRow && o.Cols > 1 })
}

// scratchRows is the number of rows of the local buffers.
func (e *executor[T]) scratchRows() int {
	for _, r := range slices.Concat(e.plan.Forward, e.plan.Backward) {
		if e.blockingOf(r) == columnBlocking() {
			return columnRows
		}
	}
	return kernel.RowBlock
}
