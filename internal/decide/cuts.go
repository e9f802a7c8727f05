package decide

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// axis lists the cuts of some rows, such as those of a group. With a cut, the rows with the largest
// margins have the decision move.to, and the others the decision move.from.
//
// The objective and the bounds are linear in the decisions. With cuts k_a of the axes a they are
//
//	f = f_0 + sum_a column_a0[k_a],   g_j = g_j0 + sum_a factor_aj column_ac[k_a], c the column of j,
//
// where f_0 and g_0 have the decisions from of all moves. Bounds whose coefficients are
// proportional share a column: a gap between many groups has one column for each group.
type axis struct {
	at      []float64   // the thresholds of the cuts, decreasing
	moved   []int       // the number of moves above each threshold
	above   []float64   // the weight of their rows
	columns [][]float64 // column 0 is the objective
	// the least and the largest values of each column below each node of a binary tree over the
	// cuts; node 1 is the root, and node i has the children 2i and 2i+1
	low, high [][]float64
	leaves    int

	bounds []share // the bounds that the rows change, by their number
}

// share is the part of an axis in a bound: factor times a column.
type share struct {
	bound, column int
	factor        float64
}

// newAxis returns the axis of moves. The threshold of a cut is the middle between two margins whose
// distance is more than the resolution. The thresholds at the ends are as far from the margins as
// the margins are from each other, so that an affine map of the scores changes no decision.
func newAxis(rates *Rates, target *Target, moves []move, order *sorter, resolution float64) *axis {
	order.descending(moves)
	a := &axis{}
	weights := a.share(rates, target, moves)
	n := len(moves)
	reach := 1.0
	if n > 0 && moves[0].margin > moves[n-1].margin {
		reach = moves[0].margin - moves[n-1].margin
	}
	type change struct{ kind, from, to int32 }
	known := map[change][]float64{}
	a.columns = make([][]float64, len(weights))
	sums, above := make([]float64, len(weights)), 0.0
	for k := 0; k <= n; k++ {
		if k == 0 || k == n || moves[k-1].margin-moves[k].margin > resolution {
			for c, v := range sums {
				a.columns[c] = append(a.columns[c], v)
			}
			a.moved, a.above = append(a.moved, k), append(a.above, above)
			switch {
			case n == 0:
				a.at = append(a.at, 0)
			case k == 0:
				a.at = append(a.at, moves[0].margin+reach)
			case k == n:
				a.at = append(a.at, moves[n-1].margin-reach)
			default:
				a.at = append(a.at, moves[k].margin+(moves[k-1].margin-moves[k].margin)/2)
			}
		}
		if k == n {
			break
		}
		m := &moves[k]
		key := change{rates.kind[m.row], m.from, m.to}
		delta, ok := known[key]
		if !ok {
			delta = make([]float64, len(weights))
			for _, e := range rates.kinds[key.kind] {
				for c, w := range weights {
					delta[c] += m.change(e) * w[e.Rate]
				}
			}
			known[key] = delta
		}
		weight := rates.weight(m.row)
		above += weight
		for c, d := range delta {
			sums[c] += weight * d
		}
	}
	a.grow()
	return a
}

// share finds the bounds that the moves change. It returns the coefficients of each column by rate.
func (a *axis) share(rates *Rates, target *Target, moves []move) (weights [][]float64) {
	touched := make([]bool, rates.Len())
	seen := make([]bool, len(rates.kinds))
	for i := range moves {
		if k := rates.kind[moves[i].row]; !seen[k] {
			seen[k] = true
			for _, e := range rates.kinds[k] {
				touched[e.Rate] = true
			}
		}
	}
	weights = append(weights, target.Objective.Coefficients)
	known, key := map[string]int{}, []byte(nil)
	for j, b := range target.Bounds {
		first, own := 0.0, make([]float64, rates.Len())
		key = key[:0]
		for r, c := range b.Coefficients {
			if !touched[r] || c == 0 {
				continue
			}
			if first == 0 {
				first = c
			}
			own[r] = c / first
			key = binary.AppendUvarint(key, uint64(r))
			key = binary.LittleEndian.AppendUint64(key, math.Float64bits(own[r]))
		}
		if first == 0 {
			continue
		}
		c, ok := known[string(key)]
		if !ok {
			c = len(weights)
			known[string(key)] = c
			weights = append(weights, own)
		}
		a.bounds = append(a.bounds, share{j, c, first})
	}
	return weights
}

// grow makes the trees.
func (a *axis) grow() {
	a.leaves = 1
	for a.leaves < len(a.at) {
		a.leaves *= 2
	}
	for _, column := range a.columns {
		low, high := make([]float64, 2*a.leaves), make([]float64, 2*a.leaves)
		for k := range a.leaves {
			low[a.leaves+k], high[a.leaves+k] = math.Inf(1), math.Inf(-1)
			if k < len(column) {
				low[a.leaves+k], high[a.leaves+k] = column[k], column[k]
			}
		}
		for i := a.leaves - 1; i > 0; i-- {
			low[i], high[i] = min(low[2*i], low[2*i+1]), max(high[2*i], high[2*i+1])
		}
		a.low, a.high = append(a.low, low), append(a.high, high)
	}
}

// cuts searches the cuts of several axes.
type cuts struct {
	axes   []*axis
	at     []int     // the cut of each axis
	value  float64   // f_0
	g      []float64 // g_j0 beyond the slack
	slack  []float64
	coarse []bool
	best   scored // of the cuts at
	steps  int    // bounds that least has evaluated
	// price is the price of a violation of 1 in the objective; 0: less violation is always better.
	price float64
}

// better reports whether a is a better result than b.
func (s *cuts) better(a, b scored) bool {
	if s.price > 0 {
		return a.worth+s.price*a.violation < b.worth+s.price*b.violation-rounding
	}
	return a.betterThan(b)
}

// scored is the result of some cuts: see better.
type scored struct{ violation, worth float64 }

func (s scored) betterThan(t scored) bool {
	return better(s.violation, s.worth, t.violation, t.worth)
}

// part is a bound that a search over one or two axes changes.
type part struct {
	g            float64 // beyond the slack, without the axes of the search
	slack        float64
	coarse       bool
	first, other share // of the axes; factor 0: the axis does not change the bound
}

// sum adds up excesses of bounds.
type sum struct {
	violation float64
	unjudged  bool
}

// add adds a bound with the excess g beyond the slack.
func (s *sum) add(g, slack float64, coarse bool) {
	if g > rounding {
		s.violation += g
	}
	s.unjudged = s.unjudged || coarse && g > rounding-slack
}

func (s *sum) with(value float64) scored { return scored{s.violation, priced(value, s.unjudged)} }

// parts returns the bounds that the axes a and b change, the sum over the other bounds, and the
// objective of the other axes. b may be -1.
func (s *cuts) parts(a, b int) (list []part, others sum, value float64) {
	g := slices.Clone(s.g)
	value = s.value
	for i, x := range s.axes {
		if i == a || i == b {
			continue
		}
		value += x.columns[0][s.at[i]]
		for _, p := range x.bounds {
			g[p.bound] += p.factor * x.columns[p.column][s.at[i]]
		}
	}
	own := make([]part, len(g))
	for _, p := range s.axes[a].bounds {
		own[p.bound].first = p
	}
	if b >= 0 {
		for _, p := range s.axes[b].bounds {
			own[p.bound].other = p
		}
	}
	for j, p := range own {
		if p.first.factor == 0 && p.other.factor == 0 {
			others.add(g[j], s.slack[j], s.coarse[j])
			continue
		}
		p.g, p.slack, p.coarse = g[j], s.slack[j], s.coarse[j]
		list = append(list, p)
	}
	return list, others, value
}

// single moves the cut of axis a to the best cut with the others as they are. It reports whether
// the result is better.
func (s *cuts) single(a int) bool {
	list, others, value := s.parts(a, -1)
	for k := range list {
		list[k].other = list[k].first
	}
	found := s.descend(s.axes[a], list, others, value, 1)
	if found >= 0 {
		s.at[a] = found
	}
	return found >= 0
}

// pair moves the cuts of the axes a and b to the best pair with the others as they are. It reports
// whether the result is better. For each cut of a, in the order of the objective, it descends the
// tree of b, and leaves out each node whose least values show that no cut below it is better. If
// the bounds are monotone in the cuts, this takes O(n log n) steps for n rows.
func (s *cuts) pair(a, b int) bool {
	list, others, value := s.parts(a, b)
	if s.best.violation <= 0 {
		list = tightest(list)
	}
	x, moved := s.axes[a], false
	order := make([]int, len(x.at))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(x.columns[0][i], x.columns[0][j]) })
	own := slices.Clone(list)
	for _, i := range order {
		for k, p := range list {
			own[k].g = p.g
			if p.first.factor != 0 {
				own[k].g += p.first.factor * x.columns[p.first.column][i]
			}
		}
		if found := s.descend(s.axes[b], own, others, value+x.columns[0][i], 1); found >= 0 {
			s.at[a], s.at[b], moved = i, found, true
		}
	}
	return moved
}

// tightest leaves out bounds that others imply: of bounds with proportional shares of both axes,
// the tightest stays.
func tightest(list []part) (kept []part) {
	type shape struct {
		first, other int
		a, b         float64
	}
	at := map[shape]int{}
	for _, p := range list {
		scale := math.Abs(cmp.Or(p.first.factor, p.other.factor))
		key := shape{p.first.column, p.other.column, p.first.factor / scale, p.other.factor / scale}
		k, known := at[key]
		switch {
		case p.coarse:
			kept = append(kept, p)
		case !known:
			at[key] = len(kept)
			kept = append(kept, p)
		case p.g/scale > kept[k].g/math.Abs(cmp.Or(kept[k].first.factor, kept[k].other.factor)):
			kept[k] = p
		}
	}
	return kept
}

// descend returns the best cut of the axis below a node of its tree, and updates best; -1: no cut
// is better than best. The bounds have the shares other in the axis.
func (s *cuts) descend(x *axis, list []part, others sum, value float64, node int) (found int) {
	own := s.least(x, list, others, value, node)
	if !s.better(own, s.best) {
		return -1
	}
	if node >= x.leaves {
		s.best = own
		return node - x.leaves
	}
	first, second := 2*node, 2*node+1
	if s.better(s.least(x, list, others, value, second), s.least(x, list, others, value, first)) {
		first, second = second, first
	}
	found = s.descend(x, list, others, value, first)
	if later := s.descend(x, list, others, value, second); later >= 0 {
		found = later
	}
	return found
}

// least returns a lower bound for the results of the cuts below a node, and the result of a leaf.
func (s *cuts) least(x *axis, list []part, others sum, value float64, node int) scored {
	s.steps += len(list)
	low := x.low[0][node]
	if math.IsInf(low, 1) { // no cut
		return scored{low, low}
	}
	for i := range list {
		p := &list[i]
		g, f := p.g, p.other.factor
		switch {
		case f > 0:
			g += f * x.low[p.other.column][node]
		case f < 0:
			g += f * x.high[p.other.column][node]
		}
		others.add(g, p.slack, p.coarse)
	}
	return others.with(value + low)
}

// result returns the result of the present cuts.
func (s *cuts) result() scored {
	list, others, value := s.parts(0, -1)
	x, at := s.axes[0], s.at[0]
	for _, p := range list {
		others.add(p.g+p.first.factor*x.columns[p.first.column][at], p.slack, p.coarse)
	}
	return others.with(value + x.columns[0][at])
}
