package plan

import (
	"errors"
	"fmt"
	"slices"

	"ppal/datasets/matrix"
	"ppal/trainer/graph/describe"
)

// Division is a plan whose rows several processes share. Each process runs a part: a plan of its
// own rows. The parts have the same steps and the same buffers, but buffers with a row for each row
// of the data have the part's rows only. A part first sums over its own rows. Forward and Backward
// list where these sums are added over all parts. After that, the other buffers have the same
// values in all parts. Only part 0 adds the offset of a mean, and the earlier value of a sum that
// accumulates.
type Division struct {
	Part     *Plan // of this process
	From, To int   // Part has the rows From to To-1
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

// dividedUnit is the multiple to which the number of rows of a part is rounded, if every part has
// at least as many rows.
const dividedUnit = 128

// PartOf returns the rows from to to-1 of part k, if rows are divided among a number of parts. The
// parts have multiples of dividedUnit rows if there are enough rows.
func PartOf(rows, k, parts int) (from, to int) {
	unit := 1
	if rows/parts >= dividedUnit {
		unit = dividedUnit
	}
	units := (rows + unit - 1) / unit
	return min(k*units/parts*unit, rows), min((k+1)*units/parts*unit, rows)
}

// Divide divides the rows of a plan among a number of parts, and returns part k. The rows are those
// of the longest data matrix, or else of the longest leaf. The plan's data need only the rows of
// the part. Divide returns an error if a step needs rows of several parts at once.
func (p *Plan) Divide(parts, k int) (*Division, error) {
	rows := p.dataRows()
	if rows < parts {
		return nil, fmt.Errorf("%d rows cannot be divided among %d processes", rows, parts)
	}
	d := &divider{plan: p, rows: rows, Division: Division{divided: make([]bool, len(p.Buffers))}}
	for i, b := range p.Buffers {
		d.divided[i] = (b.RowWise || b.Class == Leaf && p.DataOf(i) != nil) && b.Rows == rows
	}
	if err := d.check(); err != nil {
		return nil, err
	}
	d.Forward, d.Backward = d.exchanges(p.Forward), d.exchanges(p.Backward)
	d.From, d.To = PartOf(rows, k, parts)
	var err error
	if d.Part, err = d.part(d.From, d.To); err != nil {
		return nil, err
	}
	return &d.Division, nil
}

// Divides reports whether every part has its own rows of a view.
func (d *Division) Divides(v View) bool { return d.divided[v.Buffer] }

// View returns the part's view for a view of the whole plan.
func (d *Division) View(v View) View {
	if d.Divides(v) {
		v.Rows = d.To - d.From
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
		return fmt.Errorf("%v writes %s row by row, which every process needs as a whole", s, d.describe(o.Buffer))
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
	w := &rewriter{d: d, from: from, to: to, groups: map[groupsKey]describe.Groups{}}
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
			return fmt.Errorf("the value of %s is not a dense matrix", d.describe(buffer))
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
