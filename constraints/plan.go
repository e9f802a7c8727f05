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

// PlanTerm implements plan.Described.
func (op *MarginLoss) PlanTerm() plan.Term { return plan.MarginLossTerm{Margins: op.margins()} }

// PlanTerm implements plan.Described.
func (op *MarginLossGrad) PlanTerm() plan.Term {
	return plan.MarginLossGradTerm{Margins: op.loss.margins()}
}

// PlanTerm implements plan.Described.
func (op *SignedLoss) PlanTerm() plan.Term { return plan.SignedLossTerm{Signs: op.signs()} }

// PlanTerm implements plan.Described.
func (op *SignedLossGrad) PlanTerm() plan.Term {
	return plan.SignedLossGradTerm{Signs: op.loss.signs()}
}

// PlanTerm implements plan.Described.
func (op *GroupMeans) PlanTerm() plan.Term {
	return plan.GroupMeansTerm{Groups: op.members.groups(), Offsets: op.offsets}
}

// PlanTerm implements plan.Described.
func (op *GroupMeansGrad) PlanTerm() plan.Term {
	return plan.GroupMeansGradTerm{Groups: op.members.groups()}
}

func (op *MarginLoss) margins() plan.Margins {
	return plan.Margins{Labels: op.labels, Classes: op.classes, Phi: op.phi}
}

func (op *SignedLoss) signs() plan.Signs { return plan.Signs{Labels: op.labels, Phi: op.phi} }

func (m *Membership) groups() plan.Groups {
	return plan.Groups{Rows: m.rows, Count: m.Groups(), Starts: m.starts, RowStarts: m.rowStarts, RowGroups: m.rowGroups, RowWeights: m.rowWeights}
}
