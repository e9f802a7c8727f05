package plan

import (
	"errors"
	"fmt"
	"slices"

	"ppal/datasets/matrix"
)

// Division is a plan whose rows several devices share. Each device runs a part: a plan of its own
// rows. The parts have the same steps and the same buffers, but buffers with a row for each row of
// the data have the part's rows only. A part first sums over its own rows. Forward and Backward
// list where these sums are added over all parts. After that, the other buffers have the same
// values in all parts. Only part 0 adds the offset of a mean, and the earlier value of a sum that
// accumulates.
type Division struct {
	Parts []*Plan
	Ends  []int // part k has the rows from Ends[k-1] (0 for part 0) to Ends[k]-1
	// Forward and Backward list the additions over the parts in each half, in order.
	Forward, Backward []Exchange

	divided []bool // by buffer: every part has its own rows
}

// Exchange is an addition of Sums over the parts: before region Before of a half, or at the end of
// the half if Before is the number of regions.
type Exchange struct {
	Before int
	Sums   []View
}

// DividedUnit is the multiple to which the number of rows of a part is rounded, if every part has
// at least as many rows.
const DividedUnit = 128

// Divide divides the rows of a plan among a number of parts. The rows are those of the longest data
// matrix, or else of the longest leaf. Divide returns an error if a step needs rows of several
// parts at once, or if a step is over pictures.
func (p *Plan) Divide(parts int) (*Division, error) {
	rows := p.dataRows()
	if rows < parts {
		return nil, fmt.Errorf("%d rows cannot be divided among %d devices", rows, parts)
	}
	d := &divider{plan: p, rows: rows, Division: Division{divided: make([]bool, len(p.Buffers))}}
	for i, b := range p.Buffers {
		d.divided[i] = (b.RowWise || b.Class == Leaf && p.DataOf(i) != nil) && b.Rows == rows
	}
	if err := d.check(); err != nil {
		return nil, err
	}
	d.Forward, d.Backward = d.exchanges(p.Forward), d.exchanges(p.Backward)
	unit := 1
	if rows/parts >= DividedUnit {
		unit = DividedUnit
	}
	units, from := (rows+unit-1)/unit, 0
	for k := range parts {
		to := min((k+1)*units/parts*unit, rows)
		part, err := d.part(from, to)
		if err != nil {
			return nil, err
		}
		d.Parts, d.Ends = append(d.Parts, part), append(d.Ends, to)
		from = to
	}
	return &d.Division, nil
}

// Divides reports whether every part has its own rows of a view.
func (d *Division) Divides(v View) bool { return d.divided[v.Buffer] }

// Rows returns the range of the rows of a part.
func (d *Division) Rows(part int) (from, to int) {
	if part > 0 {
		from = d.Ends[part-1]
	}
	return from, d.Ends[part]
}

// Part returns the view of a part for a view of the whole plan.
func (d *Division) Part(v View, part int) View {
	if d.Divides(v) {
		from, to := d.Rows(part)
		v.Rows = to - from
	}
	return v
}

// dataRows returns the rows of the longest data matrix, or else of the longest leaf.
func (p *Plan) dataRows() (rows int) {
	leaves := 0
	for i, b := range p.Buffers {
		if b.Class == Leaf && p.DataOf(i) != nil {
			rows = max(rows, b.Rows)
		}
		if b.Class == Leaf {
			leaves = max(leaves, b.Rows)
		}
	}
	if rows == 0 {
		return leaves
	}
	return rows
}

// divider divides a plan.
type divider struct {
	Division
	plan *Plan
	rows int
}

// check returns an error if the plan cannot be divided.
func (d *divider) check() error {
	p := d.plan
	for _, v := range slices.Concat([]View{p.Objective}, p.Constraints, p.Gradients) {
		if d.Divides(v) {
			return errors.New("the objective or a constraint has a value for every row")
		}
	}
	for _, r := range slices.Concat(p.Forward, p.Backward) {
		for _, s := range r.Steps {
			if err := d.checkStep(r, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkStep returns an error if a step cannot run on the rows of a part alone.
func (d *divider) checkStep(r Region, s Step) error {
	for _, o := range slices.Concat(s.Reads(), s.Writes()) {
		b, over := d.plan.Buffers[o.Buffer], d.over(r, s)
		switch {
		case d.Divides(o.View) && (!over || o.Access != ByRow):
			return fmt.Errorf("%v reads all rows of %s at once", s, d.describe(o.Buffer))
		case d.Divides(o.View) && (o.Rows != b.Rows || o.Stride != b.Cols || o.Offset+o.Cols > b.Cols):
			return fmt.Errorf("%v takes the rows of %s in another shape", s, d.describe(o.Buffer))
		}
	}
	if o := s.Writes()[0]; d.over(r, s) && !d.Divides(o.View) && o.Access != Sum {
		return fmt.Errorf("%v writes %s row by row, which every device needs as a whole", s, d.describe(o.Buffer))
	}
	return nil
}

// over reports whether a step runs over the rows that the parts share: it is in a region over as
// many rows, and accesses a divided buffer.
func (d *divider) over(r Region, s Step) bool {
	return r.Rows == d.rows && slices.ContainsFunc(slices.Concat(s.Reads(), s.Writes()), func(o Operand) bool { return d.Divides(o.View) })
}

func (d *divider) describe(buffer int) string {
	b := d.plan.Buffers[buffer]
	if b.Name != "" {
		return b.Name
	}
	return fmt.Sprintf("b%d (%d x %d)", buffer, b.Rows, b.Cols)
}

// exchanges lists the sums of a half over divided rows. Sums are added as late as possible: before
// the first region that reads or writes one of them.
func (d *divider) exchanges(half []Region) (list []Exchange) {
	var pending []View
	add := func(before int) {
		if len(pending) > 0 {
			list, pending = append(list, Exchange{before, pending}), nil
		}
	}
	for i, r := range half {
		var sums []View
		for _, s := range r.Steps {
			for _, o := range slices.Concat(s.Reads(), s.Writes()) {
				if slices.ContainsFunc(pending, func(v View) bool { return v.Buffer == o.Buffer }) {
					add(i)
				}
			}
			if o := s.Writes()[0]; o.Access == Sum && d.over(r, s) && !slices.Contains(sums, o.View) {
				sums = append(sums, o.View)
			}
		}
		pending = append(pending, sums...)
	}
	add(len(half))
	return list
}

// part returns the plan of the rows from to to-1.
func (d *divider) part(from, to int) (*Plan, error) {
	p := *d.plan
	p.Buffers = slices.Clone(p.Buffers)
	p.Inputs = slices.Clone(p.Inputs)
	data := make([]matrix.Matrix, len(p.Inputs))
	copy(data, p.Data)
	p.Data = data
	p.Slots = make([]int, len(d.plan.Slots))
	for i := range p.Buffers {
		b := &p.Buffers[i]
		if d.divided[i] {
			b.Rows = to - from
			if err := d.divideLeaf(&p, i, from, to); err != nil {
				return nil, err
			}
		}
		if b.Class == Kept || b.Class == Temporary {
			p.Slots[b.Slot] = max(p.Slots[b.Slot], b.Len())
		}
	}
	w := &rewriter{d: d, from: from, to: to, groups: map[groupsKey]Groups{}}
	p.Inputs, p.Watched = w.views(p.Inputs), w.views(p.Watched)
	var err error
	if p.Forward, err = w.regions(p.Forward); err != nil {
		return nil, err
	}
	if p.Backward, err = w.regions(p.Backward); err != nil {
		return nil, err
	}
	p.CountEntries()
	return &p, nil
}

// divideLeaf replaces the data matrix or the node's value of a leaf by the rows from to to-1.
func (d *divider) divideLeaf(p *Plan, buffer, from, to int) error {
	b := &p.Buffers[buffer]
	if b.Class != Leaf {
		return nil
	}
	all := d.plan.DataOf(buffer)
	if all == nil {
		if b.Node == nil || b.Node.Value() == nil {
			return nil
		}
		x := &matrix.Dense{Rows: d.rows, Cols: b.Cols}
		switch value := b.Node.Value().Data().(type) {
		case []float64:
			x.Data = value
		case []float32:
			for _, v := range value {
				x.Data = append(x.Data, float64(v))
			}
		}
		if len(x.Data) != d.rows*b.Cols {
			return fmt.Errorf("the value of %s is no dense matrix", d.describe(buffer))
		}
		all, b.Node = x, nil
	}
	i := slices.IndexFunc(p.Inputs, func(v View) bool { return v.Buffer == buffer })
	if i < 0 {
		i = len(p.Inputs)
		p.Inputs = append(p.Inputs, View{Buffer: buffer, Stride: b.Cols, Rows: d.rows, Cols: b.Cols})
		p.Data = append(p.Data, nil)
	}
	p.Data[i] = matrix.Window(all, from, to)
	return nil
}

// rewriter rewrites steps for the rows from to to-1.
type rewriter struct {
	d        *divider
	from, to int
	groups   map[groupsKey]Groups
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

func (w *rewriter) margins(m Margins, over bool) Margins {
	if over {
		m.Labels = m.Labels[w.from:w.to]
	}
	return m
}

func (w *rewriter) signs(m Signs, over bool) Signs {
	if over {
		m.Labels = m.Labels[w.from:w.to]
	}
	return m
}

// group returns the memberships of the rows from to to-1, with the weights of the whole groups. The
// same groups of several steps share memory.
func (w *rewriter) group(g Groups) Groups {
	key := groupsKey{starts: &g.Starts[0]}
	if len(g.RowStarts) > 0 {
		key.rows = &g.RowStarts[0]
	}
	if len(g.RowWeights) > 0 {
		key.weights = &g.RowWeights[0]
	}
	own, known := w.groups[key]
	if !known {
		own = g.window(w.from, w.to)
		w.groups[key] = own
	}
	return own
}

// window returns the memberships of the rows from to to-1, with the weights of the whole groups.
func (g Groups) window(from, to int) Groups {
	own := Groups{Rows: to - from, Count: g.Count, Starts: make([]int, g.Count+1), RowStarts: make([]int, 1, to-from+1)}
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
				add(int32(k), 1/g.size(k))
			}
		} else {
			for e, end := g.Of(i); e < end; e++ {
				add(g.RowGroups[e], g.weight(e))
			}
		}
		own.RowStarts = append(own.RowStarts, len(own.RowGroups))
	}
	for k := range g.Count {
		own.Starts[k+1] += own.Starts[k]
	}
	return own
}
