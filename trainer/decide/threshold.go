package decide

import (
	"fmt"
	"math"
	"slices"

	"ppal/internal/paged"
	"ppal/trainer/problem"
)

// Exact is the result of an exact step on counted decisions.
type Exact struct {
	// Offsets are the numbers to add to the scores; with one score, Offsets[0] is minus the
	// threshold.
	Offsets []float64
	// Before and After are the objective on decisions without and with the offsets.
	Before, After float64
	// Violation is the sum of the excesses beyond the slacks with the offsets; 0 if the decisions
	// meet all bounds.
	Violation float64
	// Unjudged says that the decisions exceed a coarse bound.
	Unjudged bool
	// Moved is false if the offsets are all 0.
	Moved bool
}

// Cost returns the increase of the objective by the exact step. The cost is negative if the step
// lowers the objective.
func (e *Exact) Cost() float64 { return e.After - e.Before }

// coarsePrice is the increase of the objective that the exact step accepts so that the decisions
// exceed no coarse bound: half a point. Without a limit, a group of a single row would end in
// decisions that are the same for all rows.
const coarsePrice = 0.005

// priced returns the objective with which results are compared.
func priced(objective float64, unjudged bool) float64 {
	if unjudged {
		return objective + coarsePrice
	}
	return objective
}

// worth returns the objective with which the step's result is compared.
func (e *Exact) worth() float64 { return priced(e.After, e.Unjudged) }

// better reports whether a result is better than another result: a lower violation, or an equal
// violation and a lower objective.
func better(violation, objective, otherViolation, otherObjective float64) bool {
	if math.Abs(violation-otherViolation) > rounding {
		return violation < otherViolation
	}
	return objective < otherObjective-rounding
}

// passes is the largest number of passes over the classes.
const passes = 20

// Offsets finds the offsets of the scores whose decisions meet the bounds with the least objective.
// If no offsets meet the bounds, Offsets minimises the violation. The scores are [n, outputs].
// Two scores whose distance is at most resolution times the largest absolute score count as equal,
// and equal scores get the same decision, so that the decisions survive the rounding of the weights
// with the offsets.
//
// With one score, the offset is minus a threshold. Offsets compares all thresholds: it sorts the
// scores, then moves one row after the other over the threshold and changes the rates of the row's
// entries. The cost is O(n log n + n J) for J bounds.
//
// With C scores, the decision is the class with the largest score plus offset. For scores that are
// logarithms of class probabilities, e^offset is the cost of the errors of a class. A classifier of
// this form minimises a weighted error under bounds on the errors of classes: Tian and Feng,
// "Neyman-Pearson Multi-class Classification via Cost-sensitive Learning", JASA 2025
// (arXiv:2111.04597); Narasimhan, "Learning with Complex Loss Functions and Constraints", AISTATS
// 2018. The search changes one offset at a time. With the other offsets fixed, each row changes its
// decision to the class at a single value of the offset. The search for the offset of a class is
// therefore the search for a threshold, exact on the counted decisions. The search ends when no
// class improves the result, which may be a local optimum, or after 20 passes over the classes. The
// error wraps problem.ErrSettings for wrong lengths, or is a *problem.NonFiniteError for a score.
func Offsets(rates *Rates, target *Target, scores []float64, resolution float64) (*Exact, error) {
	n, outputs := rates.Rows(), rates.Outputs()
	if len(scores) != n*outputs {
		return nil, fmt.Errorf("decide: %w: %d scores for %d rows of %d", problem.ErrSettings, len(scores), n, outputs)
	}
	if i := slices.IndexFunc(scores, func(s float64) bool { return math.IsNaN(s) || math.IsInf(s, 0) }); i >= 0 {
		return nil, &problem.NonFiniteError{Term: fmt.Sprintf("score of row %d", i/outputs+1), Value: scores[i]}
	}
	if err := target.index(rates.Len()); err != nil {
		return nil, err
	}
	largest := 0.0
	for _, s := range scores {
		largest = math.Max(largest, math.Abs(s))
	}
	resolution *= largest
	l := newLine(rates, target)
	defer l.free()
	e := &Exact{Offsets: make([]float64, outputs)}
	decisions, d, g := paged.Vector[int32](rates.pages, n), make([]float64, rates.Len()), make([]float64, len(target.Bounds))
	defer paged.Drop(rates.pages, decisions)
	Decide(decisions, scores, nil)
	rates.Count(d, decisions)
	target.Excess(g, d)
	e.Before, e.Violation = target.Value(d), target.Violation(g)
	e.After = e.Before
	for j, b := range target.Bounds {
		if b.Coarse != nil && b.Coarse(d) {
			l.coarse[j] = true
			e.Unjudged = e.Unjudged || g[j] > rounding
		}
	}
	if outputs == 1 {
		for i, s := range scores {
			l.moves[i] = move{s, int32(i), 0, 1}
		}
		t := l.search(e, resolution)
		e.Offsets[0], e.Moved = 0-t, t != 0
		return e, nil
	}
	for range passes {
		improved := false
		for k := range outputs {
			for i := range n {
				l.moves[i] = against(scores[i*outputs:(i+1)*outputs], e.Offsets, k)
				l.moves[i].row = int32(i)
			}
			if t := l.search(e, resolution); t != 0 {
				e.Offsets[k] -= t
				e.Moved, improved = true, true
			}
		}
		if !improved {
			break
		}
	}
	return e, nil
}

// against returns the move of a row to class k from the best other class. The margin is the
// difference of their scores plus offsets.
func against(scores, offsets []float64, k int) move {
	other := -1
	for j := range scores {
		if j != k && (other < 0 || scores[j]+offsets[j] > scores[other]+offsets[other]) {
			other = j
		}
	}
	return move{margin: scores[k] + offsets[k] - scores[other] - offsets[other], from: int32(other), to: int32(k)}
}

// move describes the decision for a row: class to if the margin is above the threshold, else class
// from.
type move struct {
	margin   float64
	row      int32
	from, to int32
}

// line compares all thresholds of a list of moves.
type line struct {
	rates    *Rates
	target   *Target
	moves    []move
	g        []float64 // excess beyond the slack
	violated int       // number of bounds with an excess beyond the slack
	sum      float64   // sum of the excesses beyond the slacks
	value    float64   // the objective
	coarse   []bool    // the coarse bounds
	unjudged int       // number of coarse bounds that the decisions exceed
	scratch  []int32   // decisions
	order    sorter
}

// newLine returns a line for the rates and the target; the caller sets the moves.
func newLine(rates *Rates, target *Target) *line {
	n := rates.Rows()
	l := &line{rates: rates, target: target, moves: paged.Vector[move](rates.pages, n), g: make([]float64, len(target.Bounds)), coarse: make([]bool, len(target.Bounds)),
		scratch: paged.Vector[int32](rates.pages, n)}
	l.order.radix.Pages = rates.pages
	return l
}

// free removes the memory in pages.
func (l *line) free() {
	paged.Drop(l.rates.pages, l.moves)
	paged.Drop(l.rates.pages, l.scratch)
	l.order.free()
}

// search returns the best threshold t and writes its result to e. On entry, e holds the result of t
// = 0. search returns 0 and leaves e unchanged if no threshold is better than t = 0.
func (l *line) search(e *Exact, resolution float64) (t float64) {
	l.order.descending(l.moves)
	l.reset()
	n := len(l.moves)
	for k := 0; ; k++ { // the k largest margins are above the threshold
		if k == n || k == 0 || l.moves[k-1].margin-l.moves[k].margin > resolution {
			violation := l.sum
			if l.violated == 0 {
				violation = 0
			}
			cut := l.cut(k)
			worth := priced(l.value, l.unjudged > 0)
			if better(violation, worth, e.Violation, e.worth()) ||
				math.Abs(cut) < math.Abs(t) && !better(e.Violation, e.worth(), violation, worth) {
				t, e.Violation, e.After, e.Unjudged = cut, violation, l.value, l.unjudged > 0
			}
		}
		if k == n {
			return t
		}
		l.accept(&l.moves[k])
	}
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

// reset sets the line to the decisions from of all moves.
func (l *line) reset() {
	d := make([]float64, l.rates.Len())
	for _, m := range l.moves {
		l.scratch[m.row] = m.from
	}
	l.rates.Count(d, l.scratch)
	l.target.Excess(l.g, d)
	l.value, l.sum, l.violated, l.unjudged = l.target.Value(d), 0, 0, 0
	for j := range l.g {
		l.g[j] -= l.target.Bounds[j].Slack
		l.unjudged += l.exceeds(j, l.g[j])
		if l.g[j] > rounding {
			l.sum += l.g[j]
			l.violated++
		}
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
		change := 0.0
		switch int32(e.Class) {
		case m.to:
			change = e.Weight
		case m.from:
			change = -e.Weight
		default:
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
			l.unjudged += l.exceeds(j, next) - l.exceeds(j, old)
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
