package constraints

import (
	"fmt"
	"slices"
)

// Sample is a System on a set of rows: training rows, held-out rows, or a mini-batch. A Sample is
// immutable.
type Sample struct {
	system *System
	p      *Population
	cells  []boundCell // one for each of System.Rates
}

// On returns the system on the rows. They must have the classes and the attributes of the training
// rows. A cell may be empty: Count then has no value for its rate, and Nodes returns ErrEmptyGroup.
func (s *System) On(p *Population) (*Sample, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if !slices.Equal(p.Classes, s.classes) {
		return nil, fmt.Errorf("constraints: the rows have the classes %q, the training rows %q", p.Classes, s.classes)
	}
	sample := &Sample{system: s, p: p}
	for k := range s.Rates {
		c, err := s.Rates[k].on(p)
		if err != nil {
			return nil, err
		}
		sample.cells = append(sample.cells, c)
	}
	return sample, nil
}

// Decide returns the decisions of the scores: see Population.Decide.
func (s *Sample) Decide(scores []float64) ([]int, error) { return s.p.Decide(scores) }

// Rows returns the number of rows of each cell.
func (s *Sample) Rows() []int {
	list := make([]int, len(s.cells))
	for k, c := range s.cells {
		list[k] = len(c.rows)
	}
	return list
}
