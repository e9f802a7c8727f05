package decide

import (
	"cmp"
	"math"
	"slices"
)

// move describes the decision for a row: class to if the margin is above the threshold, else class
// from.
type move struct {
	margin   float64
	row      int32
	from, to int32
}

// line compares all thresholds of a list of moves.
type line struct {
	rates     *Rates
	target    *Target
	moves     []move
	d         []float64 // the rates
	g         []float64 // excess beyond the slack
	violated  int       // number of bounds with an excess beyond the slack
	sum       float64   // sum of the excesses beyond the slacks
	value     float64   // the objective
	coarse    []bool    // the coarse bounds
	hasCoarse bool
	unjudged  int     // number of coarse bounds that the decisions exceed
	scratch   []int32 // decisions
	order     sorter

	stretches        []stretch
	starts           []float64 // the rates at the start of each stretch, one after the other
	ranges           []float64 // the least and the largest rates over a stretch, one after the other
	constants, slack []float64 // constant - bound of each bound, and its slack

	best       *Exact
	at         float64 // the threshold of best
	resolution float64
}

// stretch is a range of moves. Its thresholds are those with from to to-1 moves above them. The
// ranges of the rates give lower bounds for these thresholds.
type stretch struct {
	from, to         int
	start            int     // place of its rates in line.starts
	violation, worth float64 // lower bounds for all of its thresholds
}

// newLine returns a line for the rates and the target; the caller sets the moves.
func newLine(rates *Rates, target *Target) *line {
	n := rates.Rows()
	l := &line{rates: rates, target: target, moves: make([]move, n), g: make([]float64, len(target.Bounds)), coarse: make([]bool, len(target.Bounds)),
		scratch: make([]int32, n),
		d:       make([]float64, rates.Len()), ranges: make([]float64, 2*rates.Len())}
	for j := range target.Bounds {
		b := &target.Bounds[j]
		l.constants, l.slack = append(l.constants, b.Constant-b.Bound), append(l.slack, b.Slack)
	}
	return l
}

// search returns the best threshold t and writes its result to e. On entry, e holds the result of t
// = 0. search returns 0 and leaves e unchanged if no threshold is better than t = 0.
//
// search takes the moves in stretches, the most promising first. Where the ranges of the rates over
// a stretch exclude a better threshold, it does not update the bounds for each move.
func (l *line) search(e *Exact, resolution float64) (t float64) {
	l.order.descending(l.moves)
	l.best, l.at, l.resolution = e, 0, resolution
	l.start()
	l.survey()
	end := slices.Clone(l.d)
	slices.SortStableFunc(l.stretches, func(a, b stretch) int {
		return cmp.Or(cmp.Compare(a.violation, b.violation), cmp.Compare(a.worth, b.worth))
	})
	for _, s := range l.stretches {
		if !l.promising(&s) {
			continue
		}
		copy(l.d, l.starts[s.start:])
		l.settle()
		for k := s.from; k < s.to; k++ {
			l.try(k)
			l.accept(&l.moves[k])
		}
	}
	copy(l.d, end)
	l.settle()
	l.try(len(l.moves))
	return l.at
}

// A stretch has at least leastStretch moves, and one for every boundsPerMove bounds: updating the
// bounds of so many moves takes longer than computing all bounds once.
const (
	leastStretch  = 256
	boundsPerMove = 8
)

// try makes the threshold with the k largest margins above it the best one if it is better, or
// equally good and closer to 0. Of two thresholds at the same distance, the positive one is taken.
// The threshold must not separate margins within the resolution.
func (l *line) try(k int) {
	if k > 0 && k < len(l.moves) && !(l.moves[k-1].margin-l.moves[k].margin > l.resolution) {
		return
	}
	e, cut, violation := l.best, l.cut(k), l.violation()
	worth := priced(l.value, l.unjudged > 0)
	closer := math.Abs(cut) < math.Abs(l.at) || math.Abs(cut) == math.Abs(l.at) && cut > l.at
	if better(violation, worth, e.Violation, e.worth()) || closer && !better(e.Violation, e.worth(), violation, worth) {
		l.at, e.Violation, e.After, e.Unjudged = cut, violation, l.value, l.unjudged > 0
	}
}

// slip is more than the rounding errors of the least values of a stretch.
const slip = rounding / 1000

// survey lists the stretches that may have a better threshold than 0, and moves d to the rates
// after all moves.
func (l *line) survey() {
	l.stretches, l.starts = l.stretches[:0], l.starts[:0]
	n, most := len(l.moves), max(leastStretch, len(l.g)/boundsPerMove)
	for from := 0; from < n; from += most {
		s := stretch{from: from, to: min(from+most, n), start: len(l.starts)}
		l.starts = append(l.starts, l.d...)
		s.worth = l.pass(&s) - slip
		if !l.mayEqual(&s) && l.best.Violation <= rounding {
			l.starts = l.starts[:s.start]
			continue
		}
		s.violation = l.leastViolation() - slip
		l.stretches = append(l.stretches, s)
	}
}

// pass moves d over the moves of s, sets the ranges of the rates, and returns the least objective.
func (l *line) pass(s *stretch) (least float64) {
	low, high := l.atOnce()
	value, coefficients := l.target.Value(l.d), l.target.Objective.Coefficients
	least = value
	for i := range l.moves[s.from:s.to] {
		m := &l.moves[s.from+i]
		least = min(least, value)
		weight := l.rates.weight(m.row)
		for _, e := range l.rates.kinds[l.rates.kind[m.row]] {
			change := weight * m.change(e)
			r := e.Rate
			now := l.d[r] + change
			l.d[r], low[r], high[r] = now, min(low[r], now), max(high[r], now)
			value += change * coefficients[r]
		}
	}
	return least
}

// promising reports whether try may choose a threshold of s.
func (l *line) promising(s *stretch) bool {
	return s.violation < l.best.Violation-rounding || s.violation <= l.best.Violation+rounding && l.mayEqual(s)
}

// mayEqual reports whether try may choose a threshold of s with the violation of the best one.
func (l *line) mayEqual(s *stretch) bool {
	worth := l.best.worth()
	return s.worth < worth-rounding || s.worth <= worth+rounding && l.nearest(s.from, s.to) <= math.Abs(l.at)
}

// nearest returns a lower bound of |cut(k)| for k from from to to-1.
func (l *line) nearest(from, to int) float64 {
	low, high := l.moves[to-1].margin, math.Inf(1)
	if from > 0 {
		high = l.moves[from-1].margin
	}
	return max(low, -high, 0)
}

// change returns the change of the rate of an entry of the move's row, for a row of weight 1.
func (m *move) change(e Entry) float64 {
	switch int32(e.Class) {
	case m.to:
		return e.Weight
	case m.from:
		return -e.Weight
	}
	return 0
}

// cut returns a threshold below the k largest margins and above the other margins: the middle
// between the two nearest margins, or 1 beyond the last margin at either end.
func (l *line) cut(k int) float64 {
	n := len(l.moves)
	low, high := math.Inf(-1), math.Inf(1)
	if k > 0 {
		high = l.moves[k-1].margin
	}
	if k < n {
		low = l.moves[k].margin
	}
	switch k {
	case 0:
		return low + 1
	case n:
		return high - 1
	}
	return low + (high-low)/2
}

// start sets d to the rates of the decisions from of all moves.
func (l *line) start() {
	for _, m := range l.moves {
		l.scratch[m.row] = m.from
	}
	l.rates.Count(l.d, l.scratch)
}

// settle sets the line to the rates d.
func (l *line) settle() {
	l.atOnce()
	l.value, l.sum, l.violated, l.unjudged = l.target.Value(l.d), 0, 0, 0
	for j := range l.g {
		g := l.least(j)
		l.g[j] = g
		if l.hasCoarse {
			l.unjudged += l.exceeds(j, g)
		}
		if g > rounding {
			l.sum += g
			l.violated++
		}
	}
}

// atOnce sets the ranges to the rates d, and returns the least and the largest rates.
func (l *line) atOnce() (low, high []float64) {
	low, high = l.ranges[:len(l.d)], l.ranges[len(l.d):]
	copy(low, l.d)
	copy(high, l.d)
	return low, high
}

// violation returns the sum of the excesses beyond the slacks, without the rounding errors of the
// sum if no bound is exceeded.
func (l *line) violation() float64 {
	if l.violated == 0 {
		return 0
	}
	return l.sum
}

// least returns the least excess of bound j beyond the slack for rates in the ranges.
func (l *line) least(j int) float64 {
	return l.constants[j] + l.target.terms[j].value(l.ranges) - l.slack[j]
}

// leastViolation returns the least sum of the excesses beyond the slacks for rates in the ranges.
func (l *line) leastViolation() float64 {
	sum := 0.0
	for j := range l.g {
		if g := l.least(j); g > rounding {
			sum += g
		}
	}
	return sum
}

// exceeds returns 1 if bound j is coarse and exceeded, else 0. g is the excess beyond the slack.
func (l *line) exceeds(j int, g float64) int {
	if l.coarse[j] && g > rounding-l.target.Bounds[j].Slack {
		return 1
	}
	return 0
}

// accept changes the decision of a row from class from to class to, and updates the line.
func (l *line) accept(m *move) {
	weight := l.rates.weight(m.row)
	for _, e := range l.rates.kinds[l.rates.kind[m.row]] {
		change := weight * m.change(e)
		if change == 0 {
			continue
		}
		l.value += change * l.target.Objective.Coefficients[e.Rate]
		from, to := l.target.starts[e.Rate], l.target.starts[e.Rate+1]
		g, rows, values := l.g, l.target.rows[from:to], l.target.values[from:to]
		sum, violated := l.sum, l.violated
		for k, j := range rows {
			old := g[j]
			next := old + change*values[k]
			g[j] = next
			if l.hasCoarse {
				l.unjudged += l.exceeds(int(j), next) - l.exceeds(int(j), old)
			}
			if old <= rounding && next <= rounding {
				continue
			}
			if old > rounding {
				sum -= old
				violated--
			}
			if next > rounding {
				sum += next
				violated++
			}
		}
		l.sum, l.violated = sum, violated
	}
}
