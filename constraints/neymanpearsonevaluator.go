package constraints

import (
	"fmt"
	"math"
)

// Measures are the values of a problem on a set of rows, in float64.
type Measures struct {
	Objective   float64   // f
	Constraints []float64 // g [C-1], the bounds subtracted
	Losses      []float64 // mean surrogate loss of each class [C]: f, then g + kappa
	// 0-1 error of each class [C]: the share of the class's misclassified rows
	Errors []float64
	Rows   []int // rows of each class [C]
}

// Evaluator measures a NeymanPearson problem on the host in float64, from scores that arrive in
// blocks of rows. It uses the arithmetic of the graph's ops: for float64 scores, objective and
// constraints equal the nodes' values bit for bit.
//
// A row is classified by its largest score, the lowest index among equal scores. A row whose scores
// are all equal is classified as the first class.
type Evaluator struct {
	problem *NeymanPearson
	losses  []float64 // sums
	wrong   []int
	rows    []int
	seen    int
}

// NewEvaluator returns an evaluator that has seen no rows.
func (p *NeymanPearson) NewEvaluator() *Evaluator {
	c := len(p.classes)
	return &Evaluator{problem: p, losses: make([]float64, c), wrong: make([]int, c), rows: make([]int, c)}
}

// Add adds a block of rows: scores [len(labels), C], row-major, and the rows' classes as indices
// into Classes. It returns an error if a score is NaN or a label is out of range; the error names
// the row, counted from the first Add, and leaves the evaluator unchanged.
func (e *Evaluator) Add(scores []float64, labels []int) error {
	c := len(e.problem.classes)
	if len(scores) != len(labels)*c {
		return fmt.Errorf("constraints: %d scores for %d rows of %d classes", len(scores), len(labels), c)
	}
	for i, label := range labels {
		if label < 0 || label >= c {
			return fmt.Errorf("constraints: row %d has label %d, want 0..%d", e.seen+i, label, c-1)
		}
		for j, s := range scores[i*c:][:c] {
			if math.IsNaN(s) {
				return fmt.Errorf("constraints: row %d: the score of class %q is NaN", e.seen+i, e.problem.classes[j])
			}
		}
	}
	for i, label := range labels {
		row := scores[i*c:][:c]
		e.losses[label] += rowLoss(e.problem.phi, row, label)
		e.rows[label]++
		if argmax(row) != label {
			e.wrong[label]++
		}
	}
	e.seen += len(labels)
	return nil
}

// Measures returns the measures of all rows added so far, or ErrEmptyGroup if a class has no rows.
// With Logistic or Hinge, infinite scores make a loss +Inf.
func (e *Evaluator) Measures() (Measures, error) {
	c := len(e.problem.classes)
	m := Measures{
		Constraints: make([]float64, c-1),
		Losses:      make([]float64, c),
		Errors:      make([]float64, c),
		Rows:        append([]int(nil), e.rows...),
	}
	for k, n := range e.rows {
		if n == 0 {
			return Measures{}, fmt.Errorf("%w: class %q", ErrEmptyGroup, e.problem.classes[k])
		}
		m.Losses[k] = e.losses[k] / float64(n)
		m.Errors[k] = float64(e.wrong[k]) / float64(n)
	}
	m.Objective = m.Losses[0]
	for k, b := range e.problem.bounds {
		m.Constraints[k] = m.Losses[k+1] - b
	}
	return m, nil
}

// argmax returns the index of the largest element, the lowest index among equal elements.
func argmax(row []float64) int {
	best := 0
	for j, s := range row {
		if s > row[best] {
			best = j
		}
	}
	return best
}
