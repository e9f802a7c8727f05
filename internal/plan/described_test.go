package plan

import (
	"strings"
	"testing"

	"ppal/trainer/graph/describe"
)

func TestDescriptionsThatDoNotFit(t *testing.T) {
	matrix, vector := &value{rows: 4, cols: 3}, &value{rows: 4, cols: 1}
	load := func(k int) *describe.Expr { return &describe.Expr{Op: describe.Load, Arg: k} }
	for _, c := range []struct {
		d    describe.Description
		in   []*value
		want string // "" if the description fits the op
	}{
		{describe.Elementwise{Expr: &describe.Expr{Op: describe.Mul, X: load(0), Y: load(1)}}, []*value{matrix, vector}, ""},
		{describe.Elementwise{}, []*value{matrix}, "nil"},
		{describe.Elementwise{Expr: &describe.Expr{Op: describe.Mul, X: load(0)}}, []*value{matrix}, "operand that is nil"},
		{describe.Elementwise{Expr: &describe.Expr{Op: describe.Exp, X: load(1)}}, []*value{matrix}, "input 1, and has 1 inputs"},
		{describe.Elementwise{Expr: &describe.Expr{Op: 200, X: load(0)}}, []*value{matrix}, "unknown operation 200"},
		{describe.MarginLoss{Margins: describe.Margins{Labels: make([]int32, 4)}}, []*value{matrix}, ""},
		{describe.MarginLoss{Margins: describe.Margins{Labels: make([]int32, 5)}}, []*value{matrix}, "of 5 rows, but its input has 4"},
		{describe.MarginLossGrad{Margins: describe.Margins{Labels: make([]int32, 4)}}, []*value{matrix}, "takes 2 inputs, but the op has 1"},
		{describe.SignedLoss{Signs: describe.Signs{Labels: make([]int8, 3)}}, []*value{vector}, "of 3 rows, but its input has 4"},
		{describe.GroupMeans{Groups: describe.Groups{Rows: 9}}, []*value{vector}, "of 9 rows, but its input has 4"},
		{describe.PairMeans{Pairs: describe.Pairs{Documents: 3}}, []*value{vector}, "of 3 rows, but its input has 4"},
		{describe.PairMeansGrad{Pairs: describe.Pairs{Documents: 4, Counts: make([]int64, 4)}}, []*value{vector, vector}, ""},
		{describe.PairMeansGrad{Pairs: describe.Pairs{Documents: 4, Counts: make([]int64, 9)}}, []*value{vector, vector}, "of 9 cells, but the second input has 4"},
		{describe.PairMeansGrad{Pairs: describe.Pairs{Documents: 4}}, []*value{vector}, "takes 2 inputs, but the op has 1"},
		{describe.Column{Index: 3}, []*value{matrix}, "column 3 of 3"},
		{describe.Column{Index: 2}, []*value{matrix}, ""},
		{describe.AddBias{}, []*value{matrix}, "takes 2 inputs, but the op has 1"},
	} {
		err := checkDescription(c.d, c.in)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%T: error %v, want %q", c.d, err, c.want)
		}
	}
}
