//go:build gpu

package kernels_test

import (
	"fmt"
	"testing"

	"ppal/internal/cuda/kernels"
	"ppal/internal/plan"
	"ppal/trainer/graph/describe"
)

// layers lists numbers of rows, hidden units and scores.
var layers = [][3]int{{1, 1, 1}, {3, 5, 2}, {40, 33, 4}, {70, 64, 3}, {130, 7, 10}, {9, 100, 16}, {700, 40, 1}, {65, 300, 5}}

func TestOutputForward(t *testing.T) {
	both(t, outputForward[float32], outputForward[float64])
}

func outputForward[T plan.Float](t *testing.T) {
	ops := []describe.Op{describe.Identity, describe.Sigmoid, describe.Tanh, describe.ReLU}
	for i, l := range layers {
		for variant := range 6 {
			r := newRig[T](t, uint64(i))
			rows, h, c := l[0], l[1], l[2]
			a, w, out := r.random(rows, h, i%3), r.random(h, c, i%2), r.result(rows, c, variant%2)
			p := kernels.OutputForward{Activation: kernels.Activation(variant % 4), A: r.on(a), W: r.on(w), Out: r.on(out)}
			if variant == 4 {
				w = r.random(c, h, 1)
				p.W, p.Transposed = r.on(w), true
			}
			if variant == 5 {
				out = r.inPlace(r.random(rows, c, 1))
				p.Out, p.Add, p.Activation = r.on(out), true, kernels.Identity
			}
			if variant > 0 && variant < 4 {
				r.inPlace(a)
				bias := r.random(1, h, 0)
				p.Bias = r.on(bias)
				r.step(&plan.Map{Expr: unary(ops[variant], binary2(describe.Add, load(0), load(1))), Args: []plan.View{a, bias}, Out: a})
			}
			r.step(&plan.Product{A: a, B: w, Out: out, TransB: variant == 4, Add: variant == 5})
			if variant > 1 {
				bias := r.random(1, c, 0)
				p.OutBias = r.on(bias)
				r.step(&plan.Map{Expr: binary2(describe.Add, load(0), load(1)), Args: []plan.View{out, bias}, Out: out})
			}
			r.do(r.s.OutputForward(r.q, p))
			r.check(float64(4+h), 2)
		}
	}
}

func TestOutputBackward(t *testing.T) {
	both(t, outputBackward[float32], outputBackward[float64])
}

func outputBackward[T plan.Float](t *testing.T) {
	for i, l := range append(layers, [3]int{5000, 3, 2}) {
		for variant := range 6 {
			t.Run(fmt.Sprint(l, variant), func(t *testing.T) { backward[T](t, uint64(i), l, variant) })
		}
	}
}

// backward checks one variant. Variants 0 to 3 compute all results, one variant for each
// activation. Variant 4 computes only the gradient of the factor. Variant 5 computes only the
// gradient of the activations, from a transposed factor, and overwrites the activations.
func backward[T plan.Float](t *testing.T, seed uint64, l [3]int, variant int) {
	slopes := []describe.Op{describe.Identity, describe.SigmoidGrad, describe.TanhGrad, describe.ReLUGrad}
	r := newRig[T](t, seed)
	rows, h, c := l[0], l[1], l[2]
	a, d, w := r.random(rows, h, int(seed)%3), r.random(rows, c, variant%2), r.random(h, c, variant%3)
	p := kernels.OutputBackward{Activation: kernels.Activation(variant % 4), A: r.on(a), D: r.on(d), W: r.on(w)}
	add := seed%2 == 0 && variant != 4
	sum := func(rows, cols int) plan.View {
		if add {
			return r.inPlace(r.random(rows, cols, 0))
		}
		return r.result(rows, cols, 0)
	}
	p.AddG, p.AddSums = add, add
	if variant != 5 {
		g := sum(h, c)
		p.G = r.on(g)
		r.step(&plan.Product{A: a, B: d, Out: g, TransA: true, Add: add})
	}
	if variant < 4 {
		bias, scores, da := sum(1, h), sum(1, c), r.result(rows, h, 1)
		p.Bias, p.OutBias, p.DA = r.on(bias), r.on(scores), r.on(da)
		r.step(&plan.Product{A: d, B: w, Out: da, TransB: true})
		if variant > 0 {
			r.step(&plan.Map{Expr: binary2(describe.Mul, unary(slopes[variant], load(0)), load(1)), Args: []plan.View{a, da}, Out: da})
		}
		addSums(r, bias, da, add)
		addSums(r, scores, d, add)
	}
	if variant == 5 {
		w = r.random(c, h, 2)
		p.W, p.Transposed, p.DA, p.Activation = r.on(w), true, r.on(r.inPlace(a)), kernels.Identity
		r.step(&plan.Product{A: d, B: w, Out: a})
	}
	r.do(r.s.OutputBackward(r.q, p))
	r.check(float64(8+rows), 4)
}

// addSums sets out to the column sums of in on the host, or adds the sums to out.
func addSums[T plan.Float](r *rig[T], out, in plan.View, add bool) {
	before := r.memory.Contents(out)
	r.step(&plan.Sums{Over: plan.OverRows, In: in, Out: out})
	for j := range before {
		if add {
			r.memory.Row(out, 0)[j] += before[j]
		}
	}
}

func TestOutputRefusesWide(t *testing.T) {
	r := newRig[float32](t, 1)
	wide := kernels.Operand{At: 8, Rows: 3, Cols: kernels.Narrow + 1, Stride: kernels.Narrow + 1}
	if r.s.OutputForward(r.q, kernels.OutputForward{Out: wide}) == nil {
		t.Error("forward: no error")
	}
	if r.s.OutputBackward(r.q, kernels.OutputBackward{D: wide}) == nil {
		t.Error("backward: no error")
	}
}
