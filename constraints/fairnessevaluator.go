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
	Terms       []float64 // the smooth terms h of Gaps; else as Constraints
	Constraints []float64 // g, the bounds subtracted

	Error     float64   // 0-1 error, f on decisions: the share of rows whose decision is not their label
	AUC       float64   // area under the ROC curve
	Decisions []float64 // each constraint on decisions, the bound not subtracted
	Hard      []Measure // a summary of Decisions by names
}

// Named are Error, AUC and Hard by their names.
func (m FairnessMeasures) Named() []Measure {
	return append([]Measure{{"error", m.Error}, {"auc", m.AUC}}, m.Hard...)
}

// FairnessEvaluator measures a fairness problem on the host, on one set of
// rows, from all their scores, with the arithmetic of the graph's ops: for
// scores in float64, objective and terms equal the nodes' values bit for bit.
// Once made it does not change.
type FairnessEvaluator struct {
	labels []int
	s      *surrogate
	// constraints fills in Constraints from Terms; decisions fills in Decisions
	// and Hard from what each row's decision and loss are.
	constraints func(m *FairnessMeasures)
	decisions   func(m *FairnessMeasures, rows decided)
}

// decided is what the measures on decisions are made of.
type decided struct {
	positive []bool    // the decisions
	wrong    []float64 // 1 where a decision is not the label, else 0
	losses   []float64 // psi, the constraints' surrogate
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
	rows := decided{positive: make([]bool, len(scores)), wrong: make([]float64, len(scores))}
	total := 0.0
	for i, s := range scores {
		if math.IsNaN(s) || math.IsInf(s, 0) {
			return FairnessMeasures{}, fmt.Errorf("constraints: the score of row %d is %v", i, s)
		}
		rows.positive[i] = s > 0
		if rows.positive[i] != (e.labels[i] > 0) {
			rows.wrong[i] = 1
			total++
		}
	}
	m := FairnessMeasures{Error: total / float64(len(scores)), AUC: areaUnderCurve(scores, e.labels)}
	m.Objective, m.Terms, rows.losses = e.s.values(scores)
	e.constraints(&m)
	e.decisions(&m, rows)
	return m, nil
}

// NewEvaluator returns an evaluator of the problem on the rows. A group without
// rows is ErrEmptyGroup; one without rows of a label that a gap is over, and
// rows of one label alone, are ErrEmptyClass.
//
// Hard is dp_gap, the size of the difference of the groups' shares of positive
// decisions, and for equalized odds tpr_gap and fpr_gap, the same among the rows
// with label +1 and -1.
func (p *Gaps) NewEvaluator(rows Rows) (*FairnessEvaluator, error) {
	s, err := p.on(rows, Absolute)
	if err != nil {
		return nil, err
	}
	e, err := newFairnessEvaluator(rows, s)
	if err != nil {
		return nil, err
	}
	sides := make([][2][]int, len(p.gaps))
	for t, g := range p.gaps {
		if sides[t], err = g.sides(rows); err != nil {
			return nil, err
		}
	}
	parity, err := gap{}.sides(rows)
	if err != nil {
		return nil, err
	}
	e.constraints = func(m *FairnessMeasures) { m.Constraints = p.form.values(m.Terms, p.eps) }
	e.decisions = func(m *FairnessMeasures, rows decided) {
		m.Hard = append(m.Hard, Measure{"dp_gap", math.Abs(rows.gap(parity))})
		gaps := make([]float64, len(p.gaps))
		for t, g := range p.gaps {
			gaps[t] = rows.gap(sides[t])
			if g.label != 0 {
				m.Hard = append(m.Hard, Measure{g.measure, math.Abs(gaps[t])})
			}
		}
		m.Decisions = p.form.values(gaps, make([]float64, len(gaps)))
	}
	return e, nil
}

// gap is the difference of the shares of positive decisions.
func (d decided) gap(sides [2][]int) float64 { return d.share(sides[0]) - d.share(sides[1]) }

// share is that of the rows whose decision is positive.
func (d decided) share(rows []int) float64 {
	n := 0
	for _, i := range rows {
		if d.positive[i] {
			n++
		}
	}
	return float64(n) / float64(len(rows))
}
