package models

import "ppal/internal/plan"

var (
	_ plan.Described = addBiasOp{}
	_ plan.Described = columnSumsOp{}
	_ plan.Described = columnsOp{}
	_ plan.Described = columnOp{}
)

// PlanTerm implements plan.Described.
func (op addBiasOp) PlanTerm() plan.Term { return plan.AddBiasTerm{} }

// PlanTerm implements plan.Described.
func (op columnSumsOp) PlanTerm() plan.Term { return plan.ColumnSumsTerm{} }

// PlanTerm implements plan.Described.
func (op columnsOp) PlanTerm() plan.Term { return plan.ColumnsTerm{} }

// PlanTerm implements plan.Described.
func (op columnOp) PlanTerm() plan.Term { return plan.ColumnTerm{Index: op.i} }
