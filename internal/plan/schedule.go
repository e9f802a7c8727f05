package plan

import "slices"

// unit is a region before its steps are emitted. It lists values in the order of their computation.
type unit struct {
	rows   int
	values []*value
}

// scheduled holds the units of both halves.
type scheduled struct {
	forward, backward []unit
	spaces            map[*value]int
}

// schedule orders the values so that row-wise work forms few and long regions. It alternates: first
// all ready values that are not row-wise, then all values that can be computed over the rows, and
// so on.
func (g *dag) schedule() scheduled {
	s := g.scheduler()
	forward := s.half(order(g.forwardRoots()...))
	backward := s.half(order(g.gradients...))
	return scheduled{forward, backward, s.spaces}
}

// scheduler returns a scheduler that knows which values are row-wise.
func (g *dag) scheduler() *scheduler {
	s := &scheduler{spaces: map[*value]int{}, done: map[*value]bool{}, large: map[*value]bool{}}
	for _, v := range g.inputs {
		s.spaces[v] = v.rows
	}
	for _, v := range g.all() {
		if v.kind == leafKind {
			if v.class == Leaf && v.rows > 1 {
				s.spaces[v] = v.rows
			}
			continue
		}
		s.spaces[v] = s.space(v)
	}
	return s
}

type scheduler struct {
	spaces map[*value]int // number of rows of a row-wise value, else 0
	done   map[*value]bool
	large  map[*value]bool // results of ofPictures
}

// space returns v.rows if each row of v is computed from the same row of an input, and the rows of
// this input correspond to the data's rows. Otherwise it returns 0.
func (s *scheduler) space(v *value) int {
	rowWise := false
	switch v.kind {
	case mapKind:
		for _, w := range v.in {
			rowWise = rowWise || w.rows == v.rows && s.spaces[w] > 0
		}
	case productKind:
		rowWise = !v.trans[0] && s.spaces[v.in[0]] > 0
	case sumsKind:
		rowWise = v.axis == OverColumns && s.spaces[v.in[0]] > 0
	case concatKind, rangeKind, reshapeKind:
		for _, w := range v.in {
			rowWise = rowWise || w.rows == v.rows && s.spaces[w] > 0
		}
	case marginKind, marginGrad, signedKind, signedGrad, meansGrad, pairsGrad:
		rowWise = true
	case convolveKind, inputGrad, poolKind, poolGrad, normKind, normGrad:
		rowWise = v.rows > 1 || s.spaces[v.in[0]] > 0
	}
	if rowWise {
		return v.rows
	}
	return 0
}

// reduces returns the number of rows that v is a reduction over, 0 if v is not a reduction.
func (s *scheduler) reduces(v *value) int {
	w := v.in
	switch {
	case v.kind == productKind && v.trans[0] && !v.trans[1] && (s.spaces[w[0]] > 0 || s.spaces[w[1]] > 0),
		v.kind == sumsKind && v.axis != OverColumns && s.spaces[w[0]] > 0,
		v.kind == meansKind, v.kind == filterGrad:
		return w[0].rows
	}
	return 0
}

// rowsOf returns the number of rows of the region of v, or 0 if v belongs to no region.
func (s *scheduler) rowsOf(v *value) int {
	if n := s.spaces[v]; n > 0 && v.kind != pairsGrad { // each of its rows reads many rows
		return n
	}
	return s.reduces(v)
}

// ofPictures reports whether v is a step over pictures, or an element-wise operation or a sum that
// reads the result of such a step.
func (s *scheduler) ofPictures(v *value) bool {
	if known, ok := s.large[v]; ok {
		return known
	}
	reads := false
	switch v.kind {
	case convolveKind, inputGrad, filterGrad, poolKind, poolGrad:
		reads = true
	case mapKind, sumsKind, rangeKind, reshapeKind, normKind, normGrad:
		for _, w := range v.in {
			reads = reads || s.spaces[w] > 0 && s.ofPictures(w)
		}
	}
	s.large[v] = reads
	return reads
}

// half schedules the values of the list that are not computed yet.
func (s *scheduler) half(list []*value) []unit {
	var pending []*value
	for _, v := range list {
		if v.computed() && v.kind != concatKind && !s.done[v] {
			pending = append(pending, v)
		}
	}
	var units []unit
	for len(pending) > 0 {
		var u unit
		u, pending = s.whole(pending)
		if len(u.values) > 0 {
			units = append(units, u)
		}
		u, pending = s.region(pending)
		if len(u.values) > 0 {
			units = append(units, u)
		}
	}
	return units
}

// whole takes all ready values that belong to no region.
func (s *scheduler) whole(pending []*value) (u unit, rest []*value) {
	for _, v := range pending {
		if s.rowsOf(v) == 0 && s.ready(v, nil) {
			s.done[v] = true
			u.values = append(u.values, v)
		} else {
			rest = append(rest, v)
		}
	}
	return u, rest
}

// region takes all values that can be computed over the rows of the first ready value. With steps
// over pictures, whose rows are long, it takes those values and what is computed from them or for
// them, so that their rows stay local. Products with the data are in regions without pictures,
// because their blocks have another size.
func (s *scheduler) region(pending []*value) (u unit, rest []*value) {
	in, pictures := map[*value]bool{}, false
	for _, v := range pending {
		n := s.rowsOf(v)
		if len(in) == 0 && n > 0 && s.ready(v, in) {
			u.rows = n
			pictures = s.joins(v) && slices.ContainsFunc(pending, func(w *value) bool { return s.rowsOf(w) == n && s.ofPictures(w) })
		}
		if n > 0 && n == u.rows && (s.joins(v) || !pictures) && (pictures || !s.ofPictures(v)) && s.ready(v, in) {
			in[v] = true
			u.values = append(u.values, v)
		} else {
			rest = append(rest, v)
		}
	}
	for v := range in {
		s.done[v] = true
	}
	return u, rest
}

// joins reports whether v may be in a region with pictures: v does not multiply data, in any shape.
func (s *scheduler) joins(v *value) bool {
	return v.kind != productKind || !slices.ContainsFunc(v.in, func(w *value) bool {
		w = w.unshaped()
		return w.kind == leafKind && w.class == Leaf && w.rows > 1
	})
}

// ready reports whether the inputs of v are available: complete, or computed row by row in the
// current region if v reads them by row.
func (s *scheduler) ready(v *value, region map[*value]bool) bool {
	for i, w := range v.in {
		if access(v, i) == Whole && !s.available(w, nil) || !s.available(w, region) {
			return false
		}
	}
	return true
}

// available looks through views and checks the value that a step computes.
func (s *scheduler) available(v *value, region map[*value]bool) bool {
	switch v.kind {
	case leafKind:
		return true
	case rangeKind:
		return s.available(v.in[0], region)
	case reshapeKind:
		if v.rows != v.in[0].rows {
			region = nil
		}
		return s.available(v.in[0], region)
	case concatKind:
		for _, w := range v.in {
			if !s.available(w, region) {
				return false
			}
		}
		return true
	}
	return s.done[v] || region[v] && s.spaces[v] > 0
}

// access returns how v reads its input i in a region.
func access(v *value, i int) Access {
	switch v.kind {
	case mapKind:
		if v.in[i].rows != v.rows {
			return Whole
		}
	case productKind:
		if i == 1 && !v.trans[0] || i == 2 && v.trans[0] {
			return Whole
		}
	case meansGrad:
		if i == 0 {
			return Whole
		}
	case convolveKind, inputGrad:
		if i == 1 {
			return Whole
		}
	case opaqueKind, pairsKind, pairsGrad:
		return Whole
	}
	return ByRow
}
