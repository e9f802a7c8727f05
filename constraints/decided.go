package constraints

import "slices"

// ObjectiveRow returns the objective on decisions as coefficients of h, and a constant.
func (s *System) ObjectiveRow() (coefficients []float64, constant float64) {
	coefficients = make([]float64, s.Terms())
	s.objective.add(coefficients, 1)
	return coefficients, s.objective.constant
}

// Compares reports whether constraint j compares groups: a gap or a ratio.
func (s *System) Compares(j int) bool {
	f := s.Subject[j].measure.form
	return f == formGap || f == formRatio
}

// DependsOnLoss reports whether constraint j bounds a loss or the l1 norm, which decisions do not
// determine.
func (s *System) DependsOnLoss(j int) bool {
	m := s.measured[j]
	return m.l1 || slices.ContainsFunc(m.sets, func(set []linear) bool {
		return slices.ContainsFunc(set, func(l linear) bool {
			return slices.ContainsFunc(l.parts, func(p part) bool { return s.Rates[p.cell].loss })
		})
	})
}

// Entry says that a rate counts a decision: System.Rates[Rate] grows by Weight if the decision of
// Row is Class.
type Entry struct {
	Row, Rate, Class int
	Weight           float64
}

// Entries calls visit for every row and rate, rate by rate. Losses have no entries.
func (s *Sample) Entries(visit func(Entry)) {
	for k := range s.cells {
		c := &s.cells[k]
		if c.loss {
			continue
		}
		for _, i := range c.rows {
			if t := c.targetOf(i); t >= 0 {
				visit(Entry{int(i), k, t, 1 / float64(len(c.rows))})
			}
		}
	}
}
