package cpu

import (
	"fmt"

	"ppal/datasets/matrix"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// sparseLeaf returns the entries of a leaf with sparse data. sparseLeaf returns nil for other
// leaves, and if the entries take more memory than all elements.
func (e *executor[T]) sparseLeaf(buffer int) (*kernel.Sparse[T], error) {
	s, ok := e.plan.DataOf(buffer).(matrix.Sparse)
	if !ok {
		return nil, nil
	}
	rows, cols := s.Dims()
	starts, columns, values := s.Entries()
	x, err := kernel.NewSparseIn[T](e.device.allocator(), rows, cols, starts, columns, values)
	if err != nil {
		return nil, fmt.Errorf("cpu: the data matrix %s: %w", e.plan.Buffers[buffer].Name, err)
	}
	if _, part := s.(*matrix.SparsePart); !part && !x.Compact() { // all processes must choose the same
		return nil, nil
	}
	return x, nil
}

// newSparse compiles a product that reads all entries of a leaf.
func newSparse[T plan.Float](e *executor[T], p *plan.Product, x *kernel.Sparse[T]) step[T] {
	if p.TransA {
		return newSparseGradient(e, p, x)
	}
	return newSparseProduct(e, p, x)
}

// sparseProduct computes Z = X W from the entries of X.
type sparseProduct[T plan.Float] struct {
	p          *plan.Product
	w          *kernel.SparseFactor[T]
	transposed []T // B^T
}

func newSparseProduct[T plan.Float](e *executor[T], p *plan.Product, x *kernel.Sparse[T]) *sparseProduct[T] {
	s := &sparseProduct[T]{p: p, w: e.k.NewSparseFactor(x, p.Out.Cols)}
	if p.TransB {
		s.transposed = make([]T, p.B.Len())
	}
	return s
}

func (s *sparseProduct[T]) prepare(e *executor[T]) {
	b := s.p.B
	if !s.p.TransB {
		s.w.Set(e.Data[b.Buffer][b.Offset:], b.Stride)
		return
	}
	transpose(e, b, s.transposed)
	s.w.Set(s.transposed, b.Rows)
}

func (s *sparseProduct[T]) block(_ int, w *worker[T], lo, hi int) error {
	w.k.MulSparse(w.From(s.p.Out, lo), s.p.Out.Stride, lo, hi, s.w, w.scratch)
	return nil
}

// sparseGradient computes G = X^T D, or G += X^T D, from the entries of X.
type sparseGradient[T plan.Float] struct {
	p    *plan.Product
	sums []*kernel.SparseSums[T] // sums of G, by slot
	rows [][]float64             // room for some rows of G, by worker
	one  []float64               // room for G if it has one column; else nil
}

func newSparseGradient[T plan.Float](e *executor[T], p *plan.Product, x *kernel.Sparse[T]) *sparseGradient[T] {
	s := &sparseGradient[T]{p: p, sums: []*kernel.SparseSums[T]{e.k.NewSparseSums(x, p.Out.Cols)}}
	if p.Out.Cols == 1 {
		s.one = make([]float64, p.Out.Rows)
		return s
	}
	for range e.threads {
		s.rows = append(s.rows, make([]float64, max(1, sumBlock/max(1, p.Out.Cols))*p.Out.Cols))
	}
	return s
}

// shareRows implements summing. An addition of two slots costs about two flushes.
func (s *sparseGradient[T]) shareRows() int { return s.sums[0].FlushRows() / 2 }

func (s *sparseGradient[T]) elements() int { return s.p.Out.Len() }

func (s *sparseGradient[T]) reserve(slots int) {
	s.sums = append(s.sums[:1:1], make([]*kernel.SparseSums[T], slots-1)...)
}

func (s *sparseGradient[T]) start(slot int) {
	if s.sums[slot] == nil {
		s.sums[slot] = s.sums[0].Another()
		return
	}
	s.sums[slot].Clear()
}

func (s *sparseGradient[T]) merge(left, right int) { s.sums[left].Add(s.sums[right]) }

func (s *sparseGradient[T]) send(slot int, m *message) { m.doubles.add(s.sums[slot].Totals()) }

func (s *sparseGradient[T]) settle(int) {}

func (s *sparseGradient[T]) block(_ int, w *worker[T], lo, hi int) error {
	if w.isZero(s.p.B, lo, hi) {
		return nil
	}
	w.k.AddMulTransSparse(s.sums[w.slot], lo, hi, w.From(s.p.B, lo), s.p.B.Stride)
	return nil
}

// finishShare adds up the sums for a part of the rows of G. finishShare writes the totals to the
// result of the product or adds the totals to the result.
func (s *sparseGradient[T]) finishShare(e *executor[T], roots []int, worker, workers int) {
	from, to := share(s.p.Out.Rows, worker, workers)
	if s.one != nil {
		s.finishColumn(e, roots, from, to)
		return
	}
	cols := s.p.Out.Cols
	for most := len(s.rows[worker]) / max(1, cols); from < to; from += most {
		sums := s.rows[worker][:min(most, to-from)*cols]
		clear(sums)
		for _, r := range roots {
			s.sums[r].AddRows(sums, from)
		}
		s.write(e, sums, from)
	}
}

// write writes the sums to the rows of G from row i on, or adds the sums to the rows.
func (s *sparseGradient[T]) write(e *executor[T], sums []float64, i int) {
	for cols := s.p.Out.Cols; len(sums) > 0; i, sums = i+1, sums[cols:] {
		out := e.Row(s.p.Out, i)
		if !s.p.Add {
			e.k.Round(out, sums[:cols])
			continue
		}
		for j, v := range sums[:cols] {
			out[j] += T(v)
		}
	}
}

// finishColumn is finishShare for rows from to to-1 of a G with one column.
func (s *sparseGradient[T]) finishColumn(e *executor[T], roots []int, from, to int) {
	if from == to {
		return
	}
	sums := s.one[from:to]
	s.sums[roots[0]].Column(sums, from)
	for _, r := range roots[1:] {
		s.sums[r].AddColumn(sums, from)
	}
	out, stride := e.Data[s.p.Out.Buffer][s.p.Out.Offset+from*s.p.Out.Stride:], s.p.Out.Stride
	if stride == 1 && !s.p.Add {
		e.k.Round(out[:len(sums)], sums)
		return
	}
	for i, v := range sums {
		if s.p.Add {
			out[i*stride] += T(v)
		} else {
			out[i*stride] = T(v)
		}
	}
}
