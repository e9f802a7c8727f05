package cpu

import (
	"ppal/internal/plan"
)

// reference is a step that runs through the plan's own loops.
type reference[T plan.Float] struct {
	s    plan.Step
	sums [][]float64 // by worker
}

func newReference[T plan.Float](s plan.Step, workers int) *reference[T] {
	r := &reference[T]{s: s, sums: make([][]float64, workers)}
	for t := range r.sums {
		r.sums[t] = make([]float64, plan.Partials(s))
	}
	return r
}

func (r *reference[T]) prepareShare(_ *executor[T], worker, _ int) { clear(r.sums[worker]) }

func (r *reference[T]) block(t int, w *worker[T], lo, hi int) error {
	return plan.Run(r.s, w.Memory, lo, hi, r.sums[t])
}

func (r *reference[T]) finish(e *executor[T], workers int) {
	total := r.sums[0]
	if len(total) == 0 {
		return
	}
	addPartials(total, r.sums[1:workers])
	plan.Finish(r.s, e.Memory, total)
}

// addPartials adds the workers' sums to the first's, in their order.
func addPartials(total []float64, others [][]float64) {
	for _, s := range others {
		for i, x := range s {
			total[i] += x
		}
	}
}
