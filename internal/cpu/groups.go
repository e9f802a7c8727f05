package cpu

import (
	"slices"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/trainer/graph/describe"
)

// groupForm is a matrix M [G, n] of general group memberships in a form with fast products. Sums
// are in float64, in an order that depends only on M and the form.
type groupForm[T plan.Float] interface {
	// partials returns the number of sums.
	partials() int
	// shareRows returns the least number of rows for which clearing and adding the sums costs little.
	shareRows() int
	// add adds the rows of l, which begin at row lo, to sums. lo is a multiple of
	// kernel.RowBlock.
	add(sums []float64, l []T, lo int)
	// means writes M l from the sums over all rows. It may overwrite the sums.
	means(out, sums []float64)
	// weigh sets the weights w of M^T w.
	setWeights(w []float64)
	// mulTrans writes M^T w for the rows from lo on, or adds it.
	mulTrans(out []T, lo int, add bool)
}

// usualThreads is the number of threads for which newGroupForm chooses. The form must not depend on
// the device's threads, because each form has its own order of additions.
const usualThreads = 4

// newGroupForm chooses the form with the fewest operations on usualThreads threads: by rows
// (groupBits or groupLists), by patterns if the rows have few patterns (groupPatterns), or by masks
// if they have very few patterns (groupMasks). The products with the patterns run on one thread.
func newGroupForm[T plan.Float](k *kernel.Kernels[T], g describe.Groups) groupForm[T] {
	if g.Patterns != nil {
		return chooseForm(k, g, g.Patterns, patternsOf(g))
	}
	pattern, patterns := rowPatterns(g)
	return chooseForm(k, g, pattern, patterns)
}

// chooseForm is newGroupForm with the patterns of the rows.
func chooseForm[T plan.Float, P patternNumber](k *kernel.Kernels[T], g describe.Groups, pattern []P, patterns describe.Groups) groupForm[T] {
	switch {
	case g.Rows/usualThreads+rowOperations(patterns) >= rowOperations(g)/usualThreads:
		return newRowForm[T](g)
	case patterns.Rows <= mostMasks && k.Level() != kernel.Go:
		return newGroupMasks(k, pattern, patterns)
	}
	return newGroupPatterns[T](pattern, patterns)
}

// lookupsPerEntry is the measured cost of an entry of a list, in table lookups. newGroupForm uses
// it to choose the form.
const lookupsPerEntry = 1.5

// rowOperations is the number of operations of a row form's product, in lookups.
func rowOperations(g describe.Groups) int {
	entries := int(lookupsPerEntry * float64(g.Entries()))
	if g.RowWeights == nil {
		return min(entries, bitsOperations(g))
	}
	return entries
}

func newRowForm[T plan.Float](g describe.Groups) groupForm[T] {
	if g.RowWeights == nil && rowOperations(g) == bitsOperations(g) {
		return newGroupBits[T](g)
	}
	return newGroupLists[T](g)
}

// groupMeans computes Out = M In - Offsets for general memberships.
type groupMeans[T plan.Float] struct {
	*slotSums[float64]
	s    *plan.GroupMeans
	form groupForm[T]
	out  []float64
}

func newGroupMeans[T plan.Float](k *kernel.Kernels[T], s *plan.GroupMeans) *groupMeans[T] {
	form := newGroupForm(k, s.Groups)
	return &groupMeans[T]{newFloat64Sums(form.partials()), s, form, make([]float64, s.Count)}
}

func (m *groupMeans[T]) shareRows() int { return m.form.shareRows() }

func (m *groupMeans[T]) block(_ int, w *worker[T], lo, hi int) error {
	m.form.add(m.slots[w.slot], w.From(m.s.In, lo)[:hi-lo], lo)
	return nil
}

func (m *groupMeans[T]) finish(e *executor[T], roots []int) {
	m.form.means(m.out, m.total(roots))
	for k, x := range m.out {
		e.Row(m.s.Out, k)[0] = T(x - m.s.Offsets[k])
	}
}

// groupMeansGrad computes Out = M^T W, or Out += M^T W, for general memberships.
type groupMeansGrad[T plan.Float] struct {
	s    *plan.GroupMeansGrad
	form groupForm[T]
	w    []float64
}

func newGroupMeansGrad[T plan.Float](k *kernel.Kernels[T], s *plan.GroupMeansGrad) *groupMeansGrad[T] {
	return &groupMeansGrad[T]{s, newGroupForm(k, s.Groups), make([]float64, s.Count)}
}

func (g *groupMeansGrad[T]) prepare(e *executor[T]) {
	for k := range g.w {
		g.w[k] = float64(e.Row(g.s.W, k)[0])
	}
	g.form.setWeights(g.w)
}

func (g *groupMeansGrad[T]) block(_ int, w *worker[T], lo, hi int) error {
	g.form.mulTrans(w.From(g.s.Out, lo)[:hi-lo], lo, g.s.Add)
	return nil
}

// groupSizes returns the number of rows of each group, or nil if the entries have their own
// weights.
func groupSizes(g describe.Groups) []float64 {
	if g.RowWeights != nil {
		return nil
	}
	sizes := make([]float64, g.Count)
	for k := range sizes {
		sizes[k] = float64(g.Starts[k+1] - g.Starts[k])
	}
	return sizes
}

// divide writes v divided by the sizes, or v if sizes is nil.
func divide(to, v, sizes []float64) {
	copy(to, v)
	for k, n := range sizes {
		to[k] /= n
	}
}

// rowRanges holds groups of consecutive rows, for example the rows of a class. Group k has the rows
// starts[k] to starts[k+1]-1.
type rowRanges struct{ starts []int }

// size returns the number of rows of group k.
func (r rowRanges) size(k int) float64 { return float64(r.starts[k+1] - r.starts[k]) }

// within calls do for every group that has rows in lo to hi-1, in order, with these rows.
func (r rowRanges) within(lo, hi int, do func(k, from, to int)) {
	after, _ := slices.BinarySearch(r.starts, lo+1) // the first group that begins after lo
	for k := max(0, after-1); k+1 < len(r.starts) && r.starts[k] < hi; k++ {
		if from, to := max(lo, r.starts[k]), min(hi, r.starts[k+1]); from < to {
			do(k, from, to)
		}
	}
}

// rangeMeans computes Out = M In - Offsets for groups of consecutive rows. Sums are in float64,
// block by block in the rows' order (columnSum), then share by share.
type rangeMeans[T plan.Float] struct {
	*slotSums[float64]
	s    *plan.GroupMeans
	rows rowRanges
	in   columnSum[T]
}

func newRangeMeans[T plan.Float](s *plan.GroupMeans) *rangeMeans[T] {
	return &rangeMeans[T]{newFloat64Sums(s.Count), s, rowRanges{s.Starts}, columnSum[T]{s.In}}
}

func (m *rangeMeans[T]) shareRows() int { return rowsForSums(m.s.Count) }

func (m *rangeMeans[T]) block(_ int, w *worker[T], lo, hi int) error {
	sums := m.slots[w.slot]
	m.rows.within(lo, hi, func(k, from, to int) { sums[k] += m.in.sum(w, from, to) })
	return nil
}

func (m *rangeMeans[T]) finish(e *executor[T], roots []int) {
	for k, sum := range m.total(roots) {
		writeMean(e, m.s, k, sum)
	}
}

// writeMean writes the mean of group k, given the sum.
func writeMean[T plan.Float](e *executor[T], s *plan.GroupMeans, k int, sum float64) {
	mean := sum / rowRanges{s.Starts}.size(k)
	if s.Offsets != nil {
		mean -= s.Offsets[k]
	}
	e.Row(s.Out, k)[0] = T(mean)
}

// rangeMeansGrad computes Out = M^T W, or Out += M^T W, for groups of consecutive rows.
type rangeMeansGrad[T plan.Float] struct {
	s    *plan.GroupMeansGrad
	rows rowRanges
}

func (g *rangeMeansGrad[T]) block(_ int, w *worker[T], lo, hi int) error {
	out, step := w.From(g.s.Out, lo), g.s.Out.Stride
	if !g.s.Add && step == 1 {
		g.fill(w, out[:hi-lo], lo)
		return nil
	}
	if !g.s.Add {
		for i := range hi - lo {
			out[i*step] = 0
		}
	}
	g.rows.within(lo, hi, func(k, from, to int) {
		x := float64(w.Row(g.s.W, k)[0]) / g.rows.size(k)
		for i := from - lo; i < to-lo; i++ {
			out[i*step] = T(float64(out[i*step]) + x)
		}
	})
	return nil
}

// fill writes M^T W for the rows from lo on.
func (g *rangeMeansGrad[T]) fill(w *worker[T], out []T, lo int) {
	if g.s.Starts[0] > lo || g.s.Starts[g.s.Count] < lo+len(out) {
		clear(out) // rows in no group
	}
	g.rows.within(lo, lo+len(out), func(k, from, to int) {
		fill(out[from-lo:to-lo], T(float64(w.Row(g.s.W, k)[0])/g.rows.size(k)))
	})
}
