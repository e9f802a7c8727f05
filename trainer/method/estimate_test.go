package method

import (
	"context"
	"math"
	"testing"

	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// slopes is min x^2/2 - x subject to the mean of s_b x - 1/2 <= 0 over blocks b with slopes s_b. A
// batch is a block.
type slopes struct {
	problem.Problem
	s   []float64
	now *float64
}

func newSlopes(t *testing.T, s []float64) *slopes {
	t.Helper()
	now := new(float64)
	p := require.Value(problem.Functions{N: 1, M: 1,
		F:         func(x []float64) float64 { return x[0]*x[0]/2 - x[0] },
		Gradient:  func(dst, x []float64) { dst[0] = x[0] - 1 },
		G:         func(dst, x []float64) { dst[0] = *now*x[0] - 0.5 },
		JacobianT: func(dst, _, w []float64) { dst[0] = *now * w[0] },
	}.New([]float64{0}))(t)
	return &slopes{Problem: p, s: s, now: now}
}

func (b *slopes) Sample(k int) error              { *b.now = b.s[k%len(b.s)]; return nil }
func (b *slopes) Block(k int) (block, blocks int) { return k % len(b.s), len(b.s) }
func (b *slopes) solution() (x float64)           { return 0.5 }
func withoutBlocks(b *slopes) problem.Sampler     { return struct{ problem.Sampler }{b} }
func train(t *testing.T, p problem.Problem, k int) float64 {
	t.Helper()
	m := &PPALA{Primal: step.Settings{Kind: step.Gradient, Fixed: true, Eta: 0.01}}
	require.Value(trainer.Train(context.Background(), p, m, trainer.Settings{Iterations: k, Full: newSlopes(t, []float64{1})}))(t)
	x := []float64{0}
	p.Space().Read(x, problem.Iterate)
	return x[0]
}

// On blocks with other gradients, the coefficients follow the estimate: the iterate converges to
// the solution. With the batches' own values, the covariance of g_b and grad g_b moves the limit.
func TestEstimateRemovesTheCovariance(t *testing.T) {
	p := newSlopes(t, []float64{0.2, 1.8, 0.5, 1.5})
	with := math.Abs(train(t, p, 4000) - p.solution())
	p = newSlopes(t, p.s)
	without := math.Abs(train(t, withoutBlocks(p), 4000) - p.solution())
	if with > 0.02 || without < 3*with {
		t.Errorf("the iterate is %.3g from the solution with the estimate, %.3g without", with, without)
	}
}

// The estimate is g_b - h_b + mean(h) from the second pass on, and g_b before.
func TestEstimateByHand(t *testing.T) {
	p := newSlopes(t, []float64{1, 2})
	e := constraintEstimate{}
	e.start(p, []float64{10})
	want := []float64{10, 20, 14 - 10 + 15, 21 - 20 + 17}
	for k, g := range []float64{10, 20, 14, 21} {
		if k > 0 {
			e.observe(k, []float64{g})
		}
		if got := e.estimateAt(&problem.Point{Constraints: []float64{g}})[0]; math.Abs(got-want[k]) > 1e-12 {
			t.Errorf("batch %d: the estimate is %v, want %v", k, got, want[k])
		}
	}
	e.start(withoutBlocks(p), []float64{10})
	if got := e.estimateAt(&problem.Point{Constraints: []float64{3}})[0]; got != 3 {
		t.Errorf("without blocks the constraint is %v, want its own value 3", got)
	}
}

// kept is a problem.StateVisitor that keeps the numbers and counts, or restores them.
type kept struct {
	problem.StateVisitor
	numbers map[string][]float64
	counts  map[string]int
	restore bool
}

func (s *kept) Numbers(name string, x []float64) {
	if s.restore {
		copy(x, s.numbers[name])
	}
	s.numbers[name] = append([]float64(nil), x...)
}

func (s *kept) Count(name string, n *int) {
	if s.restore {
		*n = s.counts[name]
	}
	s.counts[name] = *n
}

// Each block has its own values of two constraints. An estimate that was written and read goes on
// with the same values, also in the first pass, and a sample of all rows changes nothing kept.
// From the second pass on the estimate is the sample less the block's old value plus the mean.
func TestEstimateRestored(t *testing.T) {
	g := [][]float64{{1, 10}, {2, 30}, {6, 80}, {4, 10}, {5, 20}, {9, 30}, {1, 1}}
	want := [][]float64{{1, 10}, {2, 30}, {6, 80}, {6, 40}, {7, 30}, {8, 110./3 - 50}, {1, 1}}
	for at := range g {
		b := &slopesToTheEnd{newSlopes(t, []float64{1, 1, 1}), 6} // batch 6 has all rows
		e := constraintEstimate{}
		e.start(b, g[0])
		for k := range g {
			if k > 0 {
				e.observe(k, g[k])
			}
			if k == at {
				state := &kept{numbers: map[string][]float64{}, counts: map[string]int{}}
				e.visitState(state)
				e = constraintEstimate{}
				e.start(b, []float64{7, 7})
				state.restore = true
				e.visitState(state)
			}
			for j, v := range e.estimateAt(&problem.Point{Constraints: g[k]}) {
				if math.Abs(v-want[k][j]) > 1e-12 {
					t.Errorf("restored after batch %d, batch %d: the estimate of constraint %d is %v, want %v", at, k, j+1, v, want[k][j])
				}
			}
		}
		e.start(withoutBlocks(b.slopes), g[0])
		if e.h != nil || e.seen != 0 {
			t.Error("a problem without blocks has an estimate")
		}
	}
}
