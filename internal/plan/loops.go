package plan

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/trainer/graph/describe"
)

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
// Other steps do not use sums. PairMeans, PairMeansGrad and Opaque run over all rows.
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
	case *Normalize:
		normalize(s, m, lo, hi)
	case *NormalizeGrad:
		normalizeGrad(s, m, lo, hi)
	case *PairMeans:
		pairMeans(s, m)
	case *PairMeansGrad:
		pairMeansGrad(s, m)
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

func product[T Float](s *Product, m *Memory[T], lo, hi int, sums []float64) {
	if s.TransA {
		productOverRows(s, m, lo, hi, sums)
		return
	}
	for i := lo; i < hi; i++ {
		a, out := m.Row(s.A, i), m.Row(s.Out, i)
		for j := range out {
			var sum float64
			for l, x := range a {
				if s.TransB {
					sum += float64(x) * float64(m.Row(s.B, j)[l])
				} else {
					sum += float64(x) * float64(m.Row(s.B, l)[j])
				}
			}
			if s.Add {
				sum += float64(out[j])
			}
			out[j] = T(sum)
		}
	}
}

// productOverRows adds rows lo to hi-1 of A and B (columns of B^T) to A^T B.
func productOverRows[T Float](s *Product, m *Memory[T], lo, hi int, sums []float64) {
	for l := lo; l < hi; l++ {
		for i, x := range m.Row(s.A, l) {
			for j := range s.Out.Cols {
				var b T
				if s.TransB {
					b = m.Row(s.B, j)[l]
				} else {
					b = m.Row(s.B, l)[j]
				}
				sums[i*s.Out.Cols+j] += float64(x) * float64(b)
			}
		}
	}
}

func elements[T Float](s *Map, m *Memory[T], lo, hi int) {
	rows := make([][]T, len(s.Args))
	for i := lo; i < hi; i++ {
		for k, a := range s.Args {
			if a.Rows == s.Out.Rows {
				rows[k] = m.Row(a, i)
			} else {
				rows[k] = m.Row(a, 0)
			}
		}
		out := m.Row(s.Out, i)
		for j := range out {
			out[j] = T(s.Expr.Eval(func(k int) float64 {
				if len(rows[k]) == 1 {
					return float64(rows[k][0])
				}
				return float64(rows[k][j])
			}))
		}
	}
}

func total[T Float](s *Sums, m *Memory[T], lo, hi int, sums []float64) {
	for i := lo; i < hi; i++ {
		var row float64
		for j, x := range m.Row(s.In, i) {
			switch s.Over {
			case OverRows:
				sums[j] += float64(x)
			case OverAll:
				sums[0] += float64(x)
			default:
				row += float64(x)
			}
		}
		if s.Over == OverColumns {
			m.Row(s.Out, i)[0] = T(row)
		}
	}
}

func groupMeans[T Float](s *GroupMeans, m *Memory[T], lo, hi int, sums []float64) {
	if s.RowStarts == nil {
		for k := range s.Count {
			for i := max(lo, s.Starts[k]); i < min(hi, s.Starts[k+1]); i++ {
				sums[k] += float64(m.Row(s.In, i)[0]) / s.Size(k)
			}
		}
		return
	}
	for i := lo; i < hi; i++ {
		for e, end := s.Of(i); e < end; e++ {
			sums[s.RowGroups[e]] += weightOf(&s.Groups, e) * float64(m.Row(s.In, i)[0])
		}
	}
}

// weightOf returns the weight of entry e of the rows' lists.
func weightOf(g *describe.Groups, e int) float64 {
	if g.RowWeights != nil {
		return g.RowWeights[e]
	}
	return 1 / g.Size(int(g.RowGroups[e]))
}

func groupMeansGrad[T Float](s *GroupMeansGrad, m *Memory[T], lo, hi int) {
	w := func(k int) float64 { return float64(m.Row(s.W, k)[0]) }
	for i := lo; i < hi; i++ {
		out := m.Row(s.Out, i)
		var sum float64
		if s.Add {
			sum = float64(out[0])
		}
		if s.RowStarts == nil {
			for k := range s.Count {
				if s.Starts[k] <= i && i < s.Starts[k+1] {
					sum += w(k) / s.Size(k)
				}
			}
		} else {
			for e, end := s.Of(i); e < end; e++ {
				sum += weightOf(&s.Groups, e) * w(int(s.RowGroups[e]))
			}
		}
		out[0] = T(sum)
	}
}

// margin returns x - y, and 0 for equal infinities.
func margin(x, y float64) float64 {
	if x == y {
		return 0
	}
	return x - y
}

func rowLoss[T Float](t describe.Margins, row []T, c int) float64 {
	var sum float64
	for j, s := range row {
		if j != c {
			sum += t.Phi.Value(margin(float64(row[c]), float64(s)))
		}
	}
	return sum
}

func rowLossGrad[T Float](t describe.Margins, out, row []T, c int, dl float64) {
	var sum float64
	for j, s := range row {
		if j != c {
			d := dl * t.Phi.Deriv(margin(float64(row[c]), float64(s)))
			out[j] = T(-d)
			sum += d
		}
	}
	out[c] = T(sum)
}

// opaque runs Gorgonia's op on copies. It turns a panic of Gorgonia, which some wrong shapes cause,
// into an error.
func opaque[T Float](s *Opaque, m *Memory[T]) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("plan: %v: %v", s.Op, r)
		}
	}()
	args := make([]gorgonia.Value, len(s.Args))
	for i, a := range s.Args {
		data := m.Contents(a)
		if s.Shapes[i].IsScalar() {
			args[i] = scalarValue(data[0])
		} else {
			args[i] = tensor.New(tensor.WithShape(s.Shapes[i]...), tensor.WithBacking(data))
		}
	}
	v, err := s.Op.Do(args...)
	if err != nil {
		return fmt.Errorf("plan: %v: %w", s.Op, err)
	}
	if d, ok := v.(*tensor.Dense); ok && (d.RequiresIterator() || !d.DataOrder().IsRowMajor()) {
		v = d.Materialize()
	}
	var data []T
	switch x := v.Data().(type) {
	case T:
		data = []T{x}
	case []T:
		data = x
	default:
		return fmt.Errorf("plan: %v returned %T", s.Op, x)
	}
	if len(data) != s.Out.Len() {
		return fmt.Errorf("plan: %v returned %d elements, want %d", s.Op, len(data), s.Out.Len())
	}
	for i := range s.Out.Rows {
		copy(m.Row(s.Out, i), data[i*s.Out.Cols:])
	}
	return nil
}

func scalarValue[T Float](x T) gorgonia.Value {
	switch x := any(x).(type) {
	case float32:
		return gorgonia.NewF32(x)
	case float64:
		return gorgonia.NewF64(x)
	}
	panic("unreachable")
}
