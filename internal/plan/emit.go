package plan

import (
	"slices"

	"ppal/trainer/graph/describe"
)

// regions returns the regions of the units, with their steps.
func (p *placer) regions(units []unit) []Region {
	var list []Region
	for _, u := range units {
		r := Region{Rows: u.rows}
		for _, v := range u.values {
			r.Steps = append(r.Steps, p.step(v))
		}
		list = append(list, r)
	}
	return list
}

// step returns the step that computes v.
func (p *placer) step(v *value) Step {
	in, out, ids := p.views(v.in), p.view(v), nodes(slices.Clone(v.nodes))
	slices.Sort(ids)
	switch v.kind {
	case mapKind:
		if v.expr.Op == describe.Load && v.in[0].sameShape(v) {
			return &Copy{ids, in[0], out}
		}
		return typedMap(&Map{ids, v.expr, in, out})
	case productKind:
		return &Product{nodes: ids, A: in[0], B: in[1], Out: out, TransA: v.trans[0], TransB: v.trans[1], Add: v.hasBase()}
	case sumsKind:
		return &Sums{ids, v.axis, in[0], out}
	case marginKind:
		return &MarginLoss{ids, v.description.(describe.MarginLoss).Margins, in[0], out}
	case marginGrad:
		return &MarginLossGrad{ids, v.description.(describe.MarginLossGrad).Margins, in[0], in[1], out}
	case signedKind:
		return &SignedLoss{ids, v.description.(describe.SignedLoss).Signs, in[0], out}
	case signedGrad:
		return &SignedLossGrad{ids, v.description.(describe.SignedLossGrad).Signs, in[0], in[1], out, v.hasBase()}
	case meansKind:
		t := v.description.(describe.GroupMeans)
		return &GroupMeans{ids, t.Groups, t.Offsets, in[0], out}
	case meansGrad:
		return &GroupMeansGrad{ids, v.description.(describe.GroupMeansGrad).Groups, in[0], out, v.hasBase()}
	case convolveKind:
		return &Convolution{ids, v.picture, in[0], in[1], out}
	case inputGrad:
		return &ConvolutionInputGrad{ids, v.picture, in[0], in[1], out}
	case filterGrad:
		return &ConvolutionFilterGrad{ids, v.picture, in[0], in[1], out}
	case poolKind:
		return &MaxPool{ids, v.picture, in[0], out}
	case poolGrad:
		return &MaxPoolGrad{ids, v.picture, in[0], in[1], out}
	}
	return &Opaque{ids, v.node.Op(), in, v.shapes, out}
}
