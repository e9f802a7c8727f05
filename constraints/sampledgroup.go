package constraints

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// SampledNodes adds the problem with one drawn group instead of the mean over all groups: the
// objective f, a scalar, and the constraint g [1] of the drawn group G,
//
//	g = sum_i c_i psi(y_i s_i) - eps,   c_i = [i in I_G]/|I_G| - 1/n.
//
// Its expectation over a uniformly drawn G is the constraint of Nodes. The weights c [n] are an
// input node; a GroupDraws returns their values for each step. Use Nodes, the problem on all
// groups, for records and certificates.
func (p *Intersectional) SampledNodes(scores *gorgonia.Node, rows Rows) (objective, constraint, weights *gorgonia.Node, err error) {
	if p.form != Expectation {
		return nil, nil, nil, fmt.Errorf("constraints: sampling one group needs the form %v, but the form is %v", Expectation, p.form)
	}
	if err := rows.check(p.groups); err != nil {
		return nil, nil, nil, err
	}
	s, err := p.on(rows, p.eps)
	if err != nil {
		return nil, nil, nil, err
	}
	objective, rates, err := s.base(scores)
	if err != nil {
		return nil, nil, nil, err
	}
	weights = gorgonia.NewVector(scores.Graph(), scores.Dtype(), gorgonia.WithShape(len(rows.Labels)), gorgonia.WithName("group.weights"))
	weighted, err := gorgonia.HadamardProd(weights, rates)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("constraints: weigh the rows: %w", err)
	}
	// With weights 1 for all rows, GroupMeans computes a sum.
	all := rows.all()
	all.Weights = make([]float64, len(all.Rows))
	for i := range all.Weights {
		all.Weights[i] = 1
	}
	m, err := NewMembership(len(rows.Labels), []Group{all})
	if err != nil {
		return nil, nil, nil, err
	}
	sum, err := NewGroupMeans(m, p.eps)
	if err != nil {
		return nil, nil, nil, err
	}
	constraint, err = sum.Apply(weighted)
	return objective, constraint, weights, err
}

// GroupDraws draws one group for each step, uniformly and independently. The group of step k
// depends only on the seed and k.
type GroupDraws struct {
	members *Membership
	seed    uint64
	dtype   tensor.Dtype
}

// drawStream separates the random stream of the draws from other streams with the same seed.
const drawStream = 0x67726f757073

// NewDraws makes the draws for rows, with weights of the given type. It returns ErrEmptyGroup if a
// group has no rows.
func (p *Intersectional) NewDraws(rows Rows, dtype tensor.Dtype, seed uint64) (*GroupDraws, error) {
	if dtype != tensor.Float32 && dtype != tensor.Float64 {
		return nil, errors.New("constraints: weights must be float32 or float64")
	}
	if err := rows.check(p.groups); err != nil {
		return nil, err
	}
	m, err := NewMembership(len(rows.Labels), rows.Groups)
	if err != nil {
		return nil, err
	}
	return &GroupDraws{members: m, seed: seed, dtype: dtype}, nil
}

// Group returns the group of step k, an index into the problem's Groups.
func (d *GroupDraws) Group(k int) int {
	return rand.New(rand.NewPCG(d.seed^drawStream, uint64(k))).IntN(d.members.Groups())
}

// Weights returns the weights c [n] of step k, for the input node of SampledNodes.
func (d *GroupDraws) Weights(k int) gorgonia.Value {
	if d.dtype == tensor.Float32 {
		return newTensor(drawnWeights[float32](d.members, d.Group(k)), d.members.rows)
	}
	return newTensor(drawnWeights[float64](d.members, d.Group(k)), d.members.rows)
}

func drawnWeights[T float](m *Membership, group int) []T {
	c := make([]T, m.rows)
	for i := range c {
		c[i] = T(-1 / float64(m.rows))
	}
	starts, indices, _ := m.CSR()
	for e := starts[group]; e < starts[group+1]; e++ {
		i := e
		if indices != nil {
			i = int(indices[e])
		}
		c[i] = T(1/m.size(group) - 1/float64(m.rows))
	}
	return c
}
