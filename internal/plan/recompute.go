package plan

import (
	"cmp"

	"gorgonia.org/tensor"
)

// keptBytes is the size of the layers of pictures, of all rows, from which the backward half
// computes them again instead of reading what the forward half kept. The layers of a mini-batch are
// mostly smaller, and are kept: computing them again takes a third of the time of both halves.
// Tests change the size.
var keptBytes = 256 << 20

// recompute repeats layers of pictures in the backward half, row by row, so that they are local to
// blocks of rows in both halves. The repeated values have the same bits.
func (g *dag) recompute() {
	r := &recomputation{scheduler: g.scheduler(), forward: g.forward(), users: g.users(), again: map[*value]*value{}}
	var bytes int
	read := map[*value]bool{} // by the backward half
	for _, v := range g.all() {
		for _, w := range v.in {
			if !r.forward[v] && r.repeats(w) && !read[w] {
				read[w] = true
				bytes += w.size() * g.size()
			}
		}
	}
	if bytes <= cmp.Or(g.source.KeptBytes, keptBytes) {
		return
	}
	for _, v := range g.all() {
		if r.forward[v] {
			continue
		}
		for i, w := range v.in {
			v.in[i] = r.repeated(w)
		}
	}
}

// size returns the bytes of an element.
func (g *dag) size() int {
	if g.source.Dtype == tensor.Float32 {
		return 4
	}
	return 8
}

type recomputation struct {
	*scheduler
	forward map[*value]bool
	users   map[*value][]*value
	again   map[*value]*value // the repeated values
}

// repeats reports whether the backward half should compute a value of the forward half again: a
// row-wise value of pictures, or one that a step over pictures reads.
func (r *recomputation) repeats(v *value) bool {
	return r.forward[v] && v.kind != leafKind && r.spaces[v] > 0 && (r.ofPictures(v) || r.feeds(v))
}

// feeds reports whether a step of the forward half that reads v is over pictures.
func (r *recomputation) feeds(v *value) bool {
	for _, u := range r.users[v] {
		if u != nil && r.forward[u] && (r.ofPictures(u) || !u.computed() && r.feeds(u)) {
			return true
		}
	}
	return false
}

// repeated returns the value that the backward half reads instead of v.
func (r *recomputation) repeated(v *value) *value {
	if !r.repeats(v) {
		return v
	}
	if r.again[v] == nil {
		w := *v
		w.in = make([]*value, len(v.in))
		for i, x := range v.in {
			w.in[i] = r.repeated(x)
		}
		r.again[v] = &w
	}
	return r.again[v]
}
