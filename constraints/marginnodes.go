package constraints

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
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

// SampledNodes adds the problem with one drawn group instead of the mean over all groups: the
// objective f, a scalar, and the constraint g [1] of the drawn group G,
//
//	g = sum_i c_i psi(y_i s_i) - eps,   c_i = [i in I_G]/|I_G| - 1/n,
//
// or with weights w of the rows c_i = [i in I_G] w_i/w(I_G) - w_i/w(all).
//
// Its expectation over a uniformly drawn G is the constraint of Nodes. The weights c [n] are an
// input node; a GroupDraws returns their values for each step. Use Nodes, the problem on all
// groups, for records and certificates. The system is one of margins, its objective and its only
// constraint, a MeanExcess, are about errors, and each row has one score.
func (s *Sample) SampledNodes(scores *gorgonia.Node) (objective, constraint, weights *gorgonia.Node, err error) {
	set, err := s.drawn()
	if err != nil {
		return nil, nil, nil, err
	}
	nodes, err := s.marginNodes(scores)
	if err != nil {
		return nil, nil, nil, err
	}
	if objective, err = nodes.objective(); err != nil {
		return nil, nil, nil, err
	}
	rates, err := nodes.values(set[0].parts[0].cell)
	if err != nil {
		return nil, nil, nil, err
	}
	n := s.p.Len()
	weights = gorgonia.NewVector(scores.Graph(), scores.Dtype(), gorgonia.WithShape(n), gorgonia.WithName("group.weights"))
	weighted, err := gorgonia.HadamardProd(weights, rates)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("constraints: weigh the rows: %w", err)
	}
	// With weights 1 for all rows, GroupMeans computes a sum.
	all := Group{Name: AllRows, Rows: make([]int, n), Weights: make([]float64, n)}
	for i := range all.Rows {
		all.Rows[i], all.Weights[i] = i, 1
	}
	m, err := NewMembership(n, []Group{all})
	if err != nil {
		return nil, nil, nil, err
	}
	sum, err := NewGroupMeans(m, []float64{s.system.Bounds[0].Bound})
	if err != nil {
		return nil, nil, nil, err
	}
	constraint, err = sum.Apply(weighted)
	return objective, constraint, weights, err
}

// drawn returns the rates of all rows and of the groups whose mean the only constraint bounds.
func (s *Sample) drawn() ([]linear, error) {
	y := s.system
	if y.Margins == nil || len(y.Subject) != 1 || !y.Subject[0].measure.IsMean() || y.common < 0 {
		return nil, errors.New("constraints: a drawn group needs a system of margins with one constraint, a mean of excesses of errors")
	}
	return y.measured[0].sets[0], nil
}

// GroupDraws draws one group for each step, uniformly and independently. The group of step k
// depends only on the seed and k.
type GroupDraws struct {
	members *Membership
	all     []float64 // the share of each row in all rows; nil: 1/n
	seed    uint64
	dtype   tensor.Dtype
}

// drawStream separates the random stream of the draws from other streams with the same seed.
const drawStream = 0x67726f757073

// NewDraws makes the draws for the rows, with weights of the given type: see SampledNodes. It
// returns ErrEmptyGroup if a group has no rows.
func (s *Sample) NewDraws(dtype tensor.Dtype, seed uint64) (*GroupDraws, error) {
	if dtype != tensor.Float32 && dtype != tensor.Float64 {
		return nil, errors.New("constraints: weights must be float32 or float64")
	}
	set, err := s.drawn()
	if err != nil {
		return nil, err
	}
	groups := make([]Group, len(set)-1)
	for k, l := range set[1:] {
		cell := &s.cells[l.parts[0].cell]
		groups[k].Name = cell.Name
		for _, i := range cell.rows {
			groups[k].Rows = append(groups[k].Rows, int(i))
			if cell.weights != nil {
				groups[k].Weights = append(groups[k].Weights, cell.share(i, 1))
			}
		}
	}
	m, err := NewMembership(s.p.Len(), groups)
	if err != nil {
		return nil, err
	}
	return &GroupDraws{members: m, all: s.p.all().Weights, seed: seed, dtype: dtype}, nil
}

// Group returns the group of step k, an index into the values of the constraint's attribute.
func (d *GroupDraws) Group(k int) int {
	return rand.New(rand.NewPCG(d.seed^drawStream, uint64(k))).IntN(d.members.Groups())
}

// Weights returns the weights c [n] of step k, for the input node of SampledNodes.
func (d *GroupDraws) Weights(k int) gorgonia.Value {
	if d.dtype == tensor.Float32 {
		return newTensor(drawnWeights[float32](d, d.Group(k)), d.members.rows)
	}
	return newTensor(drawnWeights[float64](d, d.Group(k)), d.members.rows)
}

func drawnWeights[T float](d *GroupDraws, group int) []T {
	m := d.members
	c := make([]T, m.rows)
	share := func(i int) float64 {
		if d.all == nil {
			return 1 / float64(m.rows)
		}
		return d.all[i]
	}
	for i := range c {
		c[i] = T(-share(i))
	}
	starts, indices, weights := m.CSR()
	for e := starts[group]; e < starts[group+1]; e++ {
		i := e
		if indices != nil {
			i = int(indices[e])
		}
		own := 1 / m.size(group)
		if weights != nil {
			own = weights[e]
		}
		c[i] = T(own - share(i))
	}
	return c
}
