package cuda

import (
	"fmt"
	"slices"

	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
	"ppal/internal/plan"
)

// storage holds the places of a plan's buffers. Local buffers are whole temporaries. With
// micro-batches, a buffer with the data's rows holds one window, unless the buffer is data, a
// constant, or one of whole.
type storage struct {
	base     []driver.Pointer // by buffer; for gradients the offset in the vector
	windowed []bool
	gradient driver.Pointer // the vector that the gradients are parts of now
	held     []driver.Pointer
}

// window is a range of a region's rows, from to to-1. whole marks steps outside regions with rows.
type window struct {
	from, to     int
	first, whole bool
}

func (w window) rows() int { return w.to - w.from }

// windows divides a region's rows.
func (p *Program) windows(rows int) []window {
	size := p.device.options.MicroBatch
	if size == 0 {
		size = rows
	}
	var list []window
	for from := 0; from < rows; from += size {
		list = append(list, window{from: from, to: min(from+size, rows), first: from == 0})
	}
	return list
}

// whole returns the buffers that hold all rows: those that are read after a run, and those of the
// steps over pairs, which access all rows at once.
func whole(p *plan.Plan) map[int]bool {
	set := outputs(p)
	for _, r := range slices.Concat(p.Forward, p.Backward) {
		for _, s := range r.Steps {
			switch s.(type) {
			case *plan.PairMeans, *plan.PairMeansGrad:
				for _, o := range slices.Concat(s.Reads(), s.Writes()) {
					set[o.Buffer] = true
				}
			}
		}
	}
	return set
}

// outputs returns the buffers that are read after a run.
func outputs(p *plan.Plan) map[int]bool {
	set := map[int]bool{}
	for _, v := range slices.Concat([]plan.View{p.Objective}, p.Constraints, p.Watched) {
		set[v.Buffer] = true
	}
	return set
}

// place allocates the buffers. The parameters are consecutive parts of the iterate.
func (p *Program) place(iterate driver.Pointer) error {
	s, size, kept := &p.storage, p.device.options.MicroBatch, whole(p.plan)
	s.base, s.windowed = make([]driver.Pointer, len(p.plan.Buffers)), make([]bool, len(p.plan.Buffers))
	for i, b := range p.plan.Buffers {
		byRow := b.Class == plan.Local || b.RowWise && (b.Class == plan.Kept || b.Class == plan.Temporary)
		s.windowed[i] = byRow && size > 0 && b.Rows > size && !kept[i]
	}
	at := 0
	for _, v := range p.plan.Parameters {
		s.base[v.Buffer] = iterate.Offset(at)
		at += v.Len() * p.size
	}
	at = 0
	for _, v := range p.plan.Gradients {
		s.base[v.Buffer] = driver.Pointer(at)
		at += v.Len() * p.size
	}
	if err := p.placeSlots(); err != nil {
		return err
	}
	for i, b := range p.plan.Buffers {
		if b.Class != plan.Constant && b.Class != plan.Coefficient {
			continue
		}
		if err := p.hold(i, b.Len()); err != nil {
			return err
		}
		if b.Class == plan.Constant {
			if err := p.device.uploadNumbers(p.dtype, s.base[i], b.Values); err != nil {
				return err
			}
		}
	}
	return nil
}

// stored returns the number of elements of a buffer that are in memory at a time.
func (p *Program) stored(i int) int {
	b := p.plan.Buffers[i]
	if p.storage.windowed[i] {
		return p.device.options.MicroBatch * b.Cols
	}
	return b.Len()
}

// placeSlots gives buffers that share a slot the same memory. With micro-batches only buffers of
// one window share memory: whole buffers are read again when the forward steps of a window are
// repeated.
func (p *Program) placeSlots() error {
	type slot struct {
		local bool
		index int
	}
	tenants := map[slot][]int{}
	var order []slot
	for i, b := range p.plan.Buffers {
		if b.Class != plan.Kept && b.Class != plan.Temporary && b.Class != plan.Local {
			continue
		}
		key := slot{b.Class == plan.Local, b.Slot}
		if p.device.options.MicroBatch > 0 && !p.storage.windowed[i] {
			key = slot{false, -1 - i}
		}
		if tenants[key] == nil {
			order = append(order, key)
		}
		tenants[key] = append(tenants[key], i)
	}
	for _, key := range order {
		most := 0
		for _, i := range tenants[key] {
			most = max(most, p.stored(i))
		}
		first := tenants[key][0]
		if err := p.hold(first, most); err != nil {
			return err
		}
		for _, i := range tenants[key] {
			p.storage.base[i] = p.storage.base[first]
		}
	}
	return nil
}

// hold allocates elements for a buffer.
func (p *Program) hold(buffer, elements int) error {
	at, err := p.allocate(p.describe(buffer), elements*p.size)
	p.storage.base[buffer] = at
	return err
}

// allocate returns memory that the program releases when it is closed.
func (p *Program) allocate(name string, bytes int) (driver.Pointer, error) {
	at, err := p.device.memory.allocate(name, bytes)
	if err == nil {
		p.storage.held = append(p.storage.held, at)
	}
	return at, err
}

// describe names a buffer for messages: "rows (24000 x 784, leaf)".
func (p *Program) describe(buffer int) string {
	b := p.plan.Buffers[buffer]
	name := b.Name
	if name == "" {
		name = fmt.Sprintf("b%d", buffer)
	}
	return fmt.Sprintf("%s (%d x %d, %v)", name, b.Rows, b.Cols, b.Class)
}

// address returns the present address of a buffer.
func (p *Program) address(buffer int) driver.Pointer {
	at := p.storage.base[buffer]
	if p.plan.Buffers[buffer].Class == plan.Gradient {
		at += p.storage.gradient
	}
	return at
}

// whole returns all rows of a view.
func (p *Program) whole(v plan.View) kernels.Operand {
	return kernels.Operand{At: p.address(v.Buffer).Offset(v.Offset * p.size), Rows: v.Rows, Cols: v.Cols, Stride: v.Stride}
}

// rows returns the window's rows of a view, or all rows if there are no windows.
func (p *Program) rows(v plan.View, w window) kernels.Operand {
	o := p.whole(v)
	if w.whole {
		return o
	}
	if !p.storage.windowed[v.Buffer] {
		o.At = o.At.Offset(w.from * v.Stride * p.size)
	}
	o.Rows = w.rows()
	return o
}

// isGradient reports whether a view's place depends on the vector that Backward writes.
func (p *Program) isGradient(v plan.View) bool {
	return p.plan.Buffers[v.Buffer].Class == plan.Gradient
}

// checkWindows returns an error if a step reads all rows of a buffer that holds one window at a
// time.
func (p *Program) checkWindows() error {
	for _, r := range p.regions() {
		for _, s := range r.Steps {
			for _, o := range slices.Concat(s.Reads(), s.Writes()) {
				b := p.plan.Buffers[o.Buffer]
				if p.storage.windowed[o.Buffer] && (r.Rows != b.Rows || o.Access != plan.ByRow) {
					return fmt.Errorf("cuda: --micro-batch %d: %v reads all rows of %s at once; train with --micro-batch 0",
						p.device.options.MicroBatch, s, p.describe(o.Buffer))
				}
			}
		}
	}
	return nil
}

// repeated lists the steps that run again for each window of region r: the row-wise steps of
// earlier regions on which the window's rows depend, in order. Reductions over all rows are not
// repeated.
func (p *Program) repeated(before []plan.Region, r plan.Region) []plan.Step {
	needed := map[int]bool{}
	need := func(s plan.Step) {
		for _, o := range s.Reads() {
			if p.storage.windowed[o.Buffer] {
				needed[o.Buffer] = true
			}
		}
	}
	own := map[int]bool{} // written by r before they are read
	for _, s := range r.Steps {
		for _, o := range s.Reads() {
			if p.storage.windowed[o.Buffer] && !own[o.Buffer] {
				needed[o.Buffer] = true
			}
		}
		own[s.Writes()[0].Buffer] = true
	}
	var steps []plan.Step
	for _, earlier := range slices.Backward(before) {
		for _, s := range slices.Backward(earlier.Steps) {
			if o := s.Writes()[0]; needed[o.Buffer] && o.Access == plan.ByRow {
				need(s)
				steps = append(steps, s)
			}
		}
	}
	slices.Reverse(steps)
	return steps
}
