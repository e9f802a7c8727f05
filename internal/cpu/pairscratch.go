package cpu

import (
	"math"
	"slices"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/internal/vec"
	"ppal/trainer/graph/describe"
)

// pairTask is a unit of work for a worker: the queries [from, to).
type pairTask struct{ from, to int }

// The number of tasks depends on the pairs alone, so that the bits of the results are the same for
// any number of threads.
const (
	pairTaskCount = 64      // about the number of tasks, which have about equal work
	leastPairTask = 1 << 14 // smallest work of a task in pairs: some microseconds
	documentPairs = 8       // a document takes about the time of this many pairs
)

// pairTasks divides the queries into tasks of about equal work.
func pairTasks(p *describe.Pairs) (list []pairTask) {
	queries := len(p.Queries) - 1
	var all int64
	for q := range queries {
		all += queryWork(p, q)
	}
	target := max(leastPairTask, all/pairTaskCount)
	var work int64
	next := pairTask{}
	for q := range queries {
		if work += queryWork(p, q); work >= target || q == queries-1 {
			next.to = q + 1
			list = append(list, next)
			next, work = pairTask{from: q + 1}, 0
		}
	}
	return list
}

// queryWork returns the work of query q, in pairs.
func queryWork(p *describe.Pairs, q int) int64 {
	from, to := int(p.Queries[q]), int(p.Queries[q+1])
	if from == to {
		return 0
	}
	documents := int64(int(p.Blocks[to-1].End) - p.Start(from))
	return documents*documentPairs + min(p.OfQuery(q), vec.LeastPairs*int64(to-from))
}

// isLong reports whether vec.PairSums are faster for query q than the kernels.
func isLong(p *describe.Pairs, q int) bool {
	return p.OfQuery(q) >= vec.LeastPairs*int64(p.Queries[q+1]-p.Queries[q])
}

// pairScratch is a worker's memory for one query at a time. load fills it.
type pairScratch[T plan.Float] struct {
	phi     describe.Surrogate
	loss    kernel.Loss // the kernel of phi, if known
	known   bool        // a kernel for phi exists
	first   int         // place of element 0 of s in Pairs.Order
	ends    []int       // block b of the query has the elements ends[b-1] to ends[b]-1 of s
	s       []T         // scores; with the form factors, minus a common number
	e       []T         // e^s, with the form factors
	form    pairForm
	d       []T    // derivatives of a query
	buffers [2][]T // memory of s and e, for the longest query

	sums    *vec.PairSums // with the form binned
	factors []float64     // of all pairs of blocks, with the form binned

	wide    *pairScratch[float64] // with the form widened; nil: the scores are float64
	kernels *kernel.Kernels[float64]

	differences, ones, weights []T // for a tile of pairs: see eachTile
}

// pairForm is the method that computes the pairs of a query.
type pairForm uint8

const (
	// factors computes phi(s_i - s_j) and its derivative from e^s_i and e^s_j. The range of the
	// query's scores must be so small that e^s and the quotients of e^s are normal numbers.
	factors pairForm = iota
	// differences applies the kernels of the margin losses to the differences of finite scores.
	differences
	// single applies the formulas of package plan to one pair at a time.
	single
	// widened is the form factors in float64, for float32 scores beyond the range of float32.
	widened
	// binned sums over the pairs of a long query by vec.PairSums.
	binned
)

// factorRange returns the largest magnitude of an exponent with the form factors.
func factorRange[T plan.Float]() T {
	var x T
	if _, single := any(x).(float32); single {
		return 40
	}
	return kernel.PairRange / 2
}

// span is a range of the elements of s.
type span struct{ from, to int }

// block returns the elements of block b of the query.
func (x *pairScratch[T]) block(b int) span {
	if b == 0 {
		return span{0, x.ends[0]}
	}
	return span{x.ends[b-1], x.ends[b]}
}

// pairScratch allocates the memory of each worker.
func (e *executor[T]) pairScratch(p *describe.Pairs, phi describe.Surrogate, threads int) []*pairScratch[T] {
	longest, blocks, long := 0, 0, 0
	for q := range len(p.Queries) - 1 {
		if from, to := int(p.Queries[q]), int(p.Queries[q+1]); from < to {
			longest, blocks = max(longest, int(p.Blocks[to-1].End)-p.Start(from)), max(blocks, to-from)
			if isLong(p, q) {
				long = max(long, to-from)
			}
		}
	}
	const pairs = 1024
	list := make([]*pairScratch[T], threads)
	for i := range list {
		x := &pairScratch[T]{phi: phi, d: kernel.Alloc[T](longest), ends: make([]int, 0, blocks), factors: make([]float64, long*long),
			buffers: [2][]T{kernel.Alloc[T](longest), kernel.Alloc[T](longest)}, differences: kernel.Alloc[T](pairs),
			ones: kernel.Alloc[T](pairs), weights: kernel.Alloc[T](pairs)}
		x.loss, x.known = kernelLoss(phi)
		if _, single := any(x).(*pairScratch[float32]); single {
			x.wide = &pairScratch[float64]{loss: x.loss, form: factors, d: kernel.Alloc[float64](longest),
				buffers: [2][]float64{kernel.Alloc[float64](longest), kernel.Alloc[float64](longest)}}
			x.kernels, _ = kernel.New[float64](e.k.Level()) // the device has the level
		}
		if long > 0 {
			x.sums = vec.NewPairSums(phi.String())
		}
		for k := range x.ones {
			x.ones[k] = 1
		}
		list[i] = x
	}
	return list
}

// load reads the scores of query q, and chooses the form.
func (x *pairScratch[T]) load(w *worker[T], scores plan.View, p *describe.Pairs, q int) {
	from, to := int(p.Queries[q]), int(p.Queries[q+1])
	x.first, x.ends = p.Start(from), x.ends[:0]
	for _, b := range p.Blocks[from:to] {
		x.ends = append(x.ends, int(b.End)-x.first)
	}
	rows := p.Order[x.first:p.Blocks[to-1].End]
	x.s, x.e = x.buffers[0][:len(rows)], x.buffers[1][:len(rows)]
	data, limit, within := w.From(scores, 0), factorRange[T](), true
	for k, row := range rows {
		s := data[int(row)*scores.Stride]
		x.s[k] = s
		within = within && -limit <= s && s <= limit
	}
	if x.sums != nil && isLong(p, q) && vec.LoadScores(x.sums, x.s, x.ends) {
		x.form = binned
		return
	}
	middle, spread := T(0), T(0)
	if !within {
		least, most := slices.Min(x.s), slices.Max(x.s) // NaN if a score is NaN
		middle, spread = least+(most-least)/2, most-least
	}
	switch {
	case !x.known || !(spread <= math.MaxFloat32):
		x.form = single
	case x.loss == kernel.HingeLoss || spread > 2*limit && (x.wide == nil || spread > kernel.PairRange):
		x.form = differences
	case spread > 2*limit:
		x.form = widened
		x.widen(middle)
	default:
		x.form = factors
		if middle != 0 {
			w.k.Shift(x.s, -middle)
		}
		w.k.Exp(x.e, x.s)
	}
}

// widen prepares the form widened.
func (x *pairScratch[T]) widen(middle T) {
	w := x.wide
	w.ends, w.s, w.e = x.ends, w.buffers[0][:len(x.s)], w.buffers[1][:len(x.s)]
	for k, s := range x.s {
		w.s[k] = float64(s) - float64(middle)
	}
	x.kernels.Exp(w.e, w.s)
}

// value returns the sum of phi(s_i - s_j) over the pairs of blocks i and j.
func (x *pairScratch[T]) value(k *kernel.Kernels[T], i, j int) (sum float64) {
	higher, lower := x.block(i), x.block(j)
	switch {
	case x.form == binned:
		return x.sums.Sum(i, j)
	case x.form == widened:
		return x.wide.value(x.kernels, i, j)
	case x.form == factors && x.loss == kernel.SigmoidLoss:
		return k.PairShares(x.e[higher.from:higher.to], x.e[lower.from:lower.to])
	case x.form == factors:
		return k.PairLosses(x.e[higher.from:higher.to], x.e[lower.from:lower.to])
	case x.form != single:
		x.eachTile(k, higher, lower, func(d []T, _, _, _ int) {
			k.SignedLoss(x.loss, d, d, x.ones[:len(d)])
			sum += k.Sum(d)
		})
		return sum
	}
	for _, s := range x.s[higher.from:higher.to] {
		for _, t := range x.s[lower.from:lower.to] {
			sum += x.phi.Value(difference(s, t))
		}
	}
	return sum
}

// grad adds the derivatives of v phi(s_i - s_j) over the pairs of two spans to d.
func (x *pairScratch[T]) grad(k *kernel.Kernels[T], higher, lower span, d []T, v T) {
	di, dj := d[higher.from:higher.to], d[lower.from:lower.to]
	switch {
	case x.form == factors && x.loss == kernel.SigmoidLoss:
		k.AddPairSlopes(x.e[higher.from:higher.to], di, x.e[lower.from:lower.to], dj, v)
	case x.form == factors:
		k.AddPairShares(x.e[higher.from:higher.to], di, x.e[lower.from:lower.to], dj, v)
	case x.form == differences:
		x.eachTile(k, higher, lower, func(d []T, row, rows, column int) {
			weights := x.weights[:len(d)]
			for i := range weights {
				weights[i] = v
			}
			k.SignedLossGrad(x.loss, d, d, x.ones[:len(d)], weights, false)
			for cols := len(d) / rows; rows > 0; rows-- {
				di[row] -= T(k.Sum(d[:cols]))
				k.Axpy(dj[column:column+cols], 1, d[:cols])
				d, row = d[cols:], row+1
			}
		})
	default:
		for i, s := range x.s[higher.from:higher.to] {
			for j, t := range x.s[lower.from:lower.to] {
				d := T(float64(v) * x.phi.Deriv(difference(s, t)))
				di[i] += d
				dj[j] -= d
			}
		}
	}
}

// eachTile divides the matrix of the differences s_j - s_i, with a row for each i of the span
// higher and a column for each j of the span lower, into tiles, and calls do for each tile. d has
// the differences of a tile row by row. The tile has the given number of rows, and begins at row
// and column of the matrix.
func (x *pairScratch[T]) eachTile(k *kernel.Kernels[T], higher, lower span, do func(d []T, row, rows, column int)) {
	buffer := x.differences
	for column := 0; column < lower.to-lower.from; column += len(buffer) {
		s := x.s[lower.from+column : min(lower.from+column+len(buffer), lower.to)]
		at := 0
		for row := higher.from; row < higher.to; row += at {
			for at = 0; row+at < higher.to && (at+1)*len(s) <= len(buffer); at++ {
				d := buffer[at*len(s):][:len(s)]
				copy(d, s)
				k.Shift(d, -x.s[row+at])
			}
			do(buffer[:at*len(s)], row-higher.from, at, column)
		}
	}
}

// difference returns s - t, and 0 for equal infinities.
func difference[T plan.Float](s, t T) float64 {
	if s == t {
		return 0
	}
	return float64(s) - float64(t)
}
