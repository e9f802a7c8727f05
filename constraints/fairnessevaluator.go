package constraints

import (
	"fmt"
	"math"
)

// Measure is a named number of a problem on a set of rows.
type Measure struct {
	Name  string
	Value float64
}

// FairnessMeasures are a fairness problem's values on a set of rows, in
// float64: those of its surrogates and, beside them, what they stand for. A
// row's decision is positive where its score is above 0.
type FairnessMeasures struct {
	Objective   float64   // f
	Terms       []float64 // the smooth terms: gaps h, or a group problem's constraints
	Constraints []float64 // g, the bounds subtracted

	Error float64   // 0-1 error: the share of rows whose decision is not their label
	AUC   float64   // area under the ROC curve
	Hard  []Measure // the constraints' measures on decisions
}

// Named are Error, AUC and Hard by their names.
func (m FairnessMeasures) Named() []Measure {
	return append([]Measure{{"error", m.Error}, {"auc", m.AUC}}, m.Hard...)
}

// FairnessEvaluator measures a fairness problem on the host, on one set of
// rows, from all their scores, with the arithmetic of the graph's ops: for
// scores in float64, objective and terms equal the nodes' values bit for bit.
// It may not be used by several goroutines at once.
type FairnessEvaluator struct {
	labels []int
	s      *surrogate
	// constraints returns g at the terms, hard the measures on decisions:
	// positive[i] is row i's, wrong[i] 1 where it is not the label, else 0.
	constraints func(terms []float64) []float64
	hard        func(positive []bool, wrong, rates []float64) []Measure
}

func newFairnessEvaluator(rows Rows, s *surrogate) (*FairnessEvaluator, error) {
	count := map[int]int{}
	for _, y := range rows.Labels {
		count[y]++
	}
	for _, y := range []int{-1, 1} {
		if count[y] == 0 {
			return nil, fmt.Errorf("%w: no %s row among %d", ErrEmptyClass, sign(y), len(rows.Labels))
		}
	}
	return &FairnessEvaluator{labels: append([]int(nil), rows.Labels...), s: s}, nil
}

// Measures returns the measures for the rows' scores. A score that is not finite
// is an error that names the row.
func (e *FairnessEvaluator) Measures(scores []float64) (FairnessMeasures, error) {
	if len(scores) != len(e.labels) {
		return FairnessMeasures{}, fmt.Errorf("constraints: %d scores for %d rows", len(scores), len(e.labels))
	}
	positive, wrong := make([]bool, len(scores)), make([]float64, len(scores))
	total := 0.0
	for i, s := range scores {
		if math.IsNaN(s) || math.IsInf(s, 0) {
			return FairnessMeasures{}, fmt.Errorf("constraints: the score of row %d is %v", i, s)
		}
		positive[i] = s > 0
		if positive[i] != (e.labels[i] > 0) {
			wrong[i] = 1
			total++
		}
	}
	f, terms, rates := e.s.values(scores)
	return FairnessMeasures{
		Objective:   f,
		Terms:       terms,
		Constraints: e.constraints(terms),
		Error:       total / float64(len(scores)),
		AUC:         areaUnderCurve(scores, e.labels),
		Hard:        e.hard(positive, wrong, rates),
	}, nil
}

// NewEvaluator returns an evaluator of the problem on the rows. A group without
// rows is ErrEmptyGroup; one without rows of a label that a gap is over, and
// rows of one label alone, are ErrEmptyClass.
//
// Hard is dp_gap, the size of the difference of the groups' shares of positive
// decisions, for equalized odds then tpr_gap and fpr_gap, the same among the
// rows with label +1 and -1.
func (p *Gaps) NewEvaluator(rows Rows) (*FairnessEvaluator, error) {
	s, err := p.on(rows, Absolute)
	if err != nil {
		return nil, err
	}
	e, err := newFairnessEvaluator(rows, s)
	if err != nil {
		return nil, err
	}
	gaps := p.gaps
	if gaps[0].label != 0 {
		gaps = append([]gap{{measure: "dp_gap"}}, gaps...)
	}
	sides := make([][2][]int, len(gaps))
	for t, g := range gaps {
		if sides[t], err = g.sides(rows); err != nil {
			return nil, err
		}
	}
	e.constraints = func(h []float64) []float64 { return p.form.values(h, p.eps) }
	e.hard = func(positive []bool, _, _ []float64) []Measure {
		list := make([]Measure, len(gaps))
		for t, g := range gaps {
			list[t] = Measure{g.measure, math.Abs(share(positive, sides[t][0]) - share(positive, sides[t][1]))}
		}
		return list
	}
	return e, nil
}

// share is that of the rows whose decision is positive.
func share(positive []bool, rows []int) float64 {
	n := 0
	for _, i := range rows {
		if positive[i] {
			n++
		}
	}
	return float64(n) / float64(len(rows))
}
