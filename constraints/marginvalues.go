package constraints

import (
	"fmt"
	"slices"
)

// smoothMargins does the work of Smooth for a system of margins.
func (s *Sample) smoothMargins(scores []float64) (objective float64, rates []float64, err error) {
	n, c := s.p.Len(), len(s.p.Classes)
	binary := len(scores) == n && c == 2
	if !binary && len(scores) != n*c {
		return 0, nil, fmt.Errorf("constraints: %d scores for %d rows of %d classes", len(scores), n, c)
	}
	vectors := map[marginView][]float64{}
	rates = make([]float64, len(s.cells))
	mean := -1 // the cell whose rate is known
	if binary && *s.system.Margins == (Margins{Logistic, Sigmoid, s.system.Margins.Form}) {
		if mean, err = s.meanLogistic(scores, rates, vectors); err != nil {
			return 0, nil, err
		}
	}
	for k := range s.cells {
		cell := &s.cells[k]
		if k == mean || len(cell.rows) == 0 {
			continue
		}
		v := cell.marginView()
		values := vectors[v]
		if values == nil {
			if values, err = s.marginValues(scores, v, binary); err != nil {
				return 0, nil, err
			}
			vectors[v] = values
		}
		for _, i := range cell.rows {
			rates[k] += values[i]
		}
		rates[k] /= float64(len(cell.rows))
	}
	return s.system.objective.value(rates), rates, nil
}

// marginValues returns the row values of a view.
func (s *Sample) marginValues(scores []float64, v marginView, binary bool) ([]float64, error) {
	if binary {
		op, err := s.signed(v)
		if err != nil {
			return nil, err
		}
		return signedLosses(op, scores), nil
	}
	if v.target != ownClass {
		return nil, s.notSigned(v)
	}
	c := len(s.p.Classes)
	values := make([]float64, s.p.Len())
	inParts(len(values), func(from, to int) {
		for i := from; i < to; i++ {
			values[i] = rowLoss(v.phi, scores[i*c:][:c], s.p.Labels[i])
		}
	})
	return values, nil
}

// meanLogistic computes the rate of the cell of all wrong decisions, with logistic losses, and the
// sigmoids of the positive decisions. Both share the exponential of a row. It returns the index of
// the cell; -1: the system has no such cell.
func (s *Sample) meanLogistic(scores, rates []float64, vectors map[marginView][]float64) (int, error) {
	loss, rate := marginView{Logistic, ownClass}, marginView{Sigmoid, 1}
	all := slices.IndexFunc(s.cells, func(c boundCell) bool { return c.marginView() == loss && len(c.rows) == s.p.Len() })
	if all < 0 || !slices.ContainsFunc(s.cells, func(c boundCell) bool { return c.marginView() == rate }) {
		return -1, nil
	}
	first, err := s.signed(loss)
	if err != nil {
		return -1, err
	}
	second, err := s.signed(rate)
	if err != nil {
		return -1, err
	}
	rates[all], vectors[rate] = meanLogistic(first, second, scores)
	return all, nil
}
