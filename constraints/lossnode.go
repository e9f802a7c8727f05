package constraints

import "gorgonia.org/gorgonia"

// LossNode adds the mean loss of all rows to the graph of the scores, a scalar: the logistic loss
// of one score, or of the difference of the scores of a pair, else the cross-entropy. Unlike the
// rates of Nodes, its derivative does not vanish where a row is far on the wrong side. The scores
// have the same shapes as in Nodes.
func (s *Sample) LossNode(scores *gorgonia.Node) (*gorgonia.Node, error) {
	binary, err := s.binary(scores)
	if err != nil {
		return nil, err
	}
	losses, err := s.losses(scores, binary)
	if err != nil {
		return nil, err
	}
	m, err := s.mean("loss", func() ([]Group, []float64, error) {
		if s.ranked != nil {
			return []Group{s.ranked.all("all pairs")}, []float64{0}, nil
		}
		return []Group{s.p.all()}, []float64{0}, nil
	})
	if err != nil {
		return nil, err
	}
	op, err := NewGroupMean(m.members, m.offsets[0])
	if err != nil {
		return nil, err
	}
	return op.Apply(losses)
}
