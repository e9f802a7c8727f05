package cpu

import (
	"errors"
	"fmt"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// step is a compiled plan.Step. A step may implement more interfaces than this one:
//
//	preparer, sharedPreparer   before the first block
//	starter                    on each worker, before its first block
//	block                      for each block of rows
//	sharedFinisher, finisher   after the last block
type step[T plan.Float] interface {
	// block runs rows lo to hi-1 on a worker.
	block(worker int, w *worker[T], lo, hi int) error
}

// preparer works once, on one goroutine, before any worker's first block.
type preparer[T plan.Float] interface{ prepare(e *executor[T]) }

// sharedPreparer works before any worker's first block. The workers share the work by their
// numbers.
type sharedPreparer[T plan.Float] interface {
	prepareShare(e *executor[T], worker, workers int)
}

// starter works on each worker before that worker's first block. It uses only the worker's memory,
// so no worker waits for another worker.
type starter[T plan.Float] interface{ start(worker int) }

// sharedFinisher works after every worker's last block. The workers share the work. The results may
// depend on the number of workers only through the workers' sums.
type sharedFinisher[T plan.Float] interface {
	finishShare(e *executor[T], worker, workers int)
}

// finisher works once, on one goroutine, after the sharedFinishers.
type finisher[T plan.Float] interface {
	finish(e *executor[T], workers int)
}

// region is a compiled plan.Region. A step outside of the plan's regions becomes a separate region.
type region[T plan.Float] struct {
	e        *executor[T]
	rows     int
	blocking blocking
	workers  int
	steps    []step[T]
	local    []int   // the local buffers
	failures []error // by worker

	before []preparer[T]
	shared sharedPreparers[T]
	starts []starter[T]
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
			list = append(list, e.newRegion(r.Rows, e.threads, e.blockingOf(r), e.blockSteps(r, computed)...))
			continue
		}
		for _, s := range r.Steps {
			list = append(list, e.wholeRegion(s))
		}
	}
	return list
}

// newRegion returns a region with the given number of rows, on at most the given number of threads.
func (e *executor[T]) newRegion(rows, threads int, b blocking, steps ...step[T]) *region[T] {
	r := &region[T]{e: e, rows: rows, blocking: b, workers: max(1, min(threads, b.units(rows)))}
	r.failures = make([]error, r.workers)
	r.shared.region, r.spans.region, r.finish.region = r, r, r
	for i, b := range e.plan.Buffers {
		if b.Class == plan.Local {
			r.local = append(r.local, i)
		}
	}
	for _, s := range steps {
		r.add(s)
	}
	return r
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
	if b, ok := s.(starter[T]); ok {
		r.starts = append(r.starts, b)
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
	for _, p := range r.before {
		p.prepare(r.e)
	}
	if len(r.shared.steps) > 0 {
		r.e.pool.run(r.workers, &r.shared)
	}
	r.e.pool.run(r.workers, &r.spans)
	if err := r.failure(); err != nil {
		return fmt.Errorf("cpu: %w", err)
	}
	if len(r.finish.steps) > 0 {
		r.e.pool.run(r.workers, &r.finish)
	}
	for _, f := range r.after {
		f.finish(r.e, r.workers)
	}
	return nil
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
		s.finishShare(p.region.e, worker, p.region.workers)
	}
}

// work runs the steps on a worker's range of the rows, block by block.
func (p *spans[T]) work(worker int) {
	r := p.region
	for _, s := range r.starts {
		s.start(worker)
	}
	from, to := share(r.blocking.units(r.rows), worker, r.workers)
	r.failures[worker] = r.span(worker, from*r.blocking.unit, min(to*r.blocking.unit, r.rows))
}

func (r *region[T]) span(t, lo, hi int) error {
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
