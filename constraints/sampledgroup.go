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
