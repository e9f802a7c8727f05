package constraints

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
)

// marginView identifies the row values that a cell averages.
type marginView struct {
	phi    Phi
	target int // ownClass for a missed cell
}

func (c *Cell) marginView() marginView {
	if c.missed {
		return marginView{c.phi, ownClass}
	}
	return marginView{c.phi, c.target}
}

// signed returns the op of the row values of one score.
func (s *Sample) signed(v marginView) (*SignedLoss, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if op := s.ops[v]; op != nil {
		return op, nil
	}
	if err := v.phi.valid(); err != nil {
		return nil, err
	}
	signs := make([]int8, s.p.Len())
	for i, y := range s.p.Labels {
		if v.target != ownClass {
			y = 1 - v.target
		}
		signs[i] = int8(2*y - 1)
	}
	if s.ops == nil {
		s.ops = map[marginView]*SignedLoss{}
	}
	s.ops[v] = newSignedLoss(signs, v.phi, 2)
	return s.ops[v], nil
}

// notSigned is the error for a decision without a surrogate if each class has a score.
func (s *Sample) notSigned(v marginView) error {
	return fmt.Errorf("constraints: the decision %s has no surrogate of margins if each of two classes has a score; use one score", s.p.Classes[v.target])
}

// marginNodes adds a system of margins to the graph of the scores.
type marginNodes struct {
	*Sample
	scores  *gorgonia.Node
	binary  bool                          // one score for each row
	vectors map[marginView]*gorgonia.Node // row values
	means   map[int]*gorgonia.Node        // the rates of cells
}

func (s *Sample) marginNodes(scores *gorgonia.Node) (*marginNodes, error) {
	binary, err := s.binary(scores)
	return &marginNodes{s, scores, binary, map[marginView]*gorgonia.Node{}, map[int]*gorgonia.Node{}}, err
}

// values returns the row values [n] of cell k.
func (m *marginNodes) values(k int) (*gorgonia.Node, error) {
	v := m.cells[k].marginView()
	if known := m.vectors[v]; known != nil {
		return known, nil
	}
	var err error
	switch {
	case m.binary:
		var op *SignedLoss
		if op, err = m.signed(v); err == nil {
			m.vectors[v], err = op.Apply(m.scores)
		}
	case v.target != ownClass:
		err = m.notSigned(v)
	default:
		var op *MarginLoss
		if op, err = NewMarginLoss(m.p.Labels, len(m.p.Classes), v.phi); err == nil {
			m.vectors[v], err = op.Apply(m.scores)
		}
	}
	return m.vectors[v], err
}

// rate returns coefficient times the rate of cell k, plus a constant, as a scalar.
func (m *marginNodes) rate(k int, coefficient, constant float64) (*gorgonia.Node, error) {
	plain := coefficient == 1 && constant == 0
	if known := m.means[k]; plain && known != nil {
		return known, nil
	}
	values, err := m.values(k)
	if err != nil {
		return nil, err
	}
	mean, err := m.mean(fmt.Sprint("cell", k, coefficient, constant), func() ([]Group, []float64, error) {
		row := make([]float64, len(m.cells))
		row[k] = coefficient
		g, err := m.combined(row)
		return []Group{g}, []float64{-constant}, err
	})
	if err != nil {
		return nil, err
	}
	op, err := NewGroupMean(mean.members, mean.offsets[0])
	if err != nil {
		return nil, err
	}
	node, err := op.Apply(values)
	if plain {
		m.means[k] = node
	}
	return node, err
}

// objective returns the objective, a scalar.
func (m *marginNodes) objective() (sum *gorgonia.Node, err error) {
	constant := m.system.objective.constant
	for _, p := range m.system.objective.parts {
		node, err := m.rate(p.cell, p.coefficient, constant)
		if err == nil && sum != nil {
			node, err = gorgonia.Add(sum, node)
		}
		if err != nil {
			return nil, fmt.Errorf("constraints: the objective: %w", err)
		}
		sum, constant = node, 0
	}
	return sum, nil
}

// terms returns the constraints or the terms of pieces as a vector; nil without constraints.
func (m *marginNodes) terms() (*gorgonia.Node, error) {
	list, common := make([]term, len(m.system.terms)), m.system.common
	if len(list) == 0 {
		return nil, nil
	}
	for t, own := range m.system.terms {
		row := slices.Clone(own.coefficients)
		if common >= 0 {
			row[common] = 0
		}
		list[t].group = func() (Group, float64, error) {
			g, err := m.combined(row)
			return g, own.offset, err
		}
		for k, c := range row {
			if c == 0 {
				continue
			}
			values, err := m.values(k)
			if err != nil {
				return nil, err
			}
			if list[t].values != nil && list[t].values != values {
				return nil, fmt.Errorf("constraints: %s: all rates of an inequality need the same surrogate", m.cells[k].Name)
			}
			list[t].values = values
		}
	}
	terms, err := m.termNodes(list, m.binary)
	if err != nil || common < 0 {
		return terms, err
	}
	all, err := m.rate(common, 1, 0)
	if err != nil {
		return nil, err
	}
	if terms, err = gorgonia.Sub(terms, all); err != nil {
		return nil, fmt.Errorf("constraints: subtract the rate of all rows: %w", err)
	}
	return terms, nil
}

// combined returns a linear combination of the cells' means as one weighted group.
func (s *Sample) combined(row []float64) (g Group, err error) {
	var used []int
	entries := 0
	for k, c := range row {
		if c == 0 {
			continue
		}
		if len(s.cells[k].rows) == 0 {
			return g, fmt.Errorf("%w: %s", ErrEmptyGroup, s.cells[k].Name)
		}
		used, entries, g.Name = append(used, k), entries+len(s.cells[k].rows), s.cells[k].Name
	}
	if len(used) > 2 || len(used) == 2 && overlap(s.cells[used[0]].rows, s.cells[used[1]].rows) {
		return s.dense(row), nil
	}
	g.Rows = make([]int, 0, entries)
	if len(used) > 1 || row[used[0]] != 1 || s.p.Weights != nil { // else the plain mean
		g.Weights = make([]float64, 0, entries)
	}
	for _, k := range used {
		for _, i := range s.cells[k].rows {
			g.Rows = append(g.Rows, int(i))
			if g.Weights != nil {
				g.Weights = append(g.Weights, s.cells[k].share(i, row[k]))
			}
		}
	}
	return g, nil
}

// overlap reports whether two increasing lists share a row.
func overlap(a, b []int32) bool {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] == b[0]:
			return true
		case a[0] < b[0]:
			a = a[1:]
		default:
			b = b[1:]
		}
	}
	return false
}

// dense returns a combination of cells whose rows may overlap as weights of all rows.
func (s *Sample) dense(row []float64) Group {
	n := s.p.Len()
	g := Group{Name: AllRows, Rows: make([]int, n), Weights: make([]float64, n)}
	for i := range g.Rows {
		g.Rows[i] = i
	}
	for k, c := range row {
		if c == 0 {
			continue
		}
		for _, i := range s.cells[k].rows {
			g.Weights[i] += s.cells[k].share(i, c)
		}
	}
	return g
}
