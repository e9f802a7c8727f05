package plan

import (
	"strings"
	"testing"
)

func TestDescriptionsThatDoNotFit(t *testing.T) {
	matrix, vector := &value{rows: 4, cols: 3}, &value{rows: 4, cols: 1}
	load := func(k int) *Expr { return &Expr{Op: Load, Arg: k} }
	for _, c := range []struct {
		d    Description
		in   []*value
		want string // "" if the description fits the op
	}{
		{ElementwiseOp{&Expr{Op: Mul, X: load(0), Y: load(1)}}, []*value{matrix, vector}, ""},
		{ElementwiseOp{}, []*value{matrix}, "nil"},
		{ElementwiseOp{&Expr{Op: Mul, X: load(0)}}, []*value{matrix}, "operand that is nil"},
		{ElementwiseOp{&Expr{Op: Exp, X: load(1)}}, []*value{matrix}, "input 1, and has 1 inputs"},
		{ElementwiseOp{&Expr{Op: 200, X: load(0)}}, []*value{matrix}, "unknown operation 200"},
		{MarginLossOp{Margins{Labels: make([]int32, 4)}}, []*value{matrix}, ""},
		{MarginLossOp{Margins{Labels: make([]int32, 5)}}, []*value{matrix}, "of 5 rows, and its input has 4"},
		{MarginLossGradOp{Margins{Labels: make([]int32, 4)}}, []*value{matrix}, "of 2 inputs, and has 1"},
		{SignedLossOp{Signs{Labels: make([]int8, 3)}}, []*value{vector}, "of 3 rows, and its input has 4"},
		{GroupMeansOp{Groups: Groups{Rows: 9}}, []*value{vector}, "of 9 rows, and its input has 4"},
		{ColumnOp{3}, []*value{matrix}, "column 3 of 3"},
		{ColumnOp{2}, []*value{matrix}, ""},
		{AddBiasOp{}, []*value{matrix}, "of 2 inputs, and has 1"},
	} {
		err := checkDescription(c.d, c.in)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%T: error %v, want %q", c.d, err, c.want)
		}
	}
}
