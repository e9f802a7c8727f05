package plan

import (
	"slices"

	"ppal/trainer/graph/describe"
)

// placer assigns memory to values.
type placer struct {
	g       *dag
	s       scheduled
	users   map[*value][]*value
	parents map[*value]*value // the value in whose memory a value lives
	columns map[*value]int    // first column of a value in its concatenation
	buffers map[*value]int    // buffers of values without a parent
	plan    *Plan
}

// place creates the buffers and views of the values, and writes the steps.
func (g *dag) place(s scheduled) *Plan {
	p := &placer{g: g, s: s, users: g.users(), parents: map[*value]*value{}, columns: map[*value]int{},
		buffers: map[*value]int{}, plan: &Plan{Dtype: g.source.Dtype}}
	for _, v := range g.all() {
		p.adopt(v)
	}
	for _, list := range [][]*value{g.parameters, g.inputs, g.coefficients, g.all()} {
		for _, v := range list {
			p.view(v)
		}
	}
	p.plan.Forward = p.regions(s.forward)
	p.plan.Backward = p.regions(s.backward)
	p.plan.Objective = p.view(g.objective)
	p.plan.Constraints, p.plan.Watched, p.plan.Gradients = p.views(g.constraints), p.views(g.watched), p.views(g.gradients)
	p.plan.Parameters, p.plan.Inputs, p.plan.Coefficients = p.views(g.parameters), p.views(g.inputs), p.views(g.coefficients)
	p.classify()
	p.plan.assignSlots()
	return p.plan
}

// adopt decides which inputs of v live in the memory of v: the parts of a concatenation, the value
// that a product or a derivative is added to, and the last-read operand of an element-wise pass, so
// that the pass runs in place.
func (p *placer) adopt(v *value) {
	switch v.kind {
	case rangeKind, reshapeKind:
		p.parents[v], p.columns[v] = v.in[0], v.column
	case concatKind:
		at := 0
		for _, w := range v.in {
			p.parents[w], p.columns[w] = v, at
			at += w.cols
		}
	case productKind, signedGrad, meansGrad:
		if v.hasBase() {
			p.parents[v.in[len(v.in)-1]] = v
		}
	case mapKind:
		for _, w := range v.in {
			if w.sameShape(v) && p.parents[w] == nil && p.readOnce(w) && p.sameHalf(v, w) {
				p.parents[w] = v
				return
			}
		}
	}
}

// readOnce reports whether v is computed and only one step reads v or its parts.
func (p *placer) readOnce(v *value) bool {
	if !v.computed() || len(p.users[v]) != 1 {
		return false
	}
	return v.kind != concatKind || !slices.ContainsFunc(v.in, func(w *value) bool { return !p.readOnce(w) })
}

func (p *placer) sameHalf(v, w *value) bool { return p.inForward(v) == p.inForward(w) }

func (p *placer) inForward(v *value) bool {
	for _, u := range p.s.forward {
		if slices.Contains(u.values, v) {
			return true
		}
	}
	return v.kind == concatKind && p.inForward(v.in[0])
}

// view returns the view of v's memory.
func (p *placer) view(v *value) View {
	parent := p.parents[v]
	if parent == nil {
		return View{Buffer: p.buffer(v), Stride: v.cols, Rows: v.rows, Cols: v.cols}
	}
	w := p.view(parent)
	w.Offset += p.columns[v]
	w.Cols = v.cols
	if v.kind == reshapeKind {
		w.Rows, w.Stride = v.rows, v.cols
	}
	return w
}

func (p *placer) views(list []*value) []View {
	views := make([]View, len(list))
	for i, v := range list {
		views[i] = p.view(v)
	}
	return views
}

// buffer returns the buffer of a value that has its own memory.
func (p *placer) buffer(v *value) int {
	if id, ok := p.buffers[v]; ok {
		return id
	}
	b := Buffer{Class: v.class, Rows: v.rows, Cols: v.cols, RowWise: p.s.spaces[v] > 0, Node: v.node, Values: v.values}
	if v.kind == leafKind {
		if v.node != nil {
			b.Name = v.node.Name()
		}
	} else {
		b.Class, b.Node = Temporary, nil
	}
	if i := slices.Index(p.g.gradients, v); i >= 0 {
		b.Class, b.Name = Gradient, "grad "+p.g.parameters[i].node.Name()
	}
	p.buffers[v] = len(p.plan.Buffers)
	p.plan.Buffers = append(p.plan.Buffers, b)
	return p.buffers[v]
}

// classify finds the buffers that are kept from forward to backward, and the buffers that exist for
// one block only.
func (p *placer) classify() {
	plan := p.plan
	written := map[int]bool{} // by the forward half
	for _, r := range plan.Forward {
		for _, s := range r.Steps {
			for _, o := range s.Writes() {
				written[o.Buffer] = true
			}
		}
	}
	keep := func(v View) {
		if b := &plan.Buffers[v.Buffer]; b.Class == Temporary && written[v.Buffer] {
			b.Class = Kept
		}
	}
	for _, v := range slices.Concat([]View{plan.Objective}, plan.Constraints, plan.Watched) {
		keep(v)
	}
	for _, r := range plan.Backward {
		for _, s := range r.Steps {
			for _, o := range s.Reads() {
				keep(o.View)
			}
		}
	}
	plan.localize()
}

// localize marks the buffers that only one region writes and reads, row by row.
func (plan *Plan) localize() {
	const several = -1
	home := map[int]int{}
	for i, r := range slices.Concat(plan.Forward, plan.Backward) {
		for _, s := range r.Steps {
			for _, o := range slices.Concat(s.Reads(), s.Writes()) {
				b := plan.Buffers[o.Buffer]
				if at, seen := home[o.Buffer]; seen && at != i || r.Rows == 0 || o.Access != ByRow || o.Rows != b.Rows || b.Rows != r.Rows {
					home[o.Buffer] = several
				} else if !seen {
					home[o.Buffer] = i
				}
			}
		}
	}
	for id, at := range home {
		if b := &plan.Buffers[id]; b.Class == Temporary && at != several {
			b.Class = Local
		}
	}
}

// span is the time during which a buffer is in use: its first and its last position.
type span struct{ buffer, first, last int }

// assignSlots gives every kept buffer a separate slot, and lets temporary and local buffers share
// slots. The unit of time for temporary buffers is a region, because the steps of a region may run
// interleaved. The unit of time for local buffers is a step.
func (plan *Plan) assignSlots() {
	for i, b := range plan.Buffers {
		if b.Class == Kept {
			plan.Buffers[i].Slot = len(plan.Slots)
			plan.Slots = append(plan.Slots, b.Len())
		}
	}
	own := len(plan.Slots)
	var shared, scratch pool
	at := 0
	temporary := spans{}
	for _, r := range slices.Concat(plan.Forward, plan.Backward) {
		local := spans{}
		for i, s := range r.Steps {
			for _, o := range slices.Concat(s.Reads(), s.Writes()) {
				switch plan.Buffers[o.Buffer].Class {
				case Temporary:
					temporary.use(o.Buffer, at)
				case Local:
					local.use(o.Buffer, i)
				}
			}
		}
		scratch.release()
		for _, s := range local {
			b := &plan.Buffers[s.buffer]
			b.Slot = scratch.take(b.Cols, s)
		}
		at++
	}
	for _, s := range temporary {
		b := &plan.Buffers[s.buffer]
		b.Slot = own + shared.take(b.Len(), s)
	}
	plan.Slots = append(plan.Slots, shared.sizes...)
	plan.Scratch = scratch.sizes
}

// spans are sorted by their first use.
type spans []span

func (list *spans) use(buffer, at int) {
	for i := range *list {
		if (*list)[i].buffer == buffer {
			(*list)[i].last = at
			return
		}
	}
	*list = append(*list, span{buffer, at, at})
}

// pool hands out slots to spans in the order of their first use.
type pool struct {
	sizes []int
	until []int // last use by the current owner; -1 if free
}

func (p *pool) release() {
	for i := range p.until {
		p.until[i] = -1
	}
}

// take returns the best free slot: the smallest slot that is large enough, or else the largest free
// slot, which grows.
func (p *pool) take(size int, s span) int {
	best := -1
	for i, until := range p.until {
		if until >= s.first {
			continue
		}
		if best < 0 || p.sizes[best] < size && p.sizes[i] > p.sizes[best] || p.sizes[i] >= size && p.sizes[i] < p.sizes[best] {
			best = i
		}
	}
	if best < 0 {
		best = len(p.sizes)
		p.sizes, p.until = append(p.sizes, 0), append(p.until, -1)
	}
	p.sizes[best] = max(p.sizes[best], size)
	p.until[best] = s.last
	return best
}

// regions returns the regions of the units, with their steps.
func (p *placer) regions(units []unit) []Region {
	var list []Region
	for _, u := range units {
		r := Region{Rows: u.rows}
		for _, v := range u.values {
			r.Steps = append(r.Steps, p.step(v))
		}
		list = append(list, r)
	}
	return list
}

// step returns the step that computes v.
func (p *placer) step(v *value) Step {
	in, out, ids := p.views(v.in), p.view(v), nodes(slices.Clone(v.nodes))
	slices.Sort(ids)
	switch v.kind {
	case mapKind:
		if v.expr.Op == describe.Load && v.in[0].sameShape(v) {
			return &Copy{ids, in[0], out}
		}
		return typedMap(&Map{ids, v.expr, in, out})
	case productKind:
		return &Product{nodes: ids, A: in[0], B: in[1], Out: out, TransA: v.trans[0], TransB: v.trans[1], Add: v.hasBase()}
	case sumsKind:
		return &Sums{ids, v.axis, in[0], out}
	case marginKind:
		return &MarginLoss{ids, v.description.(describe.MarginLoss).Margins, in[0], out}
	case marginGrad:
		return &MarginLossGrad{ids, v.description.(describe.MarginLossGrad).Margins, in[0], in[1], out}
	case signedKind:
		return &SignedLoss{ids, v.description.(describe.SignedLoss).Signs, in[0], out}
	case signedGrad:
		return &SignedLossGrad{ids, v.description.(describe.SignedLossGrad).Signs, in[0], in[1], out, v.hasBase()}
	case meansKind:
		t := v.description.(describe.GroupMeans)
		return &GroupMeans{ids, t.Groups, t.Offsets, in[0], out}
	case meansGrad:
		return &GroupMeansGrad{ids, v.description.(describe.GroupMeansGrad).Groups, in[0], out, v.hasBase()}
	case pairsKind:
		t := v.description.(describe.PairMeans)
		return &PairMeans{ids, t.Pairs, t.Phi, in[0], out}
	case pairsGrad:
		t := v.description.(describe.PairMeansGrad)
		return &PairMeansGrad{ids, t.Pairs, t.Phi, in[0], in[1], out}
	case convolveKind:
		return &Convolution{ids, v.picture, in[0], in[1], out}
	case inputGrad:
		return &ConvolutionInputGrad{ids, v.picture, in[0], in[1], out}
	case filterGrad:
		return &ConvolutionFilterGrad{ids, v.picture, in[0], in[1], out}
	case poolKind:
		return &MaxPool{ids, v.description.(describe.MaxPool).Window, in[0], out}
	case poolGrad:
		return &MaxPoolGrad{ids, v.description.(describe.MaxPoolGrad).Window, in[0], in[1], out}
	case normKind:
		return &Normalize{ids, v.description.(describe.Normalize).Normalization, in[0], out}
	case normGrad:
		return &NormalizeGrad{ids, v.description.(describe.NormalizeGrad).Normalization, in[0], in[1], out}
	}
	return &Opaque{ids, v.node.Op(), in, v.shapes, out}
}
