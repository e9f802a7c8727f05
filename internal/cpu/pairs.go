package cpu

import (
	"ppal/internal/plan"
	"ppal/internal/vec"
)

// pairRegion returns the region of a step over pairs of documents. The rows of the region are the
// tasks of the step.
func (e *executor[T]) pairRegion(s plan.Step, threads int) *region[T] {
	switch s := s.(type) {
	case *plan.PairMeans:
		m := &pairMeans[T]{s: s, tasks: pairTasks(&s.Pairs), totals: make([]float64, s.Cells())}
		m.scratch = e.pairScratch(&s.Pairs, s.Phi, threads)
		m.partial = make([]float64, len(m.tasks)*m.queryCells())
		return e.newRegion(0, len(m.tasks), threads, blocking{unit: 1, block: 1}, m)
	case *plan.PairMeansGrad:
		g := &pairMeansGrad[T]{s: s, tasks: pairTasks(&s.Pairs)}
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
	partial []float64         // sums of each task by cell
	totals  []float64         // sums over all tasks by cell
}

// queryCells returns the number of cells of a query.
func (m *pairMeans[T]) queryCells() int { return m.s.Groups * m.s.Groups }

// sums returns the sums of task k.
func (m *pairMeans[T]) sums(k int) []float64 { return m.partial[k*m.queryCells():][:m.queryCells()] }

// block computes the sums of tasks [lo, hi). If each query has its own cells, the sums go to the
// totals.
func (m *pairMeans[T]) block(worker int, w *worker[T], lo, hi int) error {
	x := m.scratch[worker]
	for k := lo; k < hi; k++ {
		sums := m.sums(k)
		clear(sums)
		for q := m.tasks[k].from; q < m.tasks[k].to; q++ {
			if m.s.Each {
				sums = m.totals[q*m.queryCells():][:m.queryCells()]
				clear(sums)
			}
			m.query(w, x, q, sums)
		}
	}
	return nil
}

// query adds the pairs of query q to sums.
func (m *pairMeans[T]) query(w *worker[T], x *pairScratch[T], q int, sums []float64) {
	p := &m.s.Pairs
	from, to := int(p.Queries[q]), int(p.Queries[q+1])
	if from == to {
		return
	}
	x.load(w, m.s.S, p, q)
	for i := from; i < to; i++ {
		for j := from; p.Blocks[j].Level < p.Blocks[i].Level; j++ {
			sums[p.Cell(0, p.Blocks[i], p.Blocks[j])] += x.value(w.k, i-from, j-from)
		}
	}
}

// finish adds the sums of the tasks, and divides them by the numbers of pairs.
func (m *pairMeans[T]) finish(e *executor[T], _ []int) {
	if !m.s.Each {
		clear(m.totals)
		for k := range m.tasks {
			for c, sum := range m.sums(k) {
				m.totals[c] += sum
			}
		}
	}
	for c, n := range m.s.Counts {
		e.Row(m.s.Out, c)[0] = T(m.totals[c] / max(1, float64(n)))
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
	for _, t := range g.tasks[lo:hi] {
		for q := t.from; q < t.to; q++ {
			if g.s.Queries[q] < g.s.Queries[q+1] {
				g.query(w, g.scratch[worker], q)
			}
		}
	}
	return nil
}

// query writes the derivatives of all documents of query q.
func (g *pairMeansGrad[T]) query(w *worker[T], x *pairScratch[T], q int) {
	p := &g.s.Pairs
	from, to := int(p.Queries[q]), int(p.Queries[q+1])
	x.load(w, g.s.S, p, q)
	d := x.d[:len(x.s)]
	clear(d)
	switch x.form {
	case binned:
		clear(x.factors)
	case widened:
		clear(x.wide.d[:len(d)])
	}
	for i := from; i < to; i++ {
		for j := from; p.Blocks[j].Level < p.Blocks[i].Level; j++ {
			cell := p.Cell(q, p.Blocks[i], p.Blocks[j])
			v := float64(w.Row(g.s.W, cell)[0]) / float64(p.Counts[cell])
			switch higher, lower := x.block(i-from), x.block(j-from); x.form {
			case binned:
				x.factors[(i-from)*(to-from)+j-from] = v
			case widened:
				x.wide.grad(x.kernels, higher, lower, x.wide.d, v)
			default:
				x.grad(w.k, higher, lower, d, T(v))
			}
		}
	}
	switch x.form {
	case binned:
		vec.SetSlopes(x.sums, d, x.factors)
	case widened:
		for k := range d {
			d[k] = T(x.wide.d[k])
		}
	}
	out, stride := w.From(g.s.Out, 0), g.s.Out.Stride
	for k, row := range p.Order[x.first : x.first+len(d)] {
		out[int(row)*stride] = d[k]
	}
}
