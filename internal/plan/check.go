package plan

import (
	"fmt"
	"slices"
)

// Check simulates the plan: forward, forward, backward, backward. It returns an error if a step
// reads memory that no step wrote or that another buffer has overwritten, if two buffers of one
// region share a slot, or if a region reads another row, or the result of a reduction, before the
// reduction ends.
func (p *Plan) Check() error {
	c := checker{plan: p, tenant: map[string]int{}, written: make([][]bool, len(p.Buffers))}
	for i, b := range p.Buffers {
		c.written[i] = make([]bool, b.Len())
		if b.Class <= Coefficient {
			set(c.written[i], View{Stride: b.Cols, Rows: b.Rows, Cols: b.Cols})
		}
	}
	for _, half := range [][]Region{p.Forward, p.Forward, p.Backward, p.Backward} {
		for _, r := range half {
			if err := c.region(r); err != nil {
				return fmt.Errorf("plan: %w", err)
			}
		}
	}
	for _, v := range slices.Concat([]View{p.Objective}, p.Constraints, p.Watched, p.Gradients) {
		if err := c.read(v); err != nil {
			return fmt.Errorf("plan: an output: %w", err)
		}
	}
	return nil
}

type checker struct {
	plan    *Plan
	tenant  map[string]int // the buffer that a slot currently holds
	written [][]bool
}

// slot names the storage of a buffer and reports whether the buffer fits.
func (c *checker) slot(buffer int) (string, bool) {
	b := c.plan.Buffers[buffer]
	switch b.Class {
	case Kept, Temporary:
		return fmt.Sprint("slot ", b.Slot), b.Len() <= c.plan.Slots[b.Slot]
	case Local:
		return fmt.Sprint("scratch ", b.Slot), b.Cols <= c.plan.Scratch[b.Slot]
	}
	return fmt.Sprint("buffer ", buffer), true
}

func (c *checker) region(r Region) error {
	if err := c.sharing(r); err != nil {
		return err
	}
	produced := map[int]Access{}
	for _, s := range r.Steps {
		for _, o := range s.Reads() {
			at, here := produced[o.Buffer]
			if r.Rows > 0 && here && (o.Access != ByRow || at != ByRow) {
				return fmt.Errorf("%v reads b%d as %v, written as %v in the same region", s, o.Buffer, o.Access, at)
			}
			if err := c.read(o.View); err != nil {
				return fmt.Errorf("%v: %w", s, err)
			}
		}
		for _, o := range s.Writes() {
			if err := c.write(s, o, r); err != nil {
				return fmt.Errorf("%v: %w", s, err)
			}
			produced[o.Buffer] = o.Access
		}
	}
	for i, b := range c.plan.Buffers {
		if b.Class == Local { // a local buffer ends with its block
			clear(c.written[i])
		}
	}
	return nil
}

// sharing checks that the full-size buffers of a region, whose rows are in use at the same time, do
// not share storage.
func (c *checker) sharing(r Region) error {
	owner := map[string]int{}
	for _, s := range r.Steps {
		for _, o := range slices.Concat(s.Reads(), s.Writes()) {
			name, _ := c.slot(o.Buffer)
			if other, taken := owner[name]; taken && other != o.Buffer && r.Rows > 0 && c.plan.Buffers[o.Buffer].Class != Local {
				return fmt.Errorf("%v: b%d and b%d share %s in one region", s, o.Buffer, other, name)
			}
			owner[name] = o.Buffer
		}
	}
	return nil
}

func (c *checker) read(v View) error {
	name, fits := c.slot(v.Buffer)
	if !fits {
		return fmt.Errorf("b%d is larger than its %s", v.Buffer, name)
	}
	if at, taken := c.tenant[name]; taken && at != v.Buffer {
		return fmt.Errorf("b%d is read, but %s holds b%d", v.Buffer, name, at)
	}
	for i := range v.Rows {
		for j := range v.Cols {
			if !c.written[v.Buffer][v.Offset+i*v.Stride+j] {
				return fmt.Errorf("b%d is read, but (%d, %d) was not written", v.Buffer, i, j)
			}
		}
	}
	return nil
}

func (c *checker) write(s Step, o Operand, r Region) error {
	b := c.plan.Buffers[o.Buffer]
	if b.Class < Gradient {
		return fmt.Errorf("writes a %v buffer", b.Class)
	}
	if b.Class == Local && r.Rows != b.Rows {
		return fmt.Errorf("local b%d of %d rows in a region of %d", o.Buffer, b.Rows, r.Rows)
	}
	inPlace := elementWise(s)
	for _, in := range s.Reads() {
		if in.Buffer == o.Buffer && overlap(in.View, o.View) && in.View != o.View || in.View == o.View && !inPlace && !adds(s) {
			return fmt.Errorf("b%d is read and written", o.Buffer)
		}
	}
	name, _ := c.slot(o.Buffer)
	if at, taken := c.tenant[name]; !taken || at != o.Buffer {
		c.tenant[name] = o.Buffer
		clear(c.written[o.Buffer])
	}
	set(c.written[o.Buffer], o.View)
	return nil
}

// overlap reports whether two views of a buffer have an element in common.
func overlap(v, w View) bool {
	seen := map[int]bool{}
	for i := range v.Rows {
		for j := range v.Cols {
			seen[v.Offset+i*v.Stride+j] = true
		}
	}
	for i := range w.Rows {
		for j := range w.Cols {
			if seen[w.Offset+i*w.Stride+j] {
				return true
			}
		}
	}
	return false
}

// elementWise reports whether the step reads only the elements that it writes, so that an operand
// may be its result.
func elementWise(s Step) bool {
	switch s.(type) {
	case *Map, *BiasActivation, *ActivationGrad:
		return true
	}
	return false
}

// adds reports whether the step adds to its result.
func adds(s Step) bool {
	switch s := s.(type) {
	case *Product:
		return s.Add
	case *SignedLossGrad:
		return s.Add
	case *GroupMeansGrad:
		return s.Add
	}
	return false
}

func set(written []bool, v View) {
	for i := range v.Rows {
		for j := range v.Cols {
			written[v.Offset+i*v.Stride+j] = true
		}
	}
}
