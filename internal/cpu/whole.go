package cpu

import (
	"ppal/internal/plan"
)

// serialWork is the limit up to which a step outside the regions runs on one goroutine. The limit
// counts arithmetic operations, or else elements. A step at the limit takes some microseconds.
const serialWork = 1 << 16

// wholeRegion makes a region for a step outside the plan's regions.
func (e *executor[T]) wholeRegion(s plan.Step) *region[T] {
	threads := e.threads
	if max(s.FLOPs(), int64(s.Writes()[0].Len())) <= serialWork {
		threads = 1
	}
	switch s := s.(type) {
	case *plan.Product:
		return e.newRegion(0, s.Out.Rows, threads, usualBlocking(), &smallProduct[T]{s})
	case *plan.Opaque:
		return e.newRegion(0, 1, 1, usualBlocking(), &opaque[T]{s})
	}
	return e.newRegion(0, plan.Rows(s), threads, usualBlocking(), e.blockStep(s))
}

// opaque is a step without blocks that calls the Do of Gorgonia's op.
type opaque[T plan.Float] struct{ s *plan.Opaque }

func (o *opaque[T]) block(_ int, w *worker[T], _, _ int) error {
	return plan.Run(o.s, w.Memory, 0, o.s.Out.Rows, nil)
}

// smallProduct is a product outside the regions, for example c W or the rank-one correction of the
// gradient of W. Sums run over the inner index in increasing order, in T. The step's rows are the
// rows of the result.
type smallProduct[T plan.Float] struct{ p *plan.Product }

func (s *smallProduct[T]) block(_ int, w *worker[T], lo, hi int) error {
	p := s.p
	for i := lo; i < hi; i++ {
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

// element returns A[i,l], or A[l,i] if trans is true.
func element[T plan.Float](w *worker[T], v plan.View, trans bool, i, l int) T {
	if trans {
		i, l = l, i
	}
	return w.Row(v, i)[l]
}
