package plan

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/trainer/graph/describe"
)

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
