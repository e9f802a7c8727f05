package decide

import (
	"fmt"
	"math"
	"slices"

	"ppal/internal/vec"
	"ppal/trainer/problem"
)

// Thresholds are thresholds on given scores, for all rows or for each group of rows.
type Thresholds struct {
	// Exact has the result. Its Offsets are those of each group, one after the other.
	Exact
	// Proven says that no other thresholds are better on these rows, because all were compared.
	Proven bool
	// Bound is a lower bound for the objective of all thresholds that meet the bounds; -Inf: none.
	Bound float64
}

// ByGroup finds the thresholds of scores [n, outputs] whose decisions meet the bounds with the
// least objective. If none meet the bounds, ByGroup minimises the violation. groups has the
// group of each row, from 0 to count-1. nil: all rows are one group.
//
// A positive affine map of the scores changes no decision. As in Offsets, two scores whose distance
// is at most resolution times the largest absolute score count as equal.
//
// With one score and up to two groups, ByGroup compares all thresholds, so that the result is
// optimal. With more groups it searches from several starts (cuts.local), and Bound says how much
// better other thresholds can be. With several scores, it changes one offset of one group at a
// time, as Offsets does. The error is that of Offsets.
func ByGroup(rates *Rates, target *Target, scores []float64, groups []int32, count int, resolution float64) (*Thresholds, error) {
	n, outputs := rates.Rows(), rates.Outputs()
	if groups == nil {
		groups, count = make([]int32, n), 1
	}
	if len(scores) != n*outputs || len(groups) != n {
		return nil, fmt.Errorf("decide: %w: %d scores and %d groups of %d rows", problem.ErrSettings, len(scores), len(groups), n)
	}
	if i := vec.FirstNonFinite(scores); i >= 0 {
		return nil, &problem.NonFiniteError{Term: fmt.Sprintf("score of row %d", i/outputs+1), Value: scores[i]}
	}
	if err := target.index(rates.Len()); err != nil {
		return nil, err
	}
	rows := make([][]int32, count)
	for i, k := range groups {
		rows[k] = append(rows[k], int32(i))
	}
	b := &byGroup{rates: rates, target: target, scores: scores, groups: groups, rows: rows, outputs: outputs}
	for _, s := range scores {
		b.resolution = math.Max(b.resolution, math.Abs(s))
	}
	b.resolution *= resolution
	t := &Thresholds{Bound: math.Inf(-1)}
	t.Offsets = make([]float64, count*outputs)
	if outputs == 1 {
		b.binary(t)
	} else {
		b.several(t)
	}
	t.Moved = vec.Norm(t.Offsets) > 0
	return t, nil
}

// Shifted returns the scores plus the offsets of the rows' groups, as ByGroup returns them. nil
// groups: all rows are one group.
func Shifted(scores, offsets []float64, groups []int32, outputs int) []float64 {
	shifted := slices.Clone(scores)
	for i := range shifted {
		g := 0
		if groups != nil {
			g = int(groups[i/outputs])
		}
		shifted[i] += offsets[g*outputs+i%outputs]
	}
	return shifted
}

// byGroup is the search of ByGroup.
type byGroup struct {
	rates      *Rates
	target     *Target
	scores     []float64
	groups     []int32
	rows       [][]int32 // of each group
	outputs    int
	resolution float64
	order      sorter
}

// search returns a search over the axes of moves; the other rows have the decisions given.
func (b *byGroup) search(decisions []int32, lists ...[]move) *cuts {
	for _, moves := range lists {
		for _, m := range moves {
			decisions[m.row] = m.from
		}
	}
	d := make([]float64, b.rates.Len())
	b.rates.Count(d, decisions)
	s := &cuts{value: b.target.Value(d), g: make([]float64, len(b.target.Bounds)), at: make([]int, len(lists))}
	b.target.Excess(s.g, d)
	for j, own := range b.target.Bounds {
		s.g[j] -= own.Slack
		s.slack = append(s.slack, own.Slack)
	}
	for _, moves := range lists {
		s.axes = append(s.axes, newAxis(b.rates, b.target, moves, &b.order, b.resolution))
	}
	b.judge(s, decisions, d, lists)
	s.best = s.result()
	return s
}

// judge finds the coarse bounds, at the decisions with the least objective.
func (b *byGroup) judge(s *cuts, decisions []int32, d []float64, lists [][]move) {
	for i, x := range s.axes {
		at := slices.Index(x.columns[0], x.low[0][1])
		for _, m := range lists[i][:x.moved[at]] {
			decisions[m.row] = m.to
		}
	}
	b.rates.Count(d, decisions)
	for _, own := range b.target.Bounds {
		s.coarse = append(s.coarse, own.Coarse != nil && own.Coarse(d))
	}
}

// end counts the decisions of the offsets.
func (b *byGroup) end(t *Thresholds) {
	decisions, d, g := make([]int32, b.rates.Rows()), make([]float64, b.rates.Len()), make([]float64, len(b.target.Bounds))
	Decide(decisions, Shifted(b.scores, t.Offsets, b.groups, b.outputs), nil)
	b.rates.Count(d, decisions)
	b.target.Excess(g, d)
	t.After, t.Violation, t.Unjudged = b.target.Value(d), b.target.Violation(g), false
	for j, own := range b.target.Bounds {
		t.Unjudged = t.Unjudged || g[j] > rounding && own.Coarse != nil && own.Coarse(d)
	}
	t.Before = t.After
}

// binary finds a threshold for each group.
func (b *byGroup) binary(t *Thresholds) {
	var lists [][]move
	for _, rows := range b.rows {
		moves := make([]move, len(rows))
		for k, i := range rows {
			moves[k] = move{b.scores[i], i, 0, 1}
		}
		lists = append(lists, moves)
	}
	s := b.search(make([]int32, b.rates.Rows()), lists...)
	switch len(lists) {
	case 1:
		s.single(0)
		t.Proven = true
	case 2:
		s.pair(0, 1)
		t.Proven = true
	default:
		t.Bound = s.local()
	}
	for g, k := range s.at {
		t.Offsets[g] = -s.axes[g].at[k]
	}
	b.end(t)
	if t.Proven && t.Violation <= 0 {
		t.Bound = t.After
	}
}

// prices are those of a violation of 1 in the passes of several. The last passes have none: less
// violation is always better.
var prices = []float64{0.25, 1, 4, 16, 0}

// several finds an offset for each score of each group: from 0, with violations that become dearer,
// and from the offsets for all rows. The better result counts.
func (b *byGroup) several(t *Thresholds) {
	b.climb(t, prices)
	if len(b.rows) == 1 {
		return
	}
	one := *b
	one.groups, one.rows = make([]int32, len(b.groups)), [][]int32{slices.Concat(b.rows...)}
	slices.Sort(one.rows[0])
	found := &Thresholds{Exact: Exact{Offsets: make([]float64, b.outputs)}}
	one.several(found)
	other := &Thresholds{Bound: t.Bound}
	for i := range t.Offsets {
		other.Offsets = append(other.Offsets, found.Offsets[i%b.outputs])
	}
	b.climb(other, prices[len(prices)-1:])
	if better(other.Violation, other.worth(), t.Violation, t.worth()) {
		*t = *other
	}
}

// climb changes one offset of one group at a time, in passes with each of the prices.
func (b *byGroup) climb(t *Thresholds, prices []float64) {
	decisions := make([]int32, b.rates.Rows())
	for _, price := range prices {
		for range passes {
			improved := false
			for g := range b.rows {
				for k := range b.outputs {
					improved = b.move(t, g, k, price, decisions) || improved
				}
			}
			if !improved {
				break
			}
		}
	}
	b.end(t)
}

// move changes the offset of score k in group g, if another is better.
func (b *byGroup) move(t *Thresholds, g, k int, price float64, decisions []int32) bool {
	moves := make([]move, len(b.rows[g]))
	for j, i := range b.rows[g] {
		moves[j] = against(b.scores[int(i)*b.outputs:][:b.outputs], t.Offsets[g*b.outputs:][:b.outputs], k)
		moves[j].row = i
	}
	Decide(decisions, Shifted(b.scores, t.Offsets, b.groups, b.outputs), nil)
	now := b.now(decisions)
	s := b.search(decisions, moves)
	s.best, s.price = now, price
	if !s.single(0) {
		return false
	}
	t.Offsets[g*b.outputs+k] -= s.axes[0].at[s.at[0]]
	return true
}

// now returns the result of decisions.
func (b *byGroup) now(decisions []int32) scored {
	d, g := make([]float64, b.rates.Len()), make([]float64, len(b.target.Bounds))
	b.rates.Count(d, decisions)
	b.target.Excess(g, d)
	var s sum
	for j, own := range b.target.Bounds {
		s.add(g[j]-own.Slack, own.Slack, own.Coarse != nil && own.Coarse(d))
	}
	return s.with(b.target.Value(d))
}
