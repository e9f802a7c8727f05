package plan

import (
	"errors"
	"fmt"

	"ppal/trainer/graph/describe"
)

// checkDescription returns an error if a description does not fit the op's inputs.
func checkDescription(d describe.Description, in []*value) error {
	inputs, rows := 1, -1 // rows: the number of rows that the description expects
	switch d := d.(type) {
	case describe.Elementwise:
		if d.Expr == nil {
			return errors.New("described by an expression that is nil")
		}
		return d.Expr.Check(len(in))
	case describe.MarginLoss:
		rows = len(d.Labels)
	case describe.MarginLossGrad:
		inputs, rows = 2, len(d.Labels)
	case describe.SignedLoss:
		rows = len(d.Labels)
	case describe.SignedLossGrad:
		inputs, rows = 2, len(d.Labels)
	case describe.GroupMeans:
		rows = d.Rows
	case describe.AddBias:
		inputs = 2
	case describe.Columns:
		inputs = len(in)
	case describe.Column:
		if len(in) == 1 && (d.Index < 0 || d.Index >= in[0].cols) {
			return fmt.Errorf("described as column %d of %d", d.Index, in[0].cols)
		}
	}
	switch {
	case len(in) != inputs:
		return fmt.Errorf("described as %T, which takes %d inputs, but the op has %d", d, inputs, len(in))
	case rows >= 0 && in[0].rows != rows:
		return fmt.Errorf("described as %T of %d rows, but its input has %d", d, rows, in[0].rows)
	}
	return nil
}
