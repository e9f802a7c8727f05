package cpu

import (
	"ppal/internal/plan"
	"ppal/trainer/graph/describe"
)

// pairRegion returns the region of a step over pairs of documents. The rows of the region are the
// tasks of the step.
func (e *executor[T]) pairRegion(s plan.Step, threads int) *region[T] {
	switch s := s.(type) {
	case *plan.PairMeans:
		m := &pairMeans[T]{s: s, tasks: pairTasks(&s.Pairs, false), totals: make([]float64, s.Cells())}
		m.scratch = e.pairScratch(&s.Pairs, s.Phi, threads)
		m.partial = make([]float64, len(m.tasks)*m.queryCells())
		return e.newRegion(0, len(m.tasks), threads, blocking{unit: 1, block: 1}, m)
	case *plan.PairMeansGrad:
		g := &pairMeansGrad[T]{s: s, tasks: pairTasks(&s.Pairs, true)}
		g.scratch = e.pairScratch(&s.Pairs, s.Phi, threads)
		return e.newRegion(0, len(g.tasks), threads, blocking{unit: 1, block: 1}, g)
	}
	return nil
}

// pairMeans computes the means of a surrogate over the cells of pairs, in tasks that the workers
// share. The additions within a task and over the tasks have a fixed order.
type pairMeans[T plan.Float] struct {
	s       *plan.PairMeans
	tasks   []pairTask
	scratch []*pairScratch[T] // memory of each worker
	partial []float64         // sums of each task by cell: over the task's queries, or over its part of a query
	totals  []float64         // sums over all tasks by cell
}

// queryCells returns the number of cells of a query.
func (m *pairMeans[T]) queryCells() int { return m.s.Groups * m.s.Groups }

// sums returns the sums of task k.
func (m *pairMeans[T]) sums(k int) []float64 { return m.partial[k*m.queryCells():][:m.queryCells()] }

// block computes the sums of tasks [lo, hi). If each query has its own cells, the sums of whole
// queries go to the totals.
func (m *pairMeans[T]) block(worker int, w *worker[T], lo, hi int) error {
	x := m.scratch[worker]
	for k := lo; k < hi; k++ {
		t, sums := m.tasks[k], m.sums(k)
		clear(sums)
		for q := t.from; q < t.to; q++ {
			if m.s.Each && !t.part {
				sums = m.totals[q*m.queryCells():][:m.queryCells()]
				clear(sums)
			}
			m.query(w, x, q, t, sums)
		}
	}
	return nil
}

// query adds the pairs of query q to sums. If t is a part of the query, query adds the pairs whose
// more relevant document is in the part.
func (m *pairMeans[T]) query(w *worker[T], x *pairScratch[T], q int, t pairTask, sums []float64) {
	p := &m.s.Pairs
	from, to := int(p.Queries[q]), int(p.Queries[q+1])
	if from == to {
		return
	}
	x.load(w, m.s.S, p, from, to)
	for i := from; i < to; i++ {
		lo, hi := t.within(p, i)
		if lo >= hi {
			continue
		}
		for j := from; p.Blocks[j].Level < p.Blocks[i].Level; j++ {
			cell := p.Cell(0, p.Blocks[i], p.Blocks[j])
			sums[cell] += x.value(w.k, x.at(lo, hi), x.at(p.Start(j), int(p.Blocks[j].End)))
		}
	}
}

// finish adds the sums of the tasks, and divides them by the numbers of pairs.
func (m *pairMeans[T]) finish(e *executor[T], _ []int) {
	if !m.s.Each {
		clear(m.totals)
	}
	for k, t := range m.tasks {
		totals := m.totals
		switch {
		case m.s.Each && !t.part:
			continue
		case m.s.Each:
			totals = m.totals[t.from*m.queryCells():]
		}
		for c, sum := range m.sums(k) {
			totals[c] += sum
		}
	}
	for c, n := range m.s.Counts {
		e.Row(m.s.Out, c)[0] = T(m.totals[c] / max(1, float64(n)))
	}
}

// prepare clears the totals of the queries in parts, because finish adds their parts.
func (m *pairMeans[T]) prepare(*executor[T]) {
	for _, t := range m.tasks {
		if m.s.Each && t.part {
			clear(m.totals[t.from*m.queryCells():][:m.queryCells()])
		}
	}
}

// pairMeansGrad computes the derivative of pairMeans. Each task writes the derivatives of its own
// documents only.
type pairMeansGrad[T plan.Float] struct {
	s       *plan.PairMeansGrad
	tasks   []pairTask
	scratch []*pairScratch[T] // memory of each worker
}

// prepareShare sets the result to 0 if some documents are in no pair: no task writes them.
func (g *pairMeansGrad[T]) prepareShare(e *executor[T], worker, workers int) {
	if len(g.s.Order) == g.s.Documents {
		return
	}
	from, to := share(g.s.Documents, worker, workers)
	for i := from; i < to; i++ {
		e.Row(g.s.Out, i)[0] = 0
	}
}

// block computes the derivatives of tasks [lo, hi).
func (g *pairMeansGrad[T]) block(worker int, w *worker[T], lo, hi int) error {
	x := g.scratch[worker]
	for _, t := range g.tasks[lo:hi] {
		for q := t.from; q < t.to; q++ {
			from, to := int(g.s.Queries[q]), int(g.s.Queries[q+1])
			switch {
			case from == to:
			case t.part:
				g.part(w, x, q, t)
			default:
				g.query(w, x, q)
			}
		}
	}
	return nil
}

// weight returns v = W/n of the cell of two blocks of query q.
func (g *pairMeansGrad[T]) weight(w *worker[T], q int, i, j describe.Block) T {
	cell := g.s.Cell(q, i, j)
	return T(float64(w.Row(g.s.W, cell)[0]) / float64(g.s.Counts[cell]))
}

// query writes the derivatives of all documents of query q. It computes each pair once.
func (g *pairMeansGrad[T]) query(w *worker[T], x *pairScratch[T], q int) {
	p := &g.s.Pairs
	from, to := int(p.Queries[q]), int(p.Queries[q+1])
	x.load(w, g.s.S, p, from, to)
	d := x.d[:len(x.s)]
	clear(d)
	for i := from; i < to; i++ {
		for j := from; p.Blocks[j].Level < p.Blocks[i].Level; j++ {
			higher, lower := x.at(p.Start(i), int(p.Blocks[i].End)), x.at(p.Start(j), int(p.Blocks[j].End))
			x.grad(w.k, higher, lower, d[higher.from:higher.to], d[lower.from:lower.to], g.weight(w, q, p.Blocks[i], p.Blocks[j]))
		}
	}
	out, stride := w.From(g.s.Out, 0), g.s.Out.Stride
	for k, row := range p.Order[x.first : x.first+len(d)] {
		out[int(row)*stride] = d[k]
	}
}

// part writes the derivatives of the documents of a task, which is a part of query q. Two tasks
// both compute the pairs between their documents, so that no two tasks write the same element. part
// divides the partners of the documents into runs, and adds the sums of the runs in float64.
func (g *pairMeansGrad[T]) part(w *worker[T], x *pairScratch[T], q int, t pairTask) {
	p := &g.s.Pairs
	from, to := int(p.Queries[q]), int(p.Queries[q+1])
	x.load(w, g.s.S, p, from, to)
	for i := from; i < to; i++ {
		for lo, hi := t.within(p, i); lo < hi; lo += longRun {
			own := x.at(lo, min(lo+longRun, hi))
			sums := x.sums[:own.to-own.from]
			clear(sums)
			for j := from; j < to; j++ {
				if p.Blocks[i].Level != p.Blocks[j].Level {
					g.partners(w, x, q, own, i, j)
				}
			}
			for k, sum := range sums {
				w.Row(g.s.Out, int(p.Order[lo+k]))[0] = T(sum)
			}
		}
	}
}

// partners adds to x.sums the derivatives of the documents own, of block i, from their pairs with
// the documents of block j.
func (g *pairMeansGrad[T]) partners(w *worker[T], x *pairScratch[T], q int, own span, i, j int) {
	p := &g.s.Pairs
	d := x.d[:own.to-own.from]
	for lo := p.Start(j); lo < int(p.Blocks[j].End); lo += longRun {
		others := x.at(lo, min(lo+longRun, int(p.Blocks[j].End)))
		unused := x.unused[:others.to-others.from]
		clear(d)
		clear(unused)
		if p.Blocks[j].Level < p.Blocks[i].Level {
			x.grad(w.k, own, others, d, unused, g.weight(w, q, p.Blocks[i], p.Blocks[j]))
		} else {
			x.grad(w.k, others, own, unused, d, g.weight(w, q, p.Blocks[j], p.Blocks[i]))
		}
		for k, v := range d {
			x.sums[k] += float64(v)
		}
	}
}
