package plan

import (
	"errors"
	"fmt"
	"slices"

	"ppal/trainer/graph/describe"
)

// rewriter rewrites steps for the rows from to to-1.
type rewriter struct {
	d        *divider
	from, to int
	groups   map[groupsKey]describe.Groups
}

type groupsKey struct {
	starts, rows *int
	weights      *float64
}

// view returns the view of a divided buffer for this part, and other views as they are.
func (w *rewriter) view(v View) View {
	if w.d.Divides(v) {
		v.Rows = w.to - w.from
	}
	return v
}

// row returns the view of an operand that a step over divided rows reads row by row: this part's
// rows, also of a buffer that every part has as a whole.
func (w *rewriter) row(v View, over bool) View {
	if over && !w.d.Divides(v) && v.Rows == w.d.rows {
		v.Offset, v.Rows = v.Offset+w.from*v.Stride, w.to-w.from
	}
	return w.view(v)
}

func (w *rewriter) views(list []View) []View {
	own := make([]View, len(list))
	for i, v := range list {
		own[i] = w.view(v)
	}
	return own
}

func (w *rewriter) regions(list []Region) ([]Region, error) {
	var own []Region
	for _, r := range list {
		region := Region{Rows: r.Rows}
		for _, s := range r.Steps {
			over := w.d.over(r, s)
			if over {
				region.Rows = w.to - w.from
			}
			t, err := w.step(s, over)
			if err != nil {
				return nil, err
			}
			region.Steps = append(region.Steps, t)
		}
		if region.Rows != r.Rows && slices.ContainsFunc(r.Steps, func(s Step) bool { return !w.d.over(r, s) }) {
			return nil, errors.New("a region mixes the data's rows with as many other rows")
		}
		own = append(own, region)
	}
	return own, nil
}

// step rewrites a step. over tells whether the step runs over divided rows. If a sum is added to an
// earlier value, only part 0 adds the sum to the value, which an earlier region computed.
func (w *rewriter) step(s Step, over bool) (Step, error) {
	first := w.from == 0
	switch s := s.(type) {
	case *Product:
		t := *s
		t.Add = s.Add && (first || !over || !s.TransA)
		t.A, t.B, t.Out, t.Sparse, t.Entries = w.row(s.A, over), w.row(s.B, over && s.TransA), w.view(s.Out), false, 0
		return &t, nil
	case *BiasActivation:
		t := *s
		t.A, t.Bias = w.view(s.A), w.view(s.Bias)
		return &t, nil
	case *ActivationGrad:
		t := *s
		t.A, t.D = w.row(s.A, over), w.view(s.D)
		return &t, nil
	case *Map:
		t := *s
		t.Args, t.Out = nil, w.view(s.Out)
		for _, a := range s.Args {
			t.Args = append(t.Args, w.row(a, over && a.Rows == s.Out.Rows))
		}
		return &t, nil
	case *Copy:
		t := *s
		t.From, t.To = w.row(s.From, over), w.view(s.To)
		return &t, nil
	case *Sums:
		t := *s
		t.In, t.Out = w.row(s.In, over), w.view(s.Out)
		return &t, nil
	case *Normalize:
		t := *s
		t.In, t.Out = w.row(s.In, over), w.view(s.Out)
		return &t, nil
	case *NormalizeGrad:
		t := *s
		t.In, t.D, t.Out = w.row(s.In, over), w.row(s.D, over), w.view(s.Out)
		return &t, nil
	case *MarginLoss:
		t := *s
		t.S, t.Out, t.Margins = w.row(s.S, over), w.view(s.Out), w.margins(s.Margins, over)
		return &t, nil
	case *MarginLossGrad:
		t := *s
		t.S, t.D, t.Out, t.Margins = w.row(s.S, over), w.row(s.D, over), w.view(s.Out), w.margins(s.Margins, over)
		return &t, nil
	case *SignedLoss:
		t := *s
		t.S, t.Out, t.Signs = w.row(s.S, over), w.view(s.Out), w.signs(s.Signs, over)
		return &t, nil
	case *SignedLossGrad:
		t := *s
		t.S, t.D, t.Out, t.Signs = w.row(s.S, over), w.row(s.D, over), w.view(s.Out), w.signs(s.Signs, over)
		return &t, nil
	case *Convolution:
		t := *s
		t.In, t.Filter, t.Out = w.row(s.In, over), w.view(s.Filter), w.view(s.Out)
		return &t, nil
	case *ConvolutionInputGrad:
		t := *s
		t.D, t.Filter, t.Out = w.row(s.D, over), w.view(s.Filter), w.view(s.Out)
		return &t, nil
	case *ConvolutionFilterGrad:
		t := *s
		t.In, t.D, t.Out = w.row(s.In, over), w.row(s.D, over), w.view(s.Out)
		return &t, nil
	case *MaxPool:
		t := *s
		t.In, t.Out = w.row(s.In, over), w.view(s.Out)
		return &t, nil
	case *MaxPoolGrad:
		t := *s
		t.In, t.D, t.Out = w.row(s.In, over), w.row(s.D, over), w.view(s.Out)
		return &t, nil
	case *GroupMeans:
		t := *s
		t.In, t.Out = w.row(s.In, over), w.view(s.Out)
		if over {
			t.Groups = w.group(s.Groups)
			if !first {
				t.Offsets = nil
			}
		}
		return &t, nil
	case *GroupMeansGrad:
		t := *s
		t.W, t.Out = w.view(s.W), w.view(s.Out)
		if over {
			t.Groups = w.group(s.Groups)
		}
		return &t, nil
	}
	if over {
		return nil, fmt.Errorf("%v cannot be divided", s)
	}
	return s, nil
}

func (w *rewriter) margins(m describe.Margins, over bool) describe.Margins {
	if over {
		m.Labels = m.Labels[w.from:w.to]
	}
	return m
}

func (w *rewriter) signs(m describe.Signs, over bool) describe.Signs {
	if over {
		m.Labels = m.Labels[w.from:w.to]
	}
	return m
}

// group returns the memberships of the rows from to to-1, with the weights of the whole groups. The
// same groups of several steps share memory.
func (w *rewriter) group(g describe.Groups) describe.Groups {
	key := groupsKey{starts: &g.Starts[0]}
	if len(g.RowStarts) > 0 {
		key.rows = &g.RowStarts[0]
	}
	if len(g.RowWeights) > 0 {
		key.weights = &g.RowWeights[0]
	}
	own, known := w.groups[key]
	if !known {
		own = windowOf(&g, w.from, w.to)
		w.groups[key] = own
	}
	return own
}

// windowOf returns the memberships of the rows from to to-1, with the weights of the whole groups.
func windowOf(g *describe.Groups, from, to int) describe.Groups {
	own := describe.Groups{Rows: to - from, Count: g.Count, Starts: make([]int, g.Count+1), RowStarts: make([]int, 1, to-from+1)}
	add := func(k int32, weight float64) {
		own.RowGroups, own.RowWeights = append(own.RowGroups, k), append(own.RowWeights, weight)
		own.Starts[k+1]++
	}
	k := 0
	for i := from; i < to; i++ {
		if g.RowStarts == nil {
			for k < g.Count && g.Starts[k+1] <= i {
				k++
			}
			if k < g.Count && g.Starts[k] <= i {
				add(int32(k), 1/g.Size(k))
			}
		} else {
			for e, end := g.Of(i); e < end; e++ {
				add(g.RowGroups[e], weightOf(g, e))
			}
		}
		own.RowStarts = append(own.RowStarts, len(own.RowGroups))
	}
	for k := range g.Count {
		own.Starts[k+1] += own.Starts[k]
	}
	return own
}
