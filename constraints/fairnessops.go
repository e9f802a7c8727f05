package constraints

import (
	"fmt"

	"gorgonia.org/gorgonia"
)

// fairnessOps holds the ops of a fairness problem on a set of rows. They make the problem's nodes
// and compute its values on the host.
//
//	f = mean of the losses,   h = M rates - offsets (- mean of the rates)
type fairnessOps struct {
	loss, rate *SignedLoss // the same op if the surrogates and labels are equal
	mean       *GroupMeans
	terms      *GroupMeans
	relative   bool // subtract the rates' mean over all rows
}

func newFairnessOps(r Rows, loss, rate *SignedLoss, groups []Group, offsets []float64) (*fairnessOps, error) {
	all, err := NewMembership(len(r.Labels), []Group{r.all()})
	if err != nil {
		return nil, err
	}
	mean, err := NewGroupMean(all, 0)
	if err != nil {
		return nil, err
	}
	m, err := NewMembership(len(r.Labels), groups)
	if err != nil {
		return nil, err
	}
	terms, err := NewGroupMeans(m, offsets)
	if err != nil {
		return nil, err
	}
	return &fairnessOps{loss: loss, rate: rate, mean: mean, terms: terms}, nil
}

// base adds the losses, the objective and the rates to the graph.
func (s *fairnessOps) base(scores *gorgonia.Node) (f, rates *gorgonia.Node, err error) {
	losses, err := s.loss.Apply(scores)
	if err != nil {
		return nil, nil, err
	}
	if f, err = s.mean.Apply(losses); err != nil {
		return nil, nil, err
	}
	if s.rate == s.loss {
		return f, losses, nil
	}
	rates, err = s.rate.Apply(scores)
	return f, rates, err
}

// nodes adds f, a scalar, and h, a vector, to the graph.
func (s *fairnessOps) nodes(scores *gorgonia.Node) (f, h *gorgonia.Node, err error) {
	f, rates, err := s.base(scores)
	if err != nil {
		return nil, nil, err
	}
	if h, err = s.terms.Apply(rates); err != nil || !s.relative {
		return f, h, err
	}
	mean := f
	if s.rate != s.loss {
		if mean, err = s.mean.Apply(rates); err != nil {
			return nil, nil, err
		}
	}
	if h, err = gorgonia.Sub(h, mean); err != nil {
		return nil, nil, fmt.Errorf("constraints: subtract the mean: %w", err)
	}
	return f, h, nil
}

// values returns f, h and the rates for the scores, with the arithmetic of the nodes, except that f
// is a meanLogistic if the losses are logistic and the rates sigmoids.
func (s *fairnessOps) values(scores []float64) (f float64, h, rates []float64) {
	if s.loss.phi == Logistic && s.rate.phi == Sigmoid {
		f, rates = meanLogistic(s.loss, s.rate, scores)
	} else {
		losses := signedLosses(s.loss, scores)
		if rates = losses; s.rate != s.loss {
			rates = signedLosses(s.rate, scores)
		}
		f = groupMeans(s.mean.members, s.mean.offsets, losses)[0]
	}
	h = groupMeans(s.terms.members, s.terms.offsets, rates)
	if s.relative {
		mean := groupMeans(s.mean.members, s.mean.offsets, rates)[0]
		for k := range h {
			h[k] -= mean
		}
	}
	return f, h, rates
}
