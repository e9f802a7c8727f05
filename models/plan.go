package models

import "ppal/trainer/graph/describe"

var (
	_ describe.Described = addBiasOp{}
	_ describe.Described = columnSumsOp{}
	_ describe.Described = columnsOp{}
	_ describe.Described = columnOp{}
	_ describe.Described = elementwiseOp{}
	_ describe.Described = rowsOp{}
)

// Describe implements describe.Described.
func (op addBiasOp) Describe() describe.Description { return describe.AddBias{} }

// Describe implements describe.Described.
func (op columnSumsOp) Describe() describe.Description { return describe.ColumnSums{} }

// Describe implements describe.Described.
func (op columnsOp) Describe() describe.Description { return describe.Columns{} }

// Describe implements describe.Described.
func (op columnOp) Describe() describe.Description { return describe.Column{Index: op.i} }

// Describe implements describe.Described.
func (op elementwiseOp) Describe() describe.Description { return describe.Elementwise{Expr: op.expr} }

// Describe implements describe.Described.
func (op rowsOp) Describe() describe.Description { return op.description }
