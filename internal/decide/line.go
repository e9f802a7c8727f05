package decide

import (
	"math"
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

	// of promising: the rates after a stretch, their ranges, and the least excesses
	after, low, high, least []float64

	best       *Exact
	at         float64 // the threshold of best
	resolution float64
}

// newLine returns a line for the rates and the target; the caller sets the moves.
func newLine(rates *Rates, target *Target) *line {
	n := rates.Rows()
	l := &line{rates: rates, target: target, moves: make([]move, n), g: make([]float64, len(target.Bounds)), coarse: make([]bool, len(target.Bounds)),
		scratch: make([]int32, n),
		least:   make([]float64, len(target.Bounds))}
	for _, d := range []*[]float64{&l.d, &l.after, &l.low, &l.high} {
		*d = make([]float64, rates.Len())
	}
	return l
}

// search returns the best threshold t and writes its result to e. On entry, e holds the result of t
// = 0. search returns 0 and leaves e unchanged if no threshold is better than t = 0.
//
// search takes the moves in stretches. Where the ranges of the rates over a stretch exclude a
// better threshold, it does not update the bounds for each move.
func (l *line) search(e *Exact, resolution float64) (t float64) {
	l.order.descending(l.moves)
	l.best, l.at, l.resolution = e, 0, resolution
	l.start()
	n, settled := len(l.moves), false
	most := max(leastStretch, len(l.g)/boundsPerMove)
	for from := 0; from < n; from += most {
		to := min(from+most, n)
		if l.promising(from, to) {
			if !settled {
				l.settle()
			}
			for k := from; k < to; k++ {
				l.try(k)
				l.accept(&l.moves[k])
			}
			settled = true
		} else {
			settled = false
		}
		l.d, l.after = l.after, l.d
	}
	if !settled {
		l.settle()
	}
	l.try(n)
	return l.at
}

// A stretch has at least leastStretch moves, and one for every boundsPerMove bounds: updating the
// bounds of so many moves takes longer than computing all bounds once.
const (
	leastStretch  = 256
	boundsPerMove = 8
)

// try makes the threshold with the k largest margins above it the best one if it is better. The
// threshold must not separate margins within the resolution.
func (l *line) try(k int) {
	if k > 0 && k < len(l.moves) && !(l.moves[k-1].margin-l.moves[k].margin > l.resolution) {
		return
	}
	e, cut, violation := l.best, l.cut(k), l.violation()
	worth := priced(l.value, l.unjudged > 0)
	if better(violation, worth, e.Violation, e.worth()) ||
		math.Abs(cut) < math.Abs(l.at) && !better(e.Violation, e.worth(), violation, worth) {
		l.at, e.Violation, e.After, e.Unjudged = cut, violation, l.value, l.unjudged > 0
	}
}

// slip is more than the rounding errors of the least values of promising.
const slip = rounding / 1000

// promising reports whether try may choose a threshold with from to to-1 moves above it. d holds
// the rates with from moves, and promising sets after to those with to moves. It compares the least
// objective over these moves, and the least violation for the ranges of the rates.
func (l *line) promising(from, to int) bool {
	copy(l.after, l.d)
	copy(l.low, l.d)
	copy(l.high, l.d)
	value := l.target.Value(l.d)
	worth, coefficients := value, l.target.Objective.Coefficients
	for i := range l.moves[from:to] {
		m := &l.moves[from+i]
		worth = min(worth, value)
		for _, e := range l.rates.kinds[l.rates.kind[m.row]] {
			change := m.change(e)
			r := e.Rate
			now := l.after[r] + change
			l.after[r], l.low[r], l.high[r] = now, min(l.low[r], now), max(l.high[r], now)
			value += change * coefficients[r]
		}
	}
	e := l.best
	worth -= slip
	equal := worth < e.worth()-rounding || worth <= e.worth()+rounding && l.nearest(from, to) < math.Abs(l.at) // is enough at an equal violation
	if !equal && e.Violation <= rounding {
		return false
	}
	l.excesses(l.least, l.low, l.high)
	violation := -slip
	for _, g := range l.least {
		if g > rounding {
			violation += g
		}
	}
	return violation < e.Violation-rounding || equal && violation <= e.Violation+rounding
}

// nearest returns a lower bound of |cut(k)| for k from from to to-1.
func (l *line) nearest(from, to int) float64 {
	low, high := l.moves[to-1].margin, math.Inf(1)
	if from > 0 {
		high = l.moves[from-1].margin
	}
	return max(low, -high, 0)
}

// change returns the change of the rate of an entry of the move's row.
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
	l.excesses(l.g, l.d, l.d)
	l.value, l.sum, l.violated, l.unjudged = l.target.Value(l.d), 0, 0, 0
	for j, g := range l.g {
		l.unjudged += l.exceeds(j, g)
		if g > rounding {
			l.sum += g
			l.violated++
		}
	}
}

// violation returns the sum of the excesses beyond the slacks, without the rounding errors of the
// sum if no bound is exceeded.
func (l *line) violation() float64 {
	if l.violated == 0 {
		return 0
	}
	return l.sum
}

// excesses sets g to the least excesses beyond the slacks of rates between low and high.
func (l *line) excesses(g, low, high []float64) {
	t := l.target
	clear(g)
	for r := range low {
		for k := t.starts[r]; k < t.starts[r+1]; k++ {
			if c := t.values[k]; c > 0 {
				g[t.rows[k]] += c * low[r]
			} else {
				g[t.rows[k]] += c * high[r]
			}
		}
	}
	for j := range g {
		b := &t.Bounds[j]
		g[j] = b.Constant - b.Bound + g[j] - b.Slack
	}
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
	for _, e := range l.rates.kinds[l.rates.kind[m.row]] {
		change := m.change(e)
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
				l.unjudged += l.exceeds(j, next) - l.exceeds(j, old)
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
