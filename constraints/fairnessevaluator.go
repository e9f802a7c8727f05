package constraints

import (
	"fmt"
	"math"
	"slices"
)

// NamedMeasure is a named number of a problem on a set of rows.
type NamedMeasure struct {
	Name  string
	Value float64
}

// FairnessMeasures are the values of a fairness problem on a set of rows, in float64: the
// surrogates' values, and the values on decisions, which the surrogates approximate. A row's
// decision is positive if its score is above 0.
type FairnessMeasures struct {
	Objective   float64   // f
	Terms       []float64 // the smooth terms h of Gaps; for other problems equal to Constraints
	Constraints []float64 // g, with the bounds subtracted

	Error     float64        // 0-1 error: the share of rows whose decision differs from their label
	AUC       float64        // area under the ROC curve
	Decisions []float64      // each constraint evaluated on decisions, without subtracting the bound
	Hard      []NamedMeasure // a summary of Decisions, by name
}

// Named returns Error, AUC and Hard as a list of named measures.
func (m FairnessMeasures) Named() []NamedMeasure {
	return append([]NamedMeasure{{"error", m.Error}, {"auc", m.AUC}}, m.Hard...)
}

// FairnessEvaluator measures a fairness problem on the host, on one set of rows, from the scores of
// all rows. It uses the arithmetic of the graph's ops: for float64 scores, objective and terms
// equal the nodes' values bit for bit. An evaluator is immutable.
type FairnessEvaluator struct {
	labels []int
	s      *fairnessOps
	// constraints computes Constraints from Terms; decisions computes Decisions and Hard from the
	// decision and loss of each row.
	constraints func(m *FairnessMeasures)
	decisions   func(m *FairnessMeasures, rows decided)
}

// decided holds the per-row inputs of the measures on decisions.
type decided struct {
	positive []bool    // the decisions
	wrong    []float64 // 1 if the decision differs from the label, else 0
	losses   []float64 // psi, the surrogate of the constraints
}

func newFairnessEvaluator(rows Rows, s *fairnessOps) (*FairnessEvaluator, error) {
	for _, y := range []int{-1, 1} {
		if !slices.Contains(rows.Labels, y) {
			return nil, fmt.Errorf("%w: no %s row among %d", ErrEmptyClass, sign(y), len(rows.Labels))
		}
	}
	return &FairnessEvaluator{labels: append([]int(nil), rows.Labels...), s: s}, nil
}

// Measures returns the measures for the rows' scores. If a score is not finite, the error names the
// row.
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
	m := FairnessMeasures{Error: total / float64(len(scores))}
	concurrently(func() { m.AUC = areaUnderCurve(scores, e.labels) }, func() { m.Objective, m.Terms, rows.losses = e.s.values(scores) })
	e.constraints(&m)
	e.decisions(&m, rows)
	return m, nil
}

// NewEvaluator returns an evaluator of the problem on the rows. It returns ErrEmptyGroup if a group
// has no rows, and ErrEmptyClass if a group lacks rows of a label that a gap needs or if all rows
// have the same label.
//
// Hard is dp_gap, the absolute difference between the groups' shares of positive decisions, and for
// equalized odds tpr_gap and fpr_gap, the same difference among the rows with label +1 and -1.
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
		m.Hard = append(m.Hard, NamedMeasure{"dp_gap", math.Abs(rows.gap(parity))})
		gaps := make([]float64, len(p.gaps))
		for t, g := range p.gaps {
			gaps[t] = rows.gap(sides[t])
			if g.label != 0 {
				m.Hard = append(m.Hard, NamedMeasure{g.measure, math.Abs(gaps[t])})
			}
		}
		m.Decisions = p.form.values(gaps, make([]float64, len(gaps)))
	}
	return e, nil
}

// gap returns the difference between the shares of positive decisions in the two groups.
func (d decided) gap(sides [2][]int) float64 { return d.share(sides[0]) - d.share(sides[1]) }

// share returns the share of the rows whose decision is positive.
func (d decided) share(rows []int) float64 {
	n := 0
	for _, i := range rows {
		if d.positive[i] {
			n++
		}
	}
	return float64(n) / float64(len(rows))
}
