package models

import "ppal/internal/plan"

var (
	_ plan.Described = addBiasOp{}
	_ plan.Described = columnSumsOp{}
	_ plan.Described = columnsOp{}
	_ plan.Described = columnOp{}
)

// Describe implements plan.Described.
func (op addBiasOp) Describe() plan.Description { return plan.AddBiasOp{} }

// Describe implements plan.Described.
func (op columnSumsOp) Describe() plan.Description { return plan.ColumnSumsOp{} }

// Describe implements plan.Described.
func (op columnsOp) Describe() plan.Description { return plan.ColumnsOp{} }

// Describe implements plan.Described.
func (op columnOp) Describe() plan.Description { return plan.ColumnOp{Index: op.i} }
