package plan

import "slices"

// mergeSiblings replaces equal computations on parts of one matrix by one computation on the whole,
// until nothing changes. It starts from products with the same left factor,
//
//	X W_1, ..., X W_C  ->  the column ranges of X [W_1 ... W_C]
//
// continues with equal operations on all column ranges of a matrix (biases, activations, sums of
// columns), and merges concatenations of equal operations. The C networks of separate heads then
// share the two products of their first layer.
func (g *dag) mergeSiblings() {
	for g.mergeProducts() || g.mergeRanges() || g.mergeConcatenated() {
	}
}

// mergeProducts merges products with the same left factor.
func (g *dag) mergeProducts() bool {
	type left struct {
		v       *value
		trans   bool
		forward bool
	}
	forward := g.forward()
	families := map[left][]*value{}
	var keys []left
	for _, v := range g.all() {
		if v.kind != productKind || v.trans[1] {
			continue
		}
		k := left{v.in[0], v.trans[0], forward[v]}
		if families[k] == nil {
			keys = append(keys, k)
		}
		families[k] = append(families[k], v)
	}
	for _, k := range keys {
		if f := families[k]; len(f) > 1 && g.merge(f, 1) {
			return true
		}
	}
	return false
}

// mergeRanges merges equal operations on all column ranges of a matrix.
func (g *dag) mergeRanges() bool {
	forward, users := g.forward(), g.users()
	ranges := map[*value][]*value{} // the column ranges of a value, by column
	var wholes []*value
	for _, v := range g.all() {
		if v.kind != rangeKind {
			continue
		}
		w := v.in[0]
		if ranges[w] == nil {
			wholes = append(wholes, w)
		}
		at := len(ranges[w])
		for at > 0 && ranges[w][at-1].column > v.column {
			at--
		}
		ranges[w] = append(ranges[w][:at], append([]*value{v}, ranges[w][at:]...)...)
	}
	for _, w := range wholes {
		parts := ranges[w]
		if wholeOf(parts) == nil {
			continue
		}
		for _, u := range users[parts[0]] {
			if family := sameReaders(u, parts, users, forward); family != nil && g.merge(family, 0) {
				return true
			}
		}
	}
	return false
}

// sameReaders returns, for the reader u of the first part, the readers of the other parts with the
// same operation, in order. It returns nil if a part has no such reader.
func sameReaders(u *value, parts []*value, users map[*value][]*value, forward map[*value]bool) []*value {
	if u == nil {
		return nil
	}
	family := []*value{u}
	for _, p := range parts[1:] {
		var found *value
		for _, w := range users[p] {
			if w != nil && w.kind == u.kind && w.op == u.op && forward[w] == forward[u] && slices.Index(w.in, p) == slices.Index(u.in, parts[0]) && !slices.Contains(family, w) {
				found = w
				break
			}
		}
		if found == nil {
			return nil
		}
		family = append(family, found)
	}
	return family
}

// mergeConcatenated merges the same computation in all parts of a concatenation.
func (g *dag) mergeConcatenated() bool {
	forward := g.forward()
	for _, v := range g.all() {
		if v.kind != concatKind {
			continue
		}
		if whole := wholeOf(v.in); whole != nil {
			g.replace(map[*value]*value{v: whole})
			return true
		}
		same := true
		for _, p := range v.in {
			same = same && forward[p] == forward[v.in[0]]
		}
		if same && g.merge(v.in, 0) {
			return true
		}
	}
	return false
}

// merge replaces a family of values by the column ranges of one value, if its members are the same
// operation on inputs that are equal or can be put side by side. For products first is 1: all have
// the same left factor.
func (g *dag) merge(family []*value, first int) bool {
	u := family[0]
	if !mergeable(u, first) || !independent(family) {
		return false
	}
	merged := &value{kind: u.kind, op: u.op, trans: u.trans, axis: u.axis, rows: u.rows}
	merged.in = append(merged.in, u.in[:first]...)
	for i := range family {
		v := family[i]
		if v.kind != u.kind || v.op != u.op || v.trans != u.trans || v.axis != u.axis || v.rows != u.rows || len(v.in) != len(u.in) {
			return false
		}
		merged.cols += v.cols
		merged.nodes = append(merged.nodes, v.nodes...)
	}
	for a := first; a < len(u.in); a++ {
		in := g.sideBySide(family, a)
		if in == nil {
			return false
		}
		merged.in = append(merged.in, in)
	}
	replacement := map[*value]*value{}
	at := 0
	for _, v := range family {
		part := rangeOf(merged, at, v.cols)
		part.nodes = v.nodes
		replacement[v] = part
		at += v.cols
	}
	g.replace(replacement)
	return true
}

// mergeable reports whether an operation treats each column of its inputs, from input first on,
// independently of the other columns.
func mergeable(v *value, first int) bool {
	return v.kind == mapKind || v.kind == productKind && first == 1 && !v.trans[1] || v.kind == sumsKind && v.axis == OverRows
}

// sideBySide returns input a of all members as one matrix, or nil if the inputs cannot be put side
// by side without a copy of data.
func (g *dag) sideBySide(family []*value, a int) *value {
	first := family[0].in[a]
	same := true
	parts := make([]*value, len(family))
	for i, v := range family {
		p := v.in[a]
		same = same && p == first
		data := p.kind == leafKind && p.class != Parameter && p.rows > 1
		if p.rows != first.rows || p.kind == reshapeKind || data && !same {
			return nil
		}
		parts[i] = p
	}
	if same && first.cols == 1 {
		return first
	}
	for i, v := range family {
		if parts[i].cols != v.cols {
			return nil
		}
	}
	if same {
		return nil
	}
	return g.concat(parts)
}

// concat returns the values side by side: an existing concatenation, or the whole value that the
// parts are ranges of.
func (g *dag) concat(parts []*value) *value {
	for _, v := range g.all() {
		if v.kind == concatKind && slices.Equal(v.in, parts) {
			return v
		}
	}
	return concatOf(parts)
}

// independent reports whether no member is computed from another member.
func independent(family []*value) bool {
	var inputs []*value
	for _, v := range family {
		inputs = append(inputs, v.in...)
	}
	for _, v := range order(inputs...) {
		if slices.Contains(family, v) {
			return false
		}
	}
	return true
}
