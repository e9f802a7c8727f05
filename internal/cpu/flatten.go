package cpu

import "ppal/internal/plan"

// flattened returns a pass over matrices without gaps as the same pass over single rows, so that a long column takes one call and not one
// for each of its elements; the pass itself where an operand has another shape than the result and is no number.
func flattened(m *plan.Map) *plan.Map {
	flat := *m
	flat.Args = append([]plan.View{}, m.Args...)
	for i := range flat.Args {
		a := &flat.Args[i]
		switch {
		case a.Len() == 1:
		case a.Rows != m.Out.Rows || a.Cols != m.Out.Cols || !flatten(a):
			return m
		}
	}
	if !flatten(&flat.Out) {
		return m
	}
	return &flat
}

// flatten makes a view one row, false where it has gaps.
func flatten(v *plan.View) bool {
	if v.Rows > 1 && v.Stride != v.Cols {
		return false
	}
	v.Rows, v.Cols, v.Stride = 1, v.Len(), v.Len()
	return true
}
