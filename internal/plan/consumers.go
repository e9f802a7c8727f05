package plan

import "slices"

// Consumers lists the producers of a plan whose only consumers are known steps. A device may run
// producer and consumer as one pass and need not write the vector between them.
type Consumers struct {
	// Means maps a *MarginLoss or a *SignedLoss to the group means that read its losses, if no
	// other step reads the losses.
	Means map[Step][]*GroupMeans
	// Factors maps a *MarginLossGrad or a *SignedLossGrad to the steps that add up its factor D =
	// M_1^T w_1 + ..., in order, if no other step reads D.
	Factors map[Step][]*GroupMeansGrad
	// Loss is the inverse of Factors.
	Loss map[*GroupMeansGrad]Step
}

// FindConsumers finds the losses that only group means read, and the factors M^T w that only
// the derivative of one loss reads. The vectors between them are local to a region.
func (p *Plan) FindConsumers() Consumers {
	c := Consumers{map[Step][]*GroupMeans{}, map[Step][]*GroupMeansGrad{}, map[*GroupMeansGrad]Step{}}
	writers, readers := map[int][]Step{}, map[int][]Step{}
	for _, r := range slices.Concat(p.Forward, p.Backward) {
		for _, s := range r.Steps {
			for _, o := range s.Reads() {
				readers[o.Buffer] = append(readers[o.Buffer], s)
			}
			for _, o := range s.Writes() {
				writers[o.Buffer] = append(writers[o.Buffer], s)
			}
		}
	}
	for buffer, steps := range writers {
		if p.Buffers[buffer].Class != Local {
			continue
		}
		out := steps[0].Writes()[0].View
		switch steps[0].(type) {
		case *MarginLoss, *SignedLoss:
			if means := onlyMeans(out, readers[buffer]); len(steps) == 1 && means != nil {
				c.Means[steps[0]] = means
			}
		case *GroupMeansGrad:
			factors := onlyMeansGrads(out, steps)
			if loss := onlyLoss(out, readers[buffer]); loss != nil && factors != nil {
				c.Factors[loss] = factors
				for _, s := range factors {
					c.Loss[s] = loss
				}
			}
		}
	}
	return c
}

// onlyMeansGrads returns the writers of d if all are GroupMeansGrad steps, else nil.
func onlyMeansGrads(d View, writers []Step) (factors []*GroupMeansGrad) {
	for _, w := range writers {
		s, ok := w.(*GroupMeansGrad)
		if !ok || s.Out != d {
			return nil
		}
		factors = append(factors, s)
	}
	return factors
}

// onlyMeans returns the readers of a vector of losses if all readers are group means, else nil.
func onlyMeans(losses View, readers []Step) (means []*GroupMeans) {
	for _, r := range readers {
		m, ok := r.(*GroupMeans)
		if !ok || m.In != losses {
			return nil
		}
		means = append(means, m)
	}
	return means
}

// onlyLoss returns the derivative of a loss that reads the factor d, if no other step reads d
// except the steps that add to d. Otherwise it returns nil.
func onlyLoss(d View, readers []Step) (loss Step) {
	for _, r := range readers {
		var factor, out View
		switch r := r.(type) {
		case *GroupMeansGrad:
			if r.Out != d {
				return nil
			}
			continue
		case *MarginLossGrad:
			factor, out = r.D, r.Out
		case *SignedLossGrad:
			factor, out = r.D, r.Out
		default:
			return nil
		}
		if loss != nil || factor != d || out.Buffer == d.Buffer {
			return nil
		}
		loss = r
	}
	return loss
}
