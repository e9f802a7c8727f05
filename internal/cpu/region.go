package cpu

import (
	"errors"
	"fmt"
	"slices"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// step is a compiled plan.Step. A step may implement more interfaces than this one:
//
//	preparer, sharedPreparer   before the first block
//	summing                    before and after the blocks of a share of the rows
//	block                      for each block of rows
//	sharedFinisher, finisher   after the last block
type step[T plan.Float] interface {
	// block runs rows lo to hi-1 on a worker. Sums over rows go to the slot w.slot.
	block(worker int, w *worker[T], lo, hi int) error
}

// preparer works once, on one goroutine, before any worker's first block.
type preparer[T plan.Float] interface{ prepare(e *executor[T]) }

// sharedPreparer works before any worker's first block. The workers share the work by their
// numbers.
type sharedPreparer[T plan.Float] interface {
	prepareShare(e *executor[T], worker, workers int)
}

// sharedFinisher works after the last block. The workers share the work. The results do not depend
// on the number of workers. The sum over all rows is the sum of the slots roots, in order.
type sharedFinisher[T plan.Float] interface {
	finishShare(e *executor[T], roots []int, worker, workers int)
}

// finisher works once, on one goroutine, after the sharedFinishers.
type finisher[T plan.Float] interface {
	finish(e *executor[T], roots []int)
}

// region is a compiled plan.Region. A step outside of the plan's regions becomes a separate region.
type region[T plan.Float] struct {
	e        *executor[T]
	lo, hi   int   // the rows that this process runs
	divided  bool  // other processes run the other rows
	whole    []int // divided buffers of which the steps read all rows
	blocking blocking
	workers  int
	steps    []step[T]
	local    []int   // the local buffers
	stream   *stream // the rows in pages; nil: none
	failures []error // by worker

	shares *shares
	sums   []summing
	roots  []int // the slots that have the sums of all rows

	message message // the sums that go over processes

	before []preparer[T]
	shared sharedPreparers[T]
	spans  spans[T]
	finish sharedFinishers[T]
	after  []finisher[T]
}

// compile compiles regions. Each step outside of regions becomes a separate region.
func (e *executor[T]) compile(regions []plan.Region) []*region[T] {
	var list []*region[T]
	computed := map[*logisticTails[T]]bool{}
	for _, r := range regions {
		if r.Rows > 0 {
			lo, hi, divided := 0, r.Rows, e.division.divides(e.plan, r)
			if divided {
				lo, hi = e.division.lo, e.division.hi
			}
			b := e.blockingOf(r).forWork(hi-lo, workOf(r))
			region := e.newRegion(lo, hi, e.threads, b, append(e.widening(r), e.blockSteps(r, computed)...)...)
			region.divided, region.whole = divided, e.division.gathers(divided, r.Steps)
			region.stream = e.newStream(r, region.blocking.block)
			list = append(list, region)
			continue
		}
		for _, s := range r.Steps {
			region := e.wholeRegion(s)
			region.whole = e.division.gathers(false, []plan.Step{s})
			list = append(list, region)
		}
	}
	return list
}

// workOf returns the number of operations of a region's steps.
func workOf(r plan.Region) (operations int64) {
	for _, s := range r.Steps {
		operations += s.FLOPs()
	}
	return operations
}

// newRegion returns a region with rows lo to hi-1, on at most the given number of threads.
func (e *executor[T]) newRegion(lo, hi, threads int, b blocking, steps ...step[T]) *region[T] {
	r := &region[T]{e: e, lo: lo, hi: hi, blocking: b}
	r.shared.region, r.spans.region, r.finish.region = r, r, r
	for i, b := range e.plan.Buffers {
		if b.Class == plan.Local {
			r.local = append(r.local, i)
		}
	}
	for _, s := range steps {
		r.add(s)
	}
	count := countShares(hi-lo, b, r.sums)
	r.workers = max(1, min(threads, count))
	ranges := r.workers
	if isLarge(r.sums) {
		ranges = 1
	}
	r.shares = newShares(b.units(hi-lo), count, ranges)
	r.failures = make([]error, r.workers)
	r.emptySlots()
	return r
}

// emptySlots makes the slots of the region's sums slots without memory.
func (r *region[T]) emptySlots() {
	for _, s := range r.sums {
		s.reserve(r.shares.count)
	}
}

// blocks returns the number of blocks of the usual size in the given number of rows.
func blocks(rows int) int { return (rows + kernel.RowBlock - 1) / kernel.RowBlock }

func (r *region[T]) add(s step[T]) {
	r.steps = append(r.steps, s)
	if p, ok := s.(preparer[T]); ok {
		r.before = append(r.before, p)
	}
	if p, ok := s.(sharedPreparer[T]); ok {
		r.shared.steps = append(r.shared.steps, p)
	}
	if sums, ok := s.(summing); ok {
		r.sums = append(r.sums, sums)
	}
	if f, ok := s.(sharedFinisher[T]); ok {
		r.finish.steps = append(r.finish.steps, f)
	}
	if f, ok := s.(finisher[T]); ok {
		r.after = append(r.after, f)
	}
}

// run takes the workers through the phases of the region. It allocates nothing.
func (r *region[T]) run() error {
	for _, b := range r.whole {
		if err := r.e.gather(b); err != nil {
			return fmt.Errorf("cpu: %w", err)
		}
	}
	for _, p := range r.before {
		p.prepare(r.e)
	}
	if len(r.shared.steps) > 0 {
		r.e.pool.run(r.workers, &r.shared)
	}
	if err := r.runShares(); err != nil {
		return fmt.Errorf("cpu: %w", err)
	}
	r.roots = r.shares.roots
	if r.divided && len(r.sums) > 0 {
		if err := r.exchange(); err != nil {
			return fmt.Errorf("cpu: %w", err)
		}
		r.roots = r.shares.roots[:1]
	}
	if len(r.finish.steps) > 0 {
		r.e.pool.run(r.workers, &r.finish)
	}
	for _, f := range r.after {
		f.finish(r.e, r.roots)
	}
	return nil
}

// runShares runs the steps on all shares of the rows.
func (r *region[T]) runShares() error {
	if r.shares.count == 1 {
		return r.sole()
	}
	r.shares.restart()
	r.e.pool.run(r.workers, &r.spans)
	return r.failure()
}

// sole runs the steps on the only share of the rows, whose sums are in slot 0. It does without the
// atomic operations by which workers share: they take longer than a step on a mini-batch.
func (r *region[T]) sole() error {
	r.e.workers[0].slot = 0
	for _, s := range r.sums {
		s.start(0)
	}
	return r.span(0, r.lo, r.hi)
}

func (r *region[T]) failure() error {
	for _, err := range r.failures {
		if err != nil {
			return errors.Join(r.failures...)
		}
	}
	return nil
}

// share returns a worker's range of n items.
func share(n, worker, workers int) (from, to int) {
	return n * worker / workers, n * (worker + 1) / workers
}

// The phases of a region that are jobs of the pool.
type (
	sharedPreparers[T plan.Float] struct {
		region *region[T]
		steps  []sharedPreparer[T]
	}
	spans[T plan.Float] struct {
		region *region[T]
	}
	sharedFinishers[T plan.Float] struct {
		region *region[T]
		steps  []sharedFinisher[T]
	}
)

func (p *sharedPreparers[T]) work(worker int) {
	for _, s := range p.steps {
		s.prepareShare(p.region.e, worker, p.region.workers)
	}
}

func (p *sharedFinishers[T]) work(worker int) {
	for _, s := range p.steps {
		s.finishShare(p.region.e, p.region.roots, worker, p.region.workers)
	}
}

// work runs the steps on shares of the rows until no share is left.
func (p *spans[T]) work(worker int) {
	r := p.region
	r.failures[worker] = nil
	for r.failures[worker] == nil {
		i := r.shares.take(worker)
		if i < 0 {
			return
		}
		r.failures[worker] = r.share(worker, i)
	}
}

// share runs the steps on a share of the rows and adds its sums to its neighbours' sums.
func (r *region[T]) share(worker, i int) error {
	from, to := r.shares.unitsOf(i)
	lo, hi := r.lo+from*r.blocking.unit, min(r.lo+to*r.blocking.unit, r.hi)
	if len(r.sums) == 0 {
		return r.span(worker, lo, hi)
	}
	slot := r.shares.slot(worker)
	r.e.workers[worker].slot = slot
	for _, s := range r.sums {
		s.start(slot)
	}
	if err := r.span(worker, lo, hi); err != nil {
		return err
	}
	r.shares.finished(i, slot, r.sums)
	return nil
}

// span runs the steps on rows lo to hi-1.
func (r *region[T]) span(t, lo, hi int) error {
	if r.stream == nil {
		return r.blockwise(t, lo, hi)
	}
	return r.stream.each(lo, hi, func(lo, hi int) error { return r.blockwise(t, lo, hi) })
}

// blockwise runs the steps on rows lo to hi-1, block by block.
func (r *region[T]) blockwise(t, lo, hi int) error {
	w := r.e.workers[t]
	for at := lo; at < hi; at += r.blocking.block {
		for _, b := range r.local {
			w.First[b] = at
		}
		for _, s := range r.steps {
			if err := s.block(t, w, at, min(at+r.blocking.block, hi)); err != nil {
				return err
			}
		}
	}
	return nil
}

// blocking divides the rows of a region. Workers share units of rows, and each worker runs the
// steps on a block of rows at a time.
type blocking struct {
	unit, block int
	pictures    bool // each row is a picture, so that a few rows are enough for a share
}

// units returns the number of units in the given number of rows.
func (b blocking) units(rows int) int { return (rows + b.unit - 1) / b.unit }

// A region with few units and little work has a single unit, so a single share on one thread. An
// example is a mini-batch of a linear model: one thread has done all before another thread would
// have started, and the sums of each share cost as much as hundreds of rows.
const (
	fewUnits  = 2
	leastWork = 1 << 16 // operations, some microseconds
)

// forWork returns the blocking for a region's rows and operations: b, or for little work the same
// blocks in a single unit.
func (b blocking) forWork(rows int, operations int64) blocking {
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

func usualBlocking() blocking  { return blocking{unit: kernel.RowBlock, block: kernel.RowBlock} }
func columnBlocking() blocking { return blocking{unit: columnUnit, block: columnRows} }

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
	if e.largestFactor(r) > pictureBytes/4 {
		rows = max(rows, factorRows)
	}
	return blocking{rows, rows, true}
}

// factorRows is the least number of rows of a block of pictures, if a product of the region reads a
// factor that fills much of a level-2 cache.
const factorRows = 8

// largestFactor returns the bytes of the largest matrix that a product of the region reads as a
// whole or adds up.
func (e *executor[T]) largestFactor(r plan.Region) (bytes int) {
	for _, s := range r.Steps {
		p, ok := s.(*plan.Product)
		switch {
		case ok && p.TransA:
			bytes = max(bytes, p.Out.Len())
		case ok:
			bytes = max(bytes, p.B.Len())
		}
	}
	return bytes * int(e.plan.Dtype.Size())
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
