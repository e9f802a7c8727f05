package decide

import (
	"fmt"
	"math"
	"slices"

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
// entries. It leaves out stretches of rows in which bounds on the rates show that no threshold is
// better. The cost is O(n log n), and O(n J) for J bounds in the worst case.
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
	return newLine(rates, target).offsets(scores, resolution)
}

// offsets is Offsets in the memory of the line.
func (l *line) offsets(scores []float64, resolution float64) (*Exact, error) {
	rates, target, decisions := l.rates, l.target, l.scratch
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
	e := &Exact{Offsets: make([]float64, outputs)}
	Decide(decisions, scores, nil)
	rates.Count(l.d, decisions)
	l.hasCoarse = false
	for j, b := range target.Bounds {
		l.coarse[j] = b.Coarse != nil && b.Coarse(l.d)
		l.hasCoarse = l.hasCoarse || l.coarse[j]
	}
	l.settle()
	e.Before, e.After, e.Violation, e.Unjudged = l.value, l.value, l.violation(), l.unjudged > 0
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
