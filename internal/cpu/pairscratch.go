package cpu

import (
	"math"
	"slices"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/trainer/graph/describe"
)

// pairTask is a unit of work for a worker: the queries [from, to), or a part of the long query
// from. The part has the documents at places [lo, hi) of Pairs.Order.
type pairTask struct {
	from, to int
	part     bool
	lo, hi   int
}

// within returns the range of places of block i that belong to the task.
func (t pairTask) within(p *describe.Pairs, i int) (lo, hi int) {
	lo, hi = p.Start(i), int(p.Blocks[i].End)
	if t.part {
		lo, hi = max(lo, t.lo), min(hi, t.hi)
	}
	return lo, hi
}

// The number of tasks depends on the pairs alone, so that the bits of the results are the same for
// any number of threads.
const (
	pairTaskCount = 64      // about the number of tasks, which have about equal work
	leastPairTask = 1 << 14 // smallest work of a task in pairs: some microseconds
	leastLongTask = 1 << 20 // smallest work of a query in pairs that several tasks share
	documentPairs = 8       // a document takes about the time of this many pairs
	longRun       = 1024    // number of documents of a part that the derivative computes at a time
)

// pairTasks divides the pairs into tasks of about equal work. The work of a document of a part is
// its pairs with less relevant documents; for a derivative, all its pairs.
func pairTasks(p *describe.Pairs, derivative bool) (list []pairTask) {
	queries := len(p.Queries) - 1
	var all int64
	for q := range queries {
		all += queryWork(p, q)
	}
	target := max(leastPairTask, all/pairTaskCount)
	var work int64
	next := pairTask{}
	for q := range queries {
		own := queryWork(p, q)
		if own > 2*target && own > leastLongTask {
			if next.to = q; next.from < next.to {
				list = append(list, next)
			}
			list = appendParts(list, p, q, target, derivative)
			next, work = pairTask{from: q + 1}, 0
			continue
		}
		if work += own; work >= target {
			next.to = q + 1
			list = append(list, next)
			next, work = pairTask{from: q + 1}, 0
		}
	}
	if next.to = queries; next.from < next.to {
		list = append(list, next)
	}
	return list
}

// queryWork returns the work of query q, in pairs.
func queryWork(p *describe.Pairs, q int) (work int64) {
	for i := int(p.Queries[q]); i < int(p.Queries[q+1]); i++ {
		size := int64(int(p.Blocks[i].End) - p.Start(i))
		work += size * (documentPairs + int64(lessRelevant(p, q, i)))
	}
	return work
}

// lessRelevant returns the number of documents of query q with a lower level than block i.
func lessRelevant(p *describe.Pairs, q, i int) int {
	for i > int(p.Queries[q]) && p.Blocks[i-1].Level == p.Blocks[i].Level {
		i--
	}
	return p.Start(i) - p.Start(int(p.Queries[q]))
}

// moreRelevant returns the number of documents of query q with a higher level than block i.
func moreRelevant(p *describe.Pairs, q, i int) int {
	for i+1 < int(p.Queries[q+1]) && p.Blocks[i+1].Level == p.Blocks[i].Level {
		i++
	}
	return int(p.Blocks[p.Queries[q+1]-1].End) - int(p.Blocks[i].End)
}

// appendParts appends the parts of query q, of about target pairs each.
func appendParts(list []pairTask, p *describe.Pairs, q int, target int64, derivative bool) []pairTask {
	t, work := pairTask{from: q, to: q + 1, part: true, lo: p.Start(int(p.Queries[q]))}, int64(0)
	for i := int(p.Queries[q]); i < int(p.Queries[q+1]); i++ {
		each := int64(lessRelevant(p, q, i))
		if derivative {
			each += int64(moreRelevant(p, q, i))
		}
		for at, end := p.Start(i), int(p.Blocks[i].End); at < end && each > 0; {
			n := int(min(int64(end-at), (target-work+each-1)/each))
			at, work = at+n, work+int64(n)*each
			if work >= target {
				t.hi = at
				list = append(list, t)
				t.lo, work = at, 0
			}
		}
		t.hi = int(p.Blocks[i].End)
	}
	if t.lo < t.hi {
		list = append(list, t)
	}
	return list
}

// pairScratch is a worker's memory for one query at a time. load fills it.
type pairScratch[T plan.Float] struct {
	phi    describe.Surrogate
	loss   kernel.Loss // the kernel of phi, if known
	known  bool        // a kernel for phi exists
	first  int         // place of element 0 of s in Pairs.Order
	s      []T         // scores; with the form factors, minus a common number
	e      []T         // e^s, with the form factors
	form   pairForm
	d      []T       // derivatives of a query, or of a run of documents
	unused []T       // derivatives of partners, which other tasks compute
	sums   []float64 // derivatives of a run of documents
	room   [2][]T    // memory of s and e, for the longest query

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
)

// factorRange returns the largest magnitude of an exponent with the form factors.
func factorRange[T plan.Float]() T {
	var x T
	if _, single := any(x).(float32); single {
		return 40
	}
	return 350
}

// span is a range of the elements of s.
type span struct{ from, to int }

// at returns the elements at places [lo, hi) of Pairs.Order.
func (x *pairScratch[T]) at(lo, hi int) span { return span{lo - x.first, hi - x.first} }

// pairScratch allocates the memory of each worker.
func (e *executor[T]) pairScratch(p *describe.Pairs, phi describe.Surrogate, threads int) []*pairScratch[T] {
	longest := 0
	for q := range len(p.Queries) - 1 {
		if from, to := p.Queries[q], p.Queries[q+1]; from < to {
			longest = max(longest, int(p.Blocks[to-1].End)-p.Start(int(from)))
		}
	}
	const pairs = 1024
	list := make([]*pairScratch[T], threads)
	for i := range list {
		x := &pairScratch[T]{phi: phi, d: kernel.Alloc[T](max(longest, longRun)), unused: kernel.Alloc[T](longRun), sums: make([]float64, longRun),
			room: [2][]T{kernel.Alloc[T](longest), kernel.Alloc[T](longest)}, differences: kernel.Alloc[T](pairs),
			ones: kernel.Alloc[T](pairs), weights: kernel.Alloc[T](pairs)}
		x.loss, x.known = kernelLoss(phi)
		for k := range x.ones {
			x.ones[k] = 1
		}
		list[i] = x
	}
	return list
}

// load reads the scores of a query, which has the blocks [from, to), and chooses the form.
func (x *pairScratch[T]) load(w *worker[T], scores plan.View, p *describe.Pairs, from, to int) {
	x.first = p.Start(from)
	rows := p.Order[x.first:p.Blocks[to-1].End]
	x.s, x.e = x.room[0][:len(rows)], x.room[1][:len(rows)]
	data, limit, within := w.From(scores, 0), factorRange[T](), true
	for k, row := range rows {
		s := data[int(row)*scores.Stride]
		x.s[k] = s
		within = within && -limit <= s && s <= limit
	}
	middle, spread := T(0), T(0)
	if !within {
		least, most := slices.Min(x.s), slices.Max(x.s) // NaN if a score is NaN
		middle, spread = least+(most-least)/2, most-least
	}
	switch {
	case !x.known || !(spread <= math.MaxFloat32):
		x.form = single
	case x.loss == kernel.HingeLoss || spread > 2*limit:
		x.form = differences
	default:
		x.form = factors
		if middle != 0 {
			w.k.Shift(x.s, -middle)
		}
		w.k.Exp(x.e, x.s)
	}
}

// value returns the sum of phi(s_i - s_j) over the pairs of two spans.
func (x *pairScratch[T]) value(k *kernel.Kernels[T], higher, lower span) (sum float64) {
	switch {
	case x.form == factors && x.loss == kernel.SigmoidLoss:
		return k.PairShares(x.e[higher.from:higher.to], x.e[lower.from:lower.to])
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

// grad adds the derivatives of v phi(s_i - s_j) over the pairs of two spans to di and dj.
func (x *pairScratch[T]) grad(k *kernel.Kernels[T], higher, lower span, di, dj []T, v T) {
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
	room := x.differences
	for column := 0; column < lower.to-lower.from; column += len(room) {
		s := x.s[lower.from+column : min(lower.from+column+len(room), lower.to)]
		at := 0
		for row := higher.from; row < higher.to; row += at {
			for at = 0; row+at < higher.to && (at+1)*len(s) <= len(room); at++ {
				d := room[at*len(s):][:len(s)]
				copy(d, s)
				k.Shift(d, -x.s[row+at])
			}
			do(room[:at*len(s)], row-higher.from, at, column)
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
