package constraints

import (
	"math"
	"slices"

	"ppal/internal/pairsum"
)

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
	long   *pairsum.Sums
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
	if p.OfQuery(q) >= pairsum.LeastPairs*int64(to-from) {
		if h.long == nil {
			h.long = pairsum.New(string(h.phi))
		}
		if pairsum.Load(h.long, h.scores, h.ends) {
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
