package constraints

import "ppal/internal/plan"

var (
	_ plan.Described = (*MarginLoss)(nil)
	_ plan.Described = (*MarginLossGrad)(nil)
	_ plan.Described = (*SignedLoss)(nil)
	_ plan.Described = (*SignedLossGrad)(nil)
	_ plan.Described = (*GroupMeans)(nil)
	_ plan.Described = (*GroupMeansGrad)(nil)
)

// Describe implements plan.Described.
func (op *MarginLoss) Describe() plan.Description { return plan.MarginLossOp{Margins: op.margins()} }

// Describe implements plan.Described.
func (op *MarginLossGrad) Describe() plan.Description {
	return plan.MarginLossGradOp{Margins: op.loss.margins()}
}

// Describe implements plan.Described.
func (op *SignedLoss) Describe() plan.Description { return plan.SignedLossOp{Signs: op.signs()} }

// Describe implements plan.Described.
func (op *SignedLossGrad) Describe() plan.Description {
	return plan.SignedLossGradOp{Signs: op.loss.signs()}
}

// Describe implements plan.Described.
func (op *GroupMeans) Describe() plan.Description {
	return plan.GroupMeansOp{Groups: op.members.groups(), Offsets: op.offsets}
}

// Describe implements plan.Described.
func (op *GroupMeansGrad) Describe() plan.Description {
	return plan.GroupMeansGradOp{Groups: op.members.groups()}
}

func (op *MarginLoss) margins() plan.Margins {
	return plan.Margins{Labels: op.labels, Classes: op.classes, Phi: op.phi}
}

func (op *SignedLoss) signs() plan.Signs { return plan.Signs{Labels: op.labels, Phi: op.phi} }

func (m *Membership) groups() plan.Groups {
	return plan.Groups{Rows: m.rows, Count: m.Groups(), Starts: m.starts, Patterns: m.patterns,
		RowStarts: m.rowStarts, RowGroups: m.rowGroups, RowWeights: m.rowWeights}
}
