package constraints

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/vec"
	"ppal/trainer/graph/describe"
)

// PairMeans is the op s [n] or [n, 1] -> [cells], the means of a surrogate over the cells of pairs
// of documents:
//
//	out_c = 1/n_c sum over the n_c pairs (i, j) of cell c of phi(s_i - s_j).
//
// With Sigmoid, a mean is a smooth pair error: the share of the pairs whose less relevant document
// has the higher score, where equal scores count half. A cell without pairs has the mean 0. The op
// adds in float64. Its memory does not grow with the number of pairs.
type PairMeans struct {
	function
	pairs *Pairs
	phi   Phi
}

// NewPairMeans returns the op for scores [n, 1]. Apply also accepts scores [n].
func NewPairMeans(p *Pairs, phi Phi) (*PairMeans, error) {
	if err := phi.valid(); err != nil {
		return nil, err
	}
	return newPairMeans(p, phi, 2), nil
}

// newPairMeans makes the op. dims is the number of dimensions of the scores: 2 for [n, 1], 1 for
// [n]. The derivative is (s, w [cells]) -> ds, with the shape of s. With v_c = w_c/n_c for the cell
// c of a pair,
//
//	ds_i = sum over the pairs (i, j) of v_c phi'(s_i - s_j)
//	     - sum over the pairs (j, i) of v_c phi'(s_j - s_i).
func newPairMeans(p *Pairs, phi Phi, dims int) *PairMeans {
	op := &PairMeans{pairs: p, phi: phi}
	scores, cells := ofScores(p.Rows(), dims), tensor.Shape{p.Cells()}
	digest := digestLater(func(d digester) {
		sum := p.sum()
		_, _ = d.Write(sum[:])
		d.text(string(phi))
		d.ints(dims)
	})
	op.function = function{
		pureOp: pureOp{kind: "PairMeans", arity: 1, digest: digest}, text: fmt.Sprintf("%v, %d, %d", phi, p.Cells(), p.Rows()),
		in: []tensor.Shape{scores}, out: cells, description: describe.PairMeans{Pairs: p.p, Phi: phi},
		double: func(in [][]float64) []float64 { return pairMeans(op, in[0]) },
		single: func(in [][]float32) []float32 { return pairMeans(op, in[0]) },
	}
	op.derivative = func() *function {
		return &function{
			pureOp: pureOp{kind: "PairMeansGrad", arity: 2, digest: digest}, text: op.text,
			in: []tensor.Shape{scores, cells}, out: scores, description: describe.PairMeansGrad{Pairs: p.p, Phi: phi},
			double: func(in [][]float64) []float64 { return pairMeansGrad(op, in[0], in[1]) },
			single: func(in [][]float32) []float32 { return pairMeansGrad(op, in[0], in[1]) },
		}
	}
	return op
}

// Apply adds the node [cells] of the means to the graph of the scores [n, 1] or [n].
func (op *PairMeans) Apply(scores *gorgonia.Node) (*gorgonia.Node, error) {
	if d := scores.Dims(); d != op.in[0].Dims() && (d == 1 || d == 2) {
		op = newPairMeans(op.pairs, op.phi, d)
	}
	return apply(op, scores)
}

// pairMeans returns the means of the cells.
func pairMeans[T float](op *PairMeans, s []T) []T {
	p := &op.pairs.p
	sums := make([]float64, p.Cells())
	eachPairOfBlocks(p, func(cell int, higher, lower []int32) {
		var sum float64
		for _, i := range higher {
			for _, j := range lower {
				sum += op.phi.Value(marginOf(s, i, j))
			}
		}
		sums[cell] += sum
	})
	out := make([]T, len(sums))
	for c, n := range p.Counts {
		if n > 0 {
			out[c] = T(sums[c] / float64(n))
		}
	}
	return out
}

// eachPairOfBlocks calls do for each two blocks of a query with different levels. higher has the
// rows of the block with the higher level, and lower the rows of the other block.
func eachPairOfBlocks(p *describe.Pairs, do func(cell int, higher, lower []int32)) {
	for q := range len(p.Queries) - 1 {
		from, to := int(p.Queries[q]), int(p.Queries[q+1])
		for i := from; i < to; i++ {
			for j := from; p.Blocks[j].Level < p.Blocks[i].Level; j++ {
				do(p.Cell(q, p.Blocks[i], p.Blocks[j]), p.Order[p.Start(i):p.Blocks[i].End], p.Order[p.Start(j):p.Blocks[j].End])
			}
		}
	}
}

// marginOf returns s_i - s_j, and 0 for equal infinities.
func marginOf[T float](s []T, i, j int32) float64 {
	if s[i] == s[j] {
		return 0
	}
	return float64(s[i]) - float64(s[j])
}

// pairMeansGrad returns the derivative with respect to the scores.
func pairMeansGrad[T float](op *PairMeans, s, w []T) []T {
	p := &op.pairs.p
	ds := make([]float64, p.Documents)
	eachPairOfBlocks(p, func(cell int, higher, lower []int32) {
		v := float64(w[cell]) / float64(p.Counts[cell])
		for _, i := range higher {
			for _, j := range lower {
				d := v * op.phi.Deriv(marginOf(s, i, j))
				ds[i] += d
				ds[j] -= d
			}
		}
	})
	out := make([]T, len(ds))
	for i, d := range ds {
		out[i] = T(d)
	}
	return out
}

// meansParts is the number of parts of the queries. It does not depend on the number of cores, so
// that the bits of the means do not.
const meansParts = 64

// means returns the means of the sigmoid or of the logistic loss over the cells of the pairs: see
// PairMeans. All cores share the queries.
func (p *Pairs) means(phi Phi, scores []float64) []float64 {
	queries, size := len(p.p.Queries)-1, p.p.Groups*p.p.Groups
	parts := max(1, min(meansParts, queries, len(scores)/leastPart))
	sums, tasks := make([][]float64, parts), make([]func(), parts)
	out := make([]float64, p.Cells())
	for k := range tasks {
		sums[k] = make([]float64, size)
		tasks[k] = func() {
			h := hostPairs{p: p, phi: phi}
			for q := queries * k / parts; q < queries*(k+1)/parts; q++ {
				own := sums[k]
				if p.p.Each {
					own = out[q*size:][:size]
				}
				h.add(own, q, scores)
			}
		}
	}
	concurrently(tasks...)
	for _, own := range sums {
		if !p.p.Each {
			for c, v := range own {
				out[c] += v
			}
		}
	}
	for c, n := range p.p.Counts {
		out[c] /= max(1, float64(n))
	}
	return out
}

// hostPairs sums a surrogate over the pairs of one query at a time.
type hostPairs struct {
	p      *Pairs
	phi    Phi
	scores []float64
	e      []float64 // exp(score - middle)
	ends   []int     // of the blocks
	long   *vec.PairSums
}

// The largest distance of the scores of a query whose pairs are computed from the exponentials of
// the scores, and the largest product of the logistic loss. The product of both is finite.
const (
	hostSpread  = 300
	hostProduct = 1e150
)

// add adds the pairs of query q to the sums of its cells.
func (h *hostPairs) add(sums []float64, q int, all []float64) {
	p := &h.p.p
	from, to := int(p.Queries[q]), int(p.Queries[q+1])
	if from == to {
		return
	}
	h.scores, h.ends = h.scores[:0], h.ends[:0]
	for b := from; b < to; b++ {
		for _, row := range p.Order[p.Start(b):p.Blocks[b].End] {
			h.scores = append(h.scores, all[row])
		}
		h.ends = append(h.ends, len(h.scores))
	}
	sum := h.exponentials()
	if p.OfQuery(q) >= vec.LeastPairs*int64(to-from) {
		if h.long == nil {
			h.long = vec.NewPairSums(string(h.phi))
		}
		if vec.LoadScores(h.long, h.scores, h.ends) {
			sum = h.long.Sum
		}
	}
	for i := from; i < to; i++ {
		for j := from; p.Blocks[j].Level < p.Blocks[i].Level; j++ {
			sums[p.Cell(0, p.Blocks[i], p.Blocks[j])] += sum(i-from, j-from)
		}
	}
}

// exponentials prepares the loops over the pairs, and returns the loop for two blocks.
func (h *hostPairs) exponentials() func(a, b int) float64 {
	least, most := slices.Min(h.scores), slices.Max(h.scores)
	if !(most-least <= hostSpread) {
		return h.single
	}
	h.e = h.e[:0]
	for _, s := range h.scores {
		h.e = append(h.e, math.Exp(s-least-(most-least)/2))
	}
	if h.phi == Sigmoid {
		return h.shares
	}
	return h.losses
}

// block returns the elements of block b in a list of the query's documents.
func (h *hostPairs) block(list []float64, b int) []float64 {
	if b == 0 {
		return list[:h.ends[0]]
	}
	return list[h.ends[b-1]:h.ends[b]]
}

// single returns the sum of phi(s_i - s_j).
func (h *hostPairs) single(a, b int) (sum float64) {
	for _, s := range h.block(h.scores, a) {
		for _, t := range h.block(h.scores, b) {
			d := s - t
			if s == t {
				d = 0 // also of infinities
			}
			sum += h.phi.Value(d)
		}
	}
	return sum
}

// shares returns the sum of e_j/(e_i + e_j).
func (h *hostPairs) shares(a, b int) (sum float64) {
	lower := h.block(h.e, b)
	for _, x := range h.block(h.e, a) {
		for _, y := range lower {
			sum += y / (x + y)
		}
	}
	return sum
}

// losses returns the sum of log(1 + e_j/e_i). The sum of some logarithms is the logarithm of a
// product.
func (h *hostPairs) losses(a, b int) (sum float64) {
	lower := h.block(h.e, b)
	for _, x := range h.block(h.e, a) {
		inverse, product := 1/x, 1.0
		for _, y := range lower {
			r := y * inverse
			if r < smallExponential {
				sum += smallLog1p(r)
				continue
			}
			if product *= 1 + r; product > hostProduct {
				sum, product = sum+math.Log(product), 1
			}
		}
		sum += math.Log(product)
	}
	return sum
}
