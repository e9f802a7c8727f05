package plan

import (
	"fmt"

	"ppal/trainer/graph/describe"
)

// PairMeans is Out[c] = 1/Counts[c] sum of phi(S[i] - S[j]) over the pairs (i, j) of cell c. A cell
// without pairs has Out[c] = 0. The difference of equal scores is 0, also of infinite scores.
// Differences and sums are in float64. The step reads all scores at once, so its region has no
// rows.
type PairMeans struct {
	nodes
	describe.Pairs
	Phi    describe.Surrogate
	S, Out View
}

// PairMeansGrad is the derivative of PairMeans times W[c]. Each pair (i, j) of cell c adds d to
// Out[i] and -d to Out[j], which start from 0:
//
//	d = W[c]/Counts[c] phi'(S[i] - S[j])
type PairMeansGrad struct {
	nodes
	describe.Pairs
	Phi       describe.Surrogate
	S, W, Out View
}

// The operations for a pair, for Step.FLOPs.
const (
	pairFLOPs     = 3 // a difference, a function, an addition
	pairGradFLOPs = 6 // a difference, a function, a product, a subtraction and two additions
)

// Reads implements Step.
func (s *PairMeans) Reads() []Operand { return []Operand{{s.S, Whole}} }

// Writes implements Step.
func (s *PairMeans) Writes() []Operand { return []Operand{{s.Out, Whole}} }

// FLOPs implements Step.
func (s *PairMeans) FLOPs() int64 { return pairFLOPs * s.Total() }

// Reads implements Step.
func (s *PairMeansGrad) Reads() []Operand { return []Operand{{s.S, Whole}, {s.W, Whole}} }

// Writes implements Step.
func (s *PairMeansGrad) Writes() []Operand { return []Operand{{s.Out, Whole}} }

// FLOPs implements Step.
func (s *PairMeansGrad) FLOPs() int64 { return pairGradFLOPs * s.Total() }

func (s *PairMeans) String() string {
	return assign(s.Out, fmt.Sprintf("pairmeans %v(%s)", s.Phi, operand(s.S)), false)
}

func (s *PairMeansGrad) String() string {
	return assign(s.Out, fmt.Sprintf("pairmeans' %v(%s, %s)", s.Phi, operand(s.S), operand(s.W)), false)
}

// eachPair calls do for each pair (i, j) of a cell, query by query.
func eachPair(p *describe.Pairs, do func(cell, i, j int)) {
	for q := range len(p.Queries) - 1 {
		from, to := int(p.Queries[q]), int(p.Queries[q+1])
		for a := from; a < to; a++ {
			for b := from; p.Blocks[b].Level < p.Blocks[a].Level; b++ {
				cell := p.Cell(q, p.Blocks[a], p.Blocks[b])
				for _, i := range p.Order[p.Start(a):p.Blocks[a].End] {
					for _, j := range p.Order[p.Start(b):p.Blocks[b].End] {
						do(cell, int(i), int(j))
					}
				}
			}
		}
	}
}

// pairMeans runs the step: the reference for the devices.
func pairMeans[T Float](s *PairMeans, m *Memory[T]) {
	sums := make([]float64, s.Cells())
	eachPair(&s.Pairs, func(cell, i, j int) {
		sums[cell] += s.Phi.Value(margin(float64(m.Row(s.S, i)[0]), float64(m.Row(s.S, j)[0])))
	})
	for c, n := range s.Counts {
		m.Row(s.Out, c)[0] = T(sums[c] / max(1, float64(n)))
	}
}

// pairMeansGrad runs the step: the reference for the devices.
func pairMeansGrad[T Float](s *PairMeansGrad, m *Memory[T]) {
	sums := make([]float64, s.Documents)
	eachPair(&s.Pairs, func(cell, i, j int) {
		v := float64(m.Row(s.W, cell)[0]) / float64(s.Counts[cell])
		d := v * s.Phi.Deriv(margin(float64(m.Row(s.S, i)[0]), float64(m.Row(s.S, j)[0])))
		sums[i] += d
		sums[j] -= d
	})
	for i, x := range sums {
		m.Row(s.Out, i)[0] = T(x)
	}
}
