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

func (r *reference[T]) prepare(*executor[T]) {
	for _, s := range r.sums {
		clear(s)
	}
}

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

// whole is a step outside the regions: small, on one goroutine.
type whole[T plan.Float] struct {
	s    plan.Step
	sums []float64
}

func wholeStep[T plan.Float](s plan.Step) step[T] {
	switch s := s.(type) {
	case *plan.Product:
		return &smallProduct[T]{p: s}
	case *plan.Map:
		return &wholeMap[T]{newElements[T](flattened(s))}
	}
	return &whole[T]{s, make([]float64, plan.Partials(s))}
}

func (w *whole[T]) prepare(*executor[T]) {}

func (w *whole[T]) block(_ int, on *worker[T], _, _ int) error {
	clear(w.sums)
	if err := plan.Run(w.s, on.Memory, 0, plan.Rows(w.s), w.sums); err != nil {
		return err
	}
	plan.Finish(w.s, on.Memory, w.sums)
	return nil
}

func (w *whole[T]) finish(*executor[T], int) {}

// wholeMap is an element-wise pass outside the regions.
type wholeMap[T plan.Float] struct{ *elements[T] }

func (s *wholeMap[T]) block(t int, w *worker[T], _, _ int) error {
	return s.elements.block(t, w, 0, s.m.Out.Rows)
}

// smallProduct is a product outside the regions: c W and the rank-one correction of its gradient, for instance. Sums run over the inner
// index in increasing order, in T.
type smallProduct[T plan.Float] struct{ p *plan.Product }

func (s *smallProduct[T]) prepare(*executor[T]) {}

func (s *smallProduct[T]) block(_ int, w *worker[T], _, _ int) error {
	p := s.p
	for i := range p.Out.Rows {
		out := w.Row(p.Out, i)
		if !p.Add {
			clear(out)
		}
		for l := range p.Inner() {
			a := element(w, p.A, p.TransA, i, l)
			if a == 0 {
				continue
			}
			if !p.TransB {
				w.k.Axpy(out, a, w.Row(p.B, l))
				continue
			}
			for j := range out {
				out[j] += a * w.Row(p.B, j)[l]
			}
		}
	}
	return nil
}

// element is A[i,l], or A[l,i] transposed.
func element[T plan.Float](w *worker[T], v plan.View, trans bool, i, l int) T {
	if trans {
		i, l = l, i
	}
	return w.Row(v, i)[l]
}

func (s *smallProduct[T]) finish(*executor[T], int) {}
