package plan

import (
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"ppal/internal/require"
	"ppal/trainer/graph/describe"
)

// small returns a plan with one region: b2 = b0 b1 over 4 rows, b3 = -b2, b4 = column sums of b3.
func small() *Plan {
	view := func(b, rows, cols int) View { return View{Buffer: b, Stride: cols, Rows: rows, Cols: cols} }
	neg := &describe.Expr{Op: describe.Neg, X: &describe.Expr{Op: describe.Load}}
	return &Plan{
		Dtype: tensor.Float64,
		Buffers: []Buffer{{Class: Leaf, Rows: 4, Cols: 3}, {Class: Parameter, Rows: 3, Cols: 2}, {Class: Local, Rows: 4, Cols: 2},
			{Class: Local, Rows: 4, Cols: 2, Slot: 1}, {Class: Kept, Rows: 1, Cols: 2}},
		Forward: []Region{{Rows: 4, Steps: []Step{
			&Product{A: view(0, 4, 3), B: view(1, 3, 2), Out: view(2, 4, 2)},
			&Map{Expr: neg, Args: []View{view(2, 4, 2)}, Out: view(3, 4, 2)},
			&Sums{Over: OverRows, In: view(3, 4, 2), Out: view(4, 1, 2)},
		}}},
		Objective: view(4, 1, 2),
		Slots:     []int{2}, Scratch: []int{2, 2},
	}
}

func TestCheckFindsMistakes(t *testing.T) {
	require.NoError(t, small().Check())
	for _, test := range []struct {
		want   string
		damage func(p *Plan)
	}{
		{"was not written", func(p *Plan) { p.Forward[0].Steps = p.Forward[0].Steps[1:] }},
		{"holds b3", func(p *Plan) { // a step reads b2 after b3 took the scratch memory of b2
			p.Buffers[3].Slot = 0
			p.Forward[0].Steps = append(p.Forward[0].Steps, &Sums{Over: OverRows, In: p.Forward[0].Steps[0].Writes()[0].View, Out: p.Objective})
		}},
		{"share slot 0", func(p *Plan) { p.Buffers[3] = Buffer{Class: Temporary, Rows: 4, Cols: 2}; p.Slots[0] = 8 }},
		{"in the same region", func(p *Plan) {
			p.Forward[0].Steps = append(p.Forward[0].Steps, &Map{Expr: &describe.Expr{Op: describe.Neg, X: &describe.Expr{Op: describe.Load}},
				Args: []View{p.Objective}, Out: p.Forward[0].Steps[1].Writes()[0].View})
		}},
		{"writes a parameter", func(p *Plan) { p.Forward[0].Steps[0].(*Product).Out.Buffer = 1 }},
		{"larger than", func(p *Plan) { p.Scratch[1] = 1 }},
		{"read and written", func(p *Plan) {
			b3 := p.Forward[0].Steps[1].Writes()[0].View
			p.Forward[0].Steps = append(p.Forward[0].Steps, &Copy{From: b3, To: b3})
		}},
		{"in a region of", func(p *Plan) { p.Forward[0].Rows = 0 }},
	} {
		p := small()
		test.damage(p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want an error with %q", err, test.want)
		}
	}
}

func TestSlotsAreReused(t *testing.T) {
	var p pool
	a := p.take(10, span{0, 0, 2})
	b := p.take(4, span{1, 1, 3})
	c := p.take(6, span{2, 3, 4}) // slot a is free, slot b is not
	d := p.take(3, span{3, 4, 4}) // slot b is free
	if a == b || c != a || d != b || len(p.sizes) != 2 {
		t.Errorf("slots %d %d %d %d of sizes %v", a, b, c, d, p.sizes)
	}
}
