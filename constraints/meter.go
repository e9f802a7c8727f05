package constraints

import (
	"fmt"
	"math"
	"runtime"
)

// Meter computes the values of Sample for many scores of the same rows: Decide, Smooth and
// CountWith, to the bit. A Meter keeps its memory, so that it is faster than a Sample, and is not
// safe for concurrent use.
type Meter struct {
	s *Sample
	// kind is the kind of each row. Rows of a kind belong to the same cells with the same targets.
	kind []int32
	// hits lists, for each cell, the kinds of the cell's rows with the decisions that count.
	hits [][]kindHit
	// chances holds the probabilities of both classes of a block, row by row, and losses the losses
	// of the rows; nil: no cell is a loss. counts holds the numbers of rows of each kind that are
	// decided to be of each class.
	chances, losses []float64
	counts          []int
	masses          []mass // of the rows of each kind, as counts; nil: the rows have no weights
	next            []int  // next position in each cell's rows
}

// meterBlock returns the number of rows whose probabilities a Meter of n rows holds at a time: each
// core computes some of them.
func meterBlock(n int) int { return max(1, min(n, leastPart*runtime.GOMAXPROCS(0))) }

// kindHit says that a decision counts on the rows of a kind.
type kindHit struct{ kind, decision int32 }

// Meter returns a meter for rows of two classes with one score, or nil for other rows and pairs.
func (s *Sample) Meter() *Meter {
	n := s.p.Len()
	if len(s.p.Classes) != 2 || s.ranked != nil {
		return nil
	}
	m := &Meter{s: s, kind: make([]int32, n), chances: make([]float64, 2*meterBlock(n)),
		hits: make([][]kindHit, len(s.cells)), next: make([]int, len(s.cells))}
	kinds := int32(1)
	states := make([]uint8, n) // of one cell: 0 for no decision that counts, else 1 + the decision
	for k := range s.cells {
		cell := &s.cells[k]
		if cell.loss {
			m.losses = make([]float64, meterBlock(n))
			continue
		}
		clear(states)
		for _, i := range cell.rows {
			states[i] = uint8(cell.targetOf(i) + 1)
		}
		refined := make([]int32, 3*kinds) // the new kind of each kind and state; 0: none so far
		next := int32(0)
		for i, state := range states {
			at := 3*m.kind[i] + int32(state)
			if refined[at] == 0 {
				next++
				refined[at] = next
			}
			m.kind[i] = refined[at] - 1
		}
		kinds = next
	}
	listed := make([]int, kinds) // 1 + the last cell that lists the kind
	for k := range s.cells {
		cell := &s.cells[k]
		for _, i := range cell.rows {
			kind, decision := m.kind[i], int32(cell.targetOf(i))
			if cell.loss || decision < 0 || listed[kind] == k+1 {
				continue
			}
			listed[kind] = k + 1
			if cell.missed {
				decision = 1 - decision
			}
			m.hits[k] = append(m.hits[k], kindHit{kind, decision})
		}
	}
	m.counts = make([]int, 2*kinds)
	if s.p.Weights != nil {
		m.masses = make([]mass, 2*kinds)
	}
	return m
}

// Measure computes the smooth objective and rates of the scores, and counts their decisions.
// parameters are the terms of System after the rates. Measure returns an error if the number of
// scores is wrong or a score is NaN.
func (m *Meter) Measure(scores, parameters []float64) (objective float64, smooth []float64, counted Counted, err error) {
	s := m.s
	if len(scores) != len(m.kind) {
		return 0, nil, Counted{}, fmt.Errorf("constraints: %d scores for %d rows of one score", len(scores), len(m.kind))
	}
	clear(m.counts)
	clear(m.masses)
	if s.system.Margins != nil {
		if objective, smooth, err = s.smoothMargins(scores); err == nil {
			err = m.count(scores, 0, len(scores))
		}
	} else {
		objective, smooth, err = m.smooth(scores)
	}
	if err != nil {
		return 0, nil, Counted{}, err
	}
	smooth = append(smooth, parameters...)
	counted, err = s.counted(func(k int) (hits mass) {
		for _, h := range m.hits[k] {
			hits = hits.plus(m.massAt(int(2*h.kind + h.decision)))
		}
		return hits
	}, m.accepted(), smooth)
	return objective, smooth, counted, err
}

// smooth is Sample.Smooth without margins. It counts the decisions, too.
func (m *Meter) smooth(scores []float64) (objective float64, smooth []float64, err error) {
	s := m.s
	clear(m.next)
	smooth = make([]float64, len(s.cells))
	block := len(m.chances) / 2
	for from := 0; from < len(scores); from += block {
		to := min(from+block, len(scores))
		inParts(to-from, func(first, end int) { m.chance(scores, from, from+first, from+end) })
		if err := m.count(scores, from, to); err != nil {
			return 0, nil, err
		}
		for k := range s.cells {
			smooth[k] = m.add(smooth[k], k, from, to)
		}
	}
	for k := range s.cells {
		if n := s.cells[k].total; n > 0 {
			smooth[k] /= n
		}
	}
	return s.system.objective.value(smooth), smooth, nil
}

// chance sets the probabilities and the losses of rows [first, end) of the block that begins at row
// from.
func (m *Meter) chance(scores []float64, from, first, end int) {
	for i := first; i < end; i++ {
		// Both probabilities and the loss follow from one exponential, by the formulas of Phi.Value.
		score := scores[i]
		e := math.Exp(-math.Abs(score))
		own, class := m.chances[2*(i-from):][:2], decided(score)
		own[class], own[1-class] = 1/(1+e), e/(1+e)
		if m.losses != nil {
			m.losses[i-from] = Logistic.valueWith(float64(2*m.s.p.Labels[i]-1)*score, e)
		}
	}
}

// decided returns the class that a score decides, without a branch: the signs of scores are hard to
// predict.
func decided(score float64) (class int) {
	if score > 0 {
		class = 1
	}
	return class
}

// count counts the decisions of rows [from, to).
func (m *Meter) count(scores []float64, from, to int) error {
	for i, score := range scores[from:to] {
		if math.IsNaN(score) {
			return fmt.Errorf("constraints: score 0 of row %d is NaN", from+i)
		}
		at := 2*int(m.kind[from+i]) + decided(score)
		m.counts[at]++
		if m.masses != nil {
			m.masses[at].add(m.s.p.Weights[from+i])
		}
	}
	return nil
}

// add adds the probabilities or losses of the rows [from, to) of cell k to sum, in the order of
// Sample.Smooth.
func (m *Meter) add(sum float64, k, from, to int) float64 {
	cell := &m.s.cells[k]
	rows := cell.rows[m.next[k]:]
	n := 0
	for n < len(rows) && int(rows[n]) < to {
		n++
	}
	rows = rows[:n]
	m.next[k] += n
	switch {
	case cell.weights != nil:
		for _, i := range rows {
			if t := cell.targetOf(i); cell.loss {
				sum += cell.weights[i] * m.losses[int(i)-from]
			} else if t >= 0 {
				sum += cell.weights[i] * m.chances[2*(int(i)-from)+t]
			}
		}
	case cell.loss:
		for _, i := range rows {
			sum += m.losses[int(i)-from]
		}
	case cell.target >= 0 && cell.joint == jointNone:
		for _, i := range rows {
			sum += m.chances[2*(int(i)-from)+cell.target]
		}
	default:
		for _, i := range rows {
			if t := cell.targetOf(i); t >= 0 {
				sum += m.chances[2*(int(i)-from)+t]
			}
		}
	}
	return sum
}

// accepted returns the weight of the rows that are decided to be of each class.
func (m *Meter) accepted() []float64 {
	accepted := make([]float64, 2)
	for at := range m.counts {
		accepted[at%2] += m.massAt(at).total
	}
	return accepted
}

// massAt returns the rows of an element of counts.
func (m *Meter) massAt(at int) mass {
	if m.masses != nil {
		return m.masses[at]
	}
	n := m.counts[at]
	return mass{n, float64(n), float64(n)}
}
