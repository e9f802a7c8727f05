package constraints

import "ppal/trainer/graph/describe"

var (
	_ describe.Described = (*MarginLoss)(nil)
	_ describe.Described = (*MarginLossGrad)(nil)
	_ describe.Described = (*SignedLoss)(nil)
	_ describe.Described = (*SignedLossGrad)(nil)
	_ describe.Described = (*GroupMeans)(nil)
	_ describe.Described = (*GroupMeansGrad)(nil)
)

// Describe implements describe.Described.
func (op *MarginLoss) Describe() describe.Description {
	return describe.MarginLoss{Margins: op.margins()}
}

// Describe implements describe.Described.
func (op *MarginLossGrad) Describe() describe.Description {
	return describe.MarginLossGrad{Margins: op.loss.margins()}
}

// Describe implements describe.Described.
func (op *SignedLoss) Describe() describe.Description { return describe.SignedLoss{Signs: op.signs()} }

// Describe implements describe.Described.
func (op *SignedLossGrad) Describe() describe.Description {
	return describe.SignedLossGrad{Signs: op.loss.signs()}
}

// Describe implements describe.Described.
func (op *GroupMeans) Describe() describe.Description {
	return describe.GroupMeans{Groups: op.members.groups(), Offsets: op.offsets}
}

// Describe implements describe.Described.
func (op *GroupMeansGrad) Describe() describe.Description {
	return describe.GroupMeansGrad{Groups: op.members.groups()}
}

func (op *MarginLoss) margins() describe.Margins {
	return describe.Margins{Labels: op.labels, Classes: op.classes, Phi: op.phi}
}

func (op *SignedLoss) signs() describe.Signs { return describe.Signs{Labels: op.labels, Phi: op.phi} }

func (m *Membership) groups() describe.Groups {
	return describe.Groups{Rows: m.rows, Count: m.Groups(), Starts: m.starts, Patterns: m.patterns,
		RowStarts: m.rowStarts, RowGroups: m.rowGroups, RowWeights: m.rowWeights}
}
