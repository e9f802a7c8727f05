//go:build gpu

package kernels_test

import (
	"testing"

	"ppal/constraints"
	"ppal/internal/cuda/kernels"
	"ppal/internal/graphcases"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/trainer/graph/describe"
)

func TestPairs(t *testing.T) {
	both(t, pairs[float32], pairs[float64])
}

// pairs compares the kernels with plan.Run: blocks of several tiles and runs, few and many cells,
// and infinite, equal and undefined scores.
func pairs[T plan.Float](t *testing.T) {
	long := graphcases.Ranking{Queries: []int{700, 3, 1300}, Levels: 2, Groups: 1, Objective: constraints.Sigmoid}
	scale := 64.0 // sums of many terms, of which some cancel
	if dtypeOf[T]() == kernels.Float32 {
		scale = 1e-3
	}
	for i, ranking := range append(graphcases.Rankings(), long) {
		r := newRig[T](t, uint64(i))
		op := mustOp(t, ranking)
		d := op.Describe().(describe.PairMeans)
		phi, err := kernels.PhiOf(d.Phi)
		r.do(err)
		p := kernels.NewPairs(d.Pairs)
		table := r.put(p.Table())
		s, w := r.random(d.Documents, 1, i%2), r.random(d.Cells(), 1, i%3)
		if i%5 == 4 {
			special(r, s)
		}
		out, ds := r.result(d.Cells(), 1, i%2), r.result(d.Documents, 1, i%3)
		r.do(r.s.PairMeans(r.q, p, table, phi, r.on(s), r.on(out)))
		r.step(&plan.PairMeans{Pairs: d.Pairs, Phi: d.Phi, S: s, Out: out})
		r.do(r.s.PairMeansGrad(r.q, p, table, phi, r.on(s), r.on(w), r.on(ds)))
		r.step(&plan.PairMeansGrad{Pairs: d.Pairs, Phi: d.Phi, S: s, W: w, Out: ds})
		r.check(scale, 32)
	}
}

func mustOp(t *testing.T, r graphcases.Ranking) *constraints.PairMeans {
	t.Helper()
	p := require.Value(constraints.NewPairs(r.Documents(), r.Groups, r.Each))(t)
	return require.Value(constraints.NewPairMeans(p, r.Objective))(t)
}
