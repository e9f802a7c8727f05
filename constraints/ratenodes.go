package constraints

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Nodes adds the smooth problem to the graph of the scores: [n, 1] or [n] for two classes, or
// [n, C]. It returns the objective, a scalar, and the rates [R], in the order of System.Rates. The
// indicator of a decision becomes a probability, the same in objective and rates:
//
//	one score     1[s_i > 0]        ->  1 / (1 + e^-s_i)
//	C scores      1[argmax_j S_ij = c]  ->  e^S_ic / sum_j e^S_ij
//
// The softmax is the smooth argmax: with scores S/T it tends to the indicator as T -> 0 wherever
// the largest score is unique, it is the gradient of log-sum-exp, the smooth maximum (Boyd and
// Vandenberghe, "Convex Optimization", section 3.1.5; Gao and Pavel, "On the Properties of the
// Softmax Function", 2017), and for C = 2 it is the sigmoid of the difference of the scores. Its
// probabilities sum to 1 as the indicators do. The mean of 1 - softmax of the own class is the
// smoothed multi-class error of Goh, Cotter, Gupta and Friedlander, "Satisfying Real-world Goals
// with Dataset Constraints", 2016, for ramp losses.
//
// Losses are the logistic loss, or the cross-entropy. Nodes returns ErrEmptyGroup if a cell has no
// rows. Scores of float32 and float64 are supported; sums run in float64.
func (s *Sample) Nodes(scores *gorgonia.Node) (objective, rates *gorgonia.Node, err error) {
	v, err := s.values(scores)
	if err != nil {
		return nil, nil, err
	}
	if rates, err = s.rateNodes(v); err != nil {
		return nil, nil, err
	}
	objective, err = s.objectiveNode(v)
	return objective, rates, err
}

// rowValues are the vectors of per-row values that rates average.
type rowValues struct {
	scores        *gorgonia.Node
	probabilities *gorgonia.Node // [n] of the positive class, or [n C] of all classes; nil: not needed
	losses        *gorgonia.Node // [n]; nil: not needed
	wide          int            // probabilities of a row: 1 or C
}

// values adds the vectors that the rates need.
func (s *Sample) values(scores *gorgonia.Node) (v rowValues, err error) {
	n, c := s.p.Len(), len(s.p.Classes)
	v.scores = scores
	size := scores.Shape().TotalSize()
	binary := size == n && c == 2
	if !binary && (scores.Dims() != 2 || scores.Shape()[0] != n || scores.Shape()[1] != c) {
		return v, fmt.Errorf("constraints: scores of shape %v for %d rows of %d classes", scores.Shape(), n, c)
	}
	var decisions, losses bool
	for _, cell := range s.system.Rates {
		decisions, losses = decisions || !cell.loss, losses || cell.loss
	}
	if v.wide = c; binary {
		v.wide = 1
	}
	if decisions {
		if v.probabilities, err = s.probabilities(scores, binary); err != nil {
			return v, err
		}
	}
	if losses {
		v.losses, err = s.losses(scores, binary)
	}
	return v, err
}

// probabilities returns the probabilities of the decisions as a vector.
func (s *Sample) probabilities(scores *gorgonia.Node, binary bool) (*gorgonia.Node, error) {
	n, c := s.p.Len(), len(s.p.Classes)
	if binary {
		op, err := NewRates(n, Sigmoid)
		if err != nil {
			return nil, err
		}
		return op.Apply(scores)
	}
	p, err := Softmax(scores)
	if err != nil {
		return nil, err
	}
	flat, err := gorgonia.Reshape(p, tensor.Shape{n * c})
	if err != nil {
		return nil, fmt.Errorf("constraints: the probabilities as a vector: %w", err)
	}
	return flat, nil
}

// losses returns the rows' losses [n].
func (s *Sample) losses(scores *gorgonia.Node, binary bool) (*gorgonia.Node, error) {
	if !binary {
		return CrossEntropy(scores, s.p.Labels)
	}
	signs := make([]int, len(s.p.Labels))
	for i, y := range s.p.Labels {
		signs[i] = 2*y - 1
	}
	op, err := NewSignedLoss(signs, Logistic)
	if err != nil {
		return nil, err
	}
	return op.Apply(scores)
}

// weighted returns the cell as a weighted group over the probabilities or losses, and the constant
// that the cell's rate has beside the weighted sum.
func (s *Sample) weighted(k, wide int) (g Group, constant float64, err error) {
	cell := &s.cells[k]
	g.Name = cell.Name
	n := len(cell.rows)
	if n == 0 {
		return g, 0, fmt.Errorf("%w: %s", ErrEmptyGroup, cell.Name)
	}
	if cell.loss {
		for _, i := range cell.rows {
			g.Rows = append(g.Rows, int(i))
		}
		return g, 0, nil
	}
	share := 1 / float64(n)
	negative := 0
	for _, i := range cell.rows {
		t := cell.targetOf(i)
		switch {
		case t < 0:
			continue
		case wide > 1:
			g.Rows, g.Weights = append(g.Rows, int(i)*wide+t), append(g.Weights, share)
		case t == 1:
			g.Rows, g.Weights = append(g.Rows, int(i)), append(g.Weights, share)
		default: // 1[decision = 0] = 1 - 1[decision = 1]
			g.Rows, g.Weights = append(g.Rows, int(i)), append(g.Weights, -share)
			negative++
		}
	}
	switch len(g.Rows) {
	case 0: // no row has the label of a joint cell: the rate is 0 whatever the decisions
		g.Rows, g.Weights = []int{0}, []float64{0}
	case n:
		if negative == 0 {
			g.Weights = nil // the plain mean
		}
	}
	return g, float64(negative) / float64(n), nil
}

// rateNodes returns the rates [R].
func (s *Sample) rateNodes(v rowValues) (*gorgonia.Node, error) {
	var parts []*gorgonia.Node
	var places [][]int // of each part's elements among the rates
	for _, loss := range []bool{false, true} {
		var groups []Group
		var offsets []float64
		var place []int
		for k := range s.cells {
			if s.cells[k].loss != loss {
				continue
			}
			g, constant, err := s.weighted(k, v.wide)
			if err != nil {
				return nil, err
			}
			groups, offsets, place = append(groups, g), append(offsets, -constant), append(place, k)
		}
		if groups == nil {
			continue
		}
		means, err := s.means(v, loss, groups, offsets, false)
		if err != nil {
			return nil, err
		}
		parts, places = append(parts, means), append(places, place)
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return s.merge(parts, places)
}

// means averages the probabilities or the losses over groups.
func (s *Sample) means(v rowValues, loss bool, groups []Group, offsets []float64, scalar bool) (*gorgonia.Node, error) {
	values, size := v.probabilities, s.p.Len()*v.wide
	if loss {
		values, size = v.losses, s.p.Len()
	}
	m, err := NewMembership(size, groups)
	if err != nil {
		return nil, err
	}
	var op *GroupMeans
	if scalar {
		op, err = NewGroupMean(m, offsets[0])
	} else {
		op, err = NewGroupMeans(m, offsets)
	}
	if err != nil {
		return nil, err
	}
	return op.Apply(values)
}

// merge puts the elements of vectors at their places in one vector, by products with constant
// matrices of zeros and ones.
func (s *Sample) merge(parts []*gorgonia.Node, places [][]int) (sum *gorgonia.Node, err error) {
	for k, part := range parts {
		place := make([]float64, len(s.cells)*len(places[k]))
		for i, to := range places[k] {
			place[to*len(places[k])+i] = 1
		}
		matrix := constantMatrix(part, fmt.Sprintf("places of rates %d", k), place, len(s.cells), len(places[k]))
		moved, err := gorgonia.Mul(matrix, part)
		if err == nil && sum != nil {
			moved, err = gorgonia.Add(sum, moved)
		}
		if err != nil {
			return nil, fmt.Errorf("constraints: join rates and losses: %w", err)
		}
		sum = moved
	}
	return sum, nil
}

// objectiveNode returns the objective, a scalar. A rate that can be minimised has one cell.
func (s *Sample) objectiveNode(v rowValues) (*gorgonia.Node, error) {
	l := s.system.objective
	k, factor := l.parts[0].cell, l.parts[0].coefficient
	g, constant, err := s.weighted(k, v.wide)
	if err != nil {
		return nil, err
	}
	if factor != 1 {
		if g.Weights == nil {
			g.Weights = make([]float64, len(g.Rows))
			for e := range g.Weights {
				g.Weights[e] = 1 / float64(len(g.Rows))
			}
		}
		for e := range g.Weights {
			g.Weights[e] *= factor
		}
	}
	return s.means(v, s.cells[k].loss, []Group{g}, []float64{-(l.constant + factor*constant)}, true)
}

// constantMatrix adds a matrix of constants to the graph of a node, in the node's type.
func constantMatrix(of *gorgonia.Node, name string, values []float64, rows, cols int) *gorgonia.Node {
	var data any = values
	if of.Dtype() == tensor.Float32 {
		data = singles(values)
	}
	return gorgonia.NewMatrix(of.Graph(), of.Dtype(), gorgonia.WithName(name), gorgonia.WithShape(rows, cols),
		gorgonia.WithValue(tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(data))))
}

// singles rounds the values to float32.
func singles(values []float64) []float32 {
	list := make([]float32, len(values))
	for i, v := range values {
		list[i] = float32(v)
	}
	return list
}
