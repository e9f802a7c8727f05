package plan

import "slices"

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
