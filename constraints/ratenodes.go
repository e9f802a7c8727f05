package constraints

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Nodes adds the smooth problem to the graph of the scores: [n, 1] or [n] for two classes, or [n,
// C]. It returns the objective, a scalar, and the rates [R], in the order of System.Rates. The
// probability of a decision replaces the indicator of the decision, in the objective and in the
// rates:
//
//	one score     1[s_i > 0]        ->  1 / (1 + e^-s_i)
//	C scores      1[argmax_j S_ij = c]  ->  e^S_ic / sum_j e^S_ij
//	pair (i, j)   1[s_i < s_j]       ->  1 / (1 + e^(s_i - s_j))
//
// The softmax is the smooth argmax: with scores S/T it tends to the indicator as T -> 0 wherever
// the largest score is unique, it is the gradient of log-sum-exp, the smooth maximum (Boyd and
// Vandenberghe, "Convex Optimization", section 3.1.5; Gao and Pavel, "On the Properties of the
// Softmax Function", 2017), and for C = 2 it is the sigmoid of the difference of the scores. Its
// probabilities sum to 1 as the indicators do, so the smooth rates are the expected rates of
// decisions that are drawn with these probabilities. Minimum classification error training uses
// smooth errors of the same kind (Juang and Katagiri, "Discriminative Learning for Minimum Error
// Classification", 1992).
//
// Losses are the logistic loss, or the cross-entropy. Nodes returns ErrEmptyGroup if a cell has no
// rows. Scores of float32 and float64 are supported; sums run in float64.
//
// A system of margins has the surrogates of Margins instead. In place of the rates, Nodes returns
// the constraints of the smooth problem, or the terms of System.Pieces; nil without constraints.
func (s *Sample) Nodes(scores *gorgonia.Node) (objective, rates *gorgonia.Node, err error) {
	if s.system.Margins != nil {
		m, err := s.marginNodes(scores)
		if err != nil {
			return nil, nil, err
		}
		if objective, err = m.objective(); err != nil {
			return nil, nil, err
		}
		rates, err = m.terms()
		return objective, rates, err
	}
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

// rowValues are the vectors [n] of per-row values that rates average.
type rowValues struct {
	views  map[view]*gorgonia.Node // the probability of the view's decision on each row
	losses *gorgonia.Node          // nil: not needed
	binary bool                    // one score: the only view is the positive decision
}

// view identifies a vector of probabilities: of the decision for a class, for the row's own class,
// or for the row's earlier decision in a file.
type view struct {
	target int
	file   string
}

// viewOf returns the view of a cell.
func (v *rowValues) viewOf(c *boundCell) view {
	switch {
	case c.pairs != noPairs:
		return view{}
	case v.binary:
		return view{target: 1}
	case !c.not && c.class == c.target:
		return view{target: ownClass} // on the rows of the cell the class is the row's own class
	}
	return view{c.target, c.file}
}

// values adds to the graph the vectors that the rates average.
func (s *Sample) values(scores *gorgonia.Node) (v rowValues, err error) {
	v.views = map[view]*gorgonia.Node{}
	if v.binary, err = s.binary(scores); err != nil {
		return v, err
	}
	var probabilities *gorgonia.Node
	for k := range s.cells {
		cell := &s.cells[k]
		seen := v.viewOf(cell)
		switch {
		case cell.loss && v.losses == nil:
			v.losses, err = s.losses(scores, v.binary)
		case cell.loss || v.views[seen] != nil:
		case s.ranked != nil:
			v.views[seen], err = s.ranked.errors.Apply(scores)
		case v.binary:
			v.views[seen], err = s.sigmoids(scores)
		default:
			if probabilities == nil {
				if probabilities, err = Softmax(scores); err != nil {
					return v, err
				}
			}
			v.views[seen], err = s.selected(probabilities, seen)
		}
		if err != nil {
			return v, err
		}
	}
	return v, nil
}

// binary reports whether each row has one score, for two classes.
func (s *Sample) binary(scores *gorgonia.Node) (bool, error) {
	n, c := s.p.Len(), len(s.p.Classes)
	if s.ranked != nil {
		if s.ranked.pairs == nil {
			return false, ErrNoPairs
		}
		c = 1
	}
	if scores.Shape().TotalSize() == n && c <= 2 {
		return true, nil
	}
	if scores.Dims() != 2 || scores.Shape()[0] != n || scores.Shape()[1] != c {
		return false, fmt.Errorf("constraints: scores of shape %v for %d rows of %d classes", scores.Shape(), n, c)
	}
	return false, nil
}

// sigmoids returns the probabilities of the positive decision [n].
func (s *Sample) sigmoids(scores *gorgonia.Node) (*gorgonia.Node, error) {
	op, err := ratesOf(make([]int8, s.p.Len()), Sigmoid)
	if err != nil {
		return nil, err
	}
	return op.Apply(scores)
}

// selected returns the probabilities [n] of a view's decisions, 0 for a row without a decision.
func (s *Sample) selected(probabilities *gorgonia.Node, seen view) (*gorgonia.Node, error) {
	n, c := s.p.Len(), len(s.p.Classes)
	ones := make([]float64, n*c)
	for i, y := range s.p.Labels {
		t := seen.target
		switch t {
		case ownClass:
			t = y
		case earlierDecision:
			t = s.p.Earlier[seen.file][i]
		}
		if t >= 0 {
			ones[i*c+t] = 1
		}
	}
	targets := constantMatrix(probabilities, fmt.Sprintf("targets %d %s", seen.target, seen.file), ones, n, c)
	product, err := gorgonia.HadamardProd(probabilities, targets)
	if err == nil {
		product, err = gorgonia.Sum(product, 1)
	}
	if err != nil {
		return nil, fmt.Errorf("constraints: the probabilities of the targets: %w", err)
	}
	return product, nil
}

// losses returns the rows' losses [n], or the mean losses of the cells of pairs.
func (s *Sample) losses(scores *gorgonia.Node, binary bool) (*gorgonia.Node, error) {
	if s.ranked != nil {
		return s.ranked.loss.Apply(scores)
	}
	if !binary {
		return CrossEntropy(scores, s.p.Labels)
	}
	signs := make([]int8, len(s.p.Labels))
	for i, y := range s.p.Labels {
		signs[i] = int8(2*y - 1)
	}
	return newSignedLoss(signs, Logistic, 2).Apply(scores)
}

// weighted returns the cell as a weighted group over the cell's vector of probabilities or losses,
// and a constant: the cell's rate is the weighted sum plus the constant.
func (s *Sample) weighted(k int, binary bool) (g Group, constant float64, err error) {
	cell := &s.cells[k]
	if s.ranked != nil {
		g, err = s.ranked.group(k, cell.Name)
		return g, 0, err
	}
	g.Name = cell.Name
	n := len(cell.rows)
	if n == 0 {
		return g, 0, fmt.Errorf("%w: %s", ErrEmptyGroup, cell.Name)
	}
	negative := 0.0 // weight of the rows whose rate is 1 minus the value
	g.Rows, g.Weights = make([]int, 0, n), make([]float64, 0, n)
	for _, i := range cell.rows {
		weight := cell.share(i, 1)
		if !cell.loss {
			t := cell.targetOf(i)
			if t < 0 {
				continue
			}
			if binary && t == 0 { // 1[decision = 0] = 1 - 1[decision = 1]
				weight = -weight
				negative += cell.weight(i)
			}
		}
		g.Rows, g.Weights = append(g.Rows, int(i)), append(g.Weights, weight)
	}
	switch {
	case len(g.Rows) == 0: // no row has the label of a joint cell: the rate is 0 whatever the decisions
		g.Rows, g.Weights = append(g.Rows, 0), append(g.Weights, 0)
	case len(g.Rows) == n && negative == 0 && cell.weights == nil:
		g.Weights = nil // the plain mean
	}
	return g, negative / cell.total, nil
}

// term is an element of the nodes: a weighted sum of row values, minus an offset.
type term struct {
	values *gorgonia.Node
	group  func() (g Group, offset float64, err error)
}

// batch holds the terms that average the same vector.
type batch struct {
	values *gorgonia.Node
	places []int // indices of the terms
}

// rateNodes returns the rates [R].
func (s *Sample) rateNodes(v rowValues) (*gorgonia.Node, error) {
	list := make([]term, len(s.cells))
	for k := range s.cells {
		list[k] = term{v.node(&s.cells[k]), func() (Group, float64, error) {
			g, constant, err := s.weighted(k, v.binary)
			return g, -constant, err
		}}
	}
	return s.termNodes(list, v.binary)
}

// termNodes returns the terms as a vector. binary says that each row has one score.
func (s *Sample) termNodes(list []term, binary bool) (*gorgonia.Node, error) {
	var batches []*batch
	batchOf := map[*gorgonia.Node]*batch{}
	for k, t := range list {
		b := batchOf[t.values]
		if b == nil {
			b = &batch{values: t.values}
			batchOf[t.values], batches = b, append(batches, b)
		}
		b.places = append(b.places, k)
	}
	var parts []*gorgonia.Node
	var places [][]int
	for _, b := range batches {
		m, err := s.mean(fmt.Sprint(b.places, binary), func() (groups []Group, offsets []float64, err error) {
			for _, k := range b.places {
				g, offset, err := list[k].group()
				if err != nil {
					return nil, nil, err
				}
				groups, offsets = append(groups, g), append(offsets, offset)
			}
			return groups, offsets, nil
		})
		if err != nil {
			return nil, err
		}
		op, err := NewGroupMeans(m.members, m.offsets)
		if err != nil {
			return nil, err
		}
		means, err := op.Apply(b.values)
		if err != nil {
			return nil, err
		}
		parts, places = append(parts, means), append(places, b.places)
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return s.merge(parts, places, len(list))
}

// of returns the vector that the cell averages.
func (v *rowValues) node(c *boundCell) *gorgonia.Node {
	if c.loss {
		return v.losses
	}
	return v.views[v.viewOf(c)]
}

// groupMean is a membership matrix with the offsets of its groups.
type groupMean struct {
	members *Membership
	offsets []float64
}

// mean returns the membership matrix with the given key. The first call makes the groups. Later
// graphs of the same rows, in another precision, share the matrix.
func (s *Sample) mean(key string, groups func() ([]Group, []float64, error)) (groupMean, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if m, ok := s.means[key]; ok {
		return m, nil
	}
	list, offsets, err := groups()
	if err != nil {
		return groupMean{}, err
	}
	n := s.p.Len()
	if s.ranked != nil { // the means are of cells of pairs
		n = s.ranked.pairs.Cells()
	}
	members, err := NewMembership(n, list)
	if err != nil {
		return groupMean{}, err
	}
	if s.means == nil {
		s.means = map[string]groupMean{}
	}
	s.means[key] = groupMean{members, offsets}
	return s.means[key], nil
}

// merge puts the elements of vectors at their places in one vector of the given size, by products
// with constant matrices of zeros and ones.
func (s *Sample) merge(parts []*gorgonia.Node, places [][]int, size int) (sum *gorgonia.Node, err error) {
	for k, part := range parts {
		place := make([]float64, size*len(places[k]))
		for i, to := range places[k] {
			place[to*len(places[k])+i] = 1
		}
		matrix := constantMatrix(part, fmt.Sprintf("places of rates %d", k), place, size, len(places[k]))
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

// objectiveNode returns the objective, a scalar: the sum of the means of its cells.
func (s *Sample) objectiveNode(v rowValues) (sum *gorgonia.Node, err error) {
	for k, p := range s.system.objective.parts {
		mean, err := s.objectiveMean(k, v.binary)
		if err != nil {
			return nil, err
		}
		op, err := NewGroupMean(mean.members, mean.offsets[0])
		if err != nil {
			return nil, err
		}
		node, err := op.Apply(v.node(&s.cells[p.cell]))
		if err == nil && sum != nil {
			node, err = gorgonia.Add(sum, node)
		}
		if err != nil {
			return nil, fmt.Errorf("constraints: the objective: %w", err)
		}
		sum = node
	}
	return sum, nil
}

// objectiveMean returns part k of the objective as a weighted mean. Part 0 has the constant.
func (s *Sample) objectiveMean(k int, binary bool) (groupMean, error) {
	l := s.system.objective
	cell, factor, offset := l.parts[k].cell, l.parts[k].coefficient, 0.0
	if k == 0 {
		offset = l.constant
	}
	return s.mean(fmt.Sprint("objective", k, binary), func() ([]Group, []float64, error) {
		g, constant, err := s.weighted(cell, binary)
		if err != nil {
			return nil, nil, err
		}
		if factor != 1 {
			if g.Weights == nil {
				share := 1 / float64(len(g.Rows))
				g.Weights = make([]float64, len(g.Rows))
				for e := range g.Weights {
					g.Weights[e] = share
				}
			}
			for e := range g.Weights {
				g.Weights[e] *= factor
			}
		}
		return []Group{g}, []float64{-(offset + factor*constant)}, nil
	})
}

// constantMatrix adds a matrix of constants to the graph of a node, in the node's type.
func constantMatrix(like *gorgonia.Node, name string, values []float64, rows, cols int) *gorgonia.Node {
	var data any = values
	if like.Dtype() == tensor.Float32 {
		data = singles(values)
	}
	return gorgonia.NewMatrix(like.Graph(), like.Dtype(), gorgonia.WithName(name), gorgonia.WithShape(rows, cols),
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
