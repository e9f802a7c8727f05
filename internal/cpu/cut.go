package cpu

import (
	"slices"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// A cut says how a region's rows are taken: workers share units of rows, and each takes its rows a block at a time.
type cut struct{ unit, block int }

// units is the number of units of rows rows.
func (c cut) units(rows int) int { return (rows + c.unit - 1) / c.unit }

// thinRows is the number of rows of a block of single columns: a few vectors of them stay in cache, and a step's call costs nothing beside
// its work. thinUnit is what workers share them by, so that their shares are even; a multiple of both a usual block and the 32 rows that
// sparse products take together.
const (
	thinUnit = 2 * kernel.RowBlock
	thinRows = 4 * thinUnit
)

func usual() cut { return cut{kernel.RowBlock, kernel.RowBlock} }
func thin() cut  { return cut{thinUnit, thinRows} }

// cutOf chooses long blocks where all that the steps have of a row is single numbers and data that is not packed.
func (e *executor[T]) cutOf(r plan.Region) cut {
	if slices.ContainsFunc(r.Steps, func(s plan.Step) bool { return !e.isThin(s, r.Rows) }) {
		return usual()
	}
	return thin()
}

func (e *executor[T]) isThin(s plan.Step, rows int) bool {
	if p, ok := s.(*plan.Product); ok {
		return p.Out.Cols == 1 && e.data[p.A.Buffer] == nil && e.bytes[p.A.Buffer] == nil && e.packable(p, rows)
	}
	return !slices.ContainsFunc(slices.Concat(s.Reads(), s.Writes()), func(o plan.Operand) bool { return o.Access == plan.ByRow && o.Cols > 1 })
}

// scratchRows is the number of rows that local buffers have room for.
func (e *executor[T]) scratchRows() int {
	for _, r := range slices.Concat(e.plan.Forward, e.plan.Backward) {
		if e.cutOf(r) == thin() {
			return thinRows
		}
	}
	return kernel.RowBlock
}
