package plan

// Float is the element type of a plan.
type Float interface{ float32 | float64 }

// Memory is the memory of a plan's buffers: Data[b] holds buffer b from row First[b] on, row after
// row. First is 0 except for local buffers.
type Memory[T Float] struct {
	Data  [][]T
	First []int
}

// Row returns row i of v.
func (m *Memory[T]) Row(v View, i int) []T {
	at := v.Offset
	if v.Rows > 1 || i > 0 {
		at += (i - m.First[v.Buffer]) * v.Stride
	}
	return m.Data[v.Buffer][at : at+v.Cols]
}

// From returns v's memory from row i on.
func (m *Memory[T]) From(v View, i int) []T {
	return m.Data[v.Buffer][v.Offset+(i-m.First[v.Buffer])*v.Stride:]
}

// Contents copies a view out of the memory, row after row.
func (m *Memory[T]) Contents(v View) []T {
	list := make([]T, 0, v.Len())
	for i := range v.Rows {
		list = append(list, m.Row(v, i)...)
	}
	return list
}

// Read copies a view's values, row after row, to the first elements of dst.
func (m *Memory[T]) Read(v View, dst []float64) {
	if v.Stride == v.Cols { // the rows are one piece
		for i, x := range m.From(v, 0)[:v.Len()] {
			dst[i] = float64(x)
		}
		return
	}
	for i := range v.Rows {
		for j, x := range m.Row(v, i) {
			dst[i*v.Cols+j] = float64(x)
		}
	}
}

// Rows returns the number of rows that a step runs over: the rows that a reduction reads, or the
// rows of the result.
func Rows(s Step) int {
	switch s := s.(type) {
	case *Product:
		if s.TransA {
			return s.A.Rows
		}
	case *Sums:
		return s.In.Rows
	case *GroupMeans:
		return s.In.Rows
	case *ConvolutionFilterGrad:
		return s.In.Rows
	}
	return s.Writes()[0].Rows
}

// Partials returns the number of float64 sums that a reduction carries from one block of rows to
// the next, and 0 for other steps.
func Partials(s Step) int {
	if w := s.Writes()[0]; w.Access == Sum {
		return w.Len()
	}
	return 0
}

// Run runs a step with plain loops for rows lo to hi-1 of the rows that the step runs over. A
// reduction adds to sums, which has Partials(s) elements, and needs Finish after its last block.
// Other steps do not use sums.
func Run[T Float](s Step, m *Memory[T], lo, hi int, sums []float64) error {
	switch s := s.(type) {
	case *Product:
		product(s, m, lo, hi, sums)
	case *Map:
		elements(s, m, lo, hi)
	case *BiasActivation:
		biasActivation(s, m, lo, hi)
	case *ActivationGrad:
		activationGrad(s, m, lo, hi)
	case *Copy:
		for i := lo; i < hi; i++ {
			copy(m.Row(s.To, i), m.Row(s.From, i))
		}
	case *Sums:
		total(s, m, lo, hi, sums)
	case *MarginLoss:
		for i := lo; i < hi; i++ {
			m.Row(s.Out, i)[0] = T(rowLoss(s.Margins, m.Row(s.S, i), int(s.Labels[i])))
		}
	case *MarginLossGrad:
		for i := lo; i < hi; i++ {
			rowLossGrad(s.Margins, m.Row(s.Out, i), m.Row(s.S, i), int(s.Labels[i]), float64(m.Row(s.D, i)[0]))
		}
	case *SignedLoss:
		signedLosses(s, m, lo, hi)
	case *SignedLossGrad:
		signedLossGrads(s, m, lo, hi)
	case *GroupMeans:
		groupMeans(s, m, lo, hi, sums)
	case *GroupMeansGrad:
		groupMeansGrad(s, m, lo, hi)
	case *Convolution:
		convolution(s, m, lo, hi)
	case *ConvolutionInputGrad:
		convolutionInputGrad(s, m, lo, hi)
	case *ConvolutionFilterGrad:
		convolutionFilterGrad(s, m, lo, hi, sums)
	case *MaxPool:
		maxPool(s, m, lo, hi)
	case *MaxPoolGrad:
		maxPoolGrad(s, m, lo, hi)
	case *Opaque:
		return opaque(s, m)
	}
	return nil
}

// Finish writes the result of a reduction.
func Finish[T Float](s Step, m *Memory[T], sums []float64) {
	w := s.Writes()
	if w[0].Access != Sum {
		return
	}
	out := w[0].View
	add := false
	if p, ok := s.(*Product); ok {
		add = p.Add
	}
	if g, ok := s.(*GroupMeans); ok {
		for k, b := range g.Offsets {
			sums[k] -= b
		}
	}
	for i := range out.Rows {
		for j := range m.Row(out, i) {
			x := sums[i*out.Cols+j]
			if add {
				x += float64(m.Row(out, i)[j])
			}
			m.Row(out, i)[j] = T(x)
		}
	}
}
