//go:build gpu

package kernels_test

import (
	"fmt"
	"slices"
	"strings"
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

// wideShapes lists numbers of rows and of columns, which are multiples of four.
var wideShapes = [][2]int{{1, 4}, {5, 8}, {33, 128}, {135, 260}, {530, 36}}

// launched fails the test if the last launch is not of a kernel.
func (r *rig[T]) launched(kernel string) {
	r.t.Helper()
	if calls := r.d.Calls(); calls[len(calls)-1].Name != kernel {
		r.t.Errorf("%s, want %s", calls[len(calls)-1].Name, kernel)
	}
}

// wideCases calls f for all numbers of scores and shapes. Numbers without a kernel of their own
// have two shapes.
func wideCases(f func(seed uint64, rows, cols, scores, kernel int)) {
	for scores := 1; scores <= kernels.Narrow; scores++ {
		i, own := slices.BinarySearch(kernels.WideScores, scores)
		for seed, l := range wideShapes {
			if own || seed == 1 || seed == 3 {
				f(uint64(seed), l[0], l[1], scores, kernels.WideScores[i])
			}
		}
	}
}

// Multiples of four columns have forward kernels with loads of 128 bits in float32, for all numbers
// of scores and the activations that the kernels know, with and without biases and sums.
func TestOutputForwardWide(t *testing.T) {
	wideCases(func(seed uint64, rows, h, scores, kernel int) {
		for variant := range 6 {
			t.Run(fmt.Sprint(rows, h, scores, variant), func(t *testing.T) {
				r := newRig[float32](t, seed)
				a, w, out := r.random(rows, h, 8*int(seed%2)), r.random(h, scores, 0), r.result(rows, scores, variant%2)
				p := kernels.OutputForward{A: r.on(a), W: r.on(w), Out: r.on(out)}
				name := "none"
				if op := []describe.Op{describe.Identity, describe.Sigmoid, describe.ReLU}[variant%3]; op != describe.Identity {
					p.Activation, name = kernels.Sigmoid, "sigmoid"
					if op == describe.ReLU {
						p.Activation, name = kernels.ReLU, "relu"
					}
					r.inPlace(a)
					expr, args := unary(op, load(0)), []plan.View{a}
					if variant > 2 {
						bias := r.random(1, h, 0)
						p.Bias = r.on(bias)
						expr, args = unary(op, binary2(describe.Add, load(0), load(1))), append(args, bias)
					}
					r.step(&plan.Map{Expr: expr, Args: args, Out: a})
				}
				if variant == 3 {
					out = r.inPlace(r.random(rows, scores, 1))
					p.Out, p.Add = r.on(out), true
				}
				r.step(&plan.Product{A: a, B: w, Out: out, Add: p.Add})
				if variant > 3 {
					bias := r.random(1, scores, 0)
					p.OutBias = r.on(bias)
					r.step(&plan.Map{Expr: binary2(describe.Add, load(0), load(1)), Args: []plan.View{out, bias}, Out: out})
				}
				r.do(r.s.OutputForward(r.q, p))
				r.launched(fmt.Sprintf("output_forward_wide_%d_%s_f32", kernel, name))
				r.check(float64(4+h), 2)
			})
		}
	})
}

// The backward kernels know three activations and compute all results, from a factor or its
// transpose, with and without sums, and in place.
func TestOutputBackwardWide(t *testing.T) {
	slopes := map[kernels.Activation]describe.Op{kernels.Sigmoid: describe.SigmoidGrad, kernels.Tanh: describe.TanhGrad, kernels.ReLU: describe.ReLUGrad}
	names := map[kernels.Activation]string{kernels.Sigmoid: "sigmoid", kernels.Tanh: "tanh", kernels.ReLU: "relu"}
	wideCases(func(seed uint64, rows, h, scores, kernel int) {
		for f, slope := range slopes {
			for variant := range 2 {
				t.Run(fmt.Sprint(rows, h, scores, names[f], variant), func(t *testing.T) {
					r := newRig[float32](t, seed)
					again := variant == 1
					sum := func(rows, cols int) plan.View {
						if again {
							return r.inPlace(r.random(rows, cols, 1))
						}
						return r.result(rows, cols, 0)
					}
					a, d, w, da := r.random(rows, h, 8*int(seed%2)), r.random(rows, scores, 0), r.random(h, scores, 1), r.result(rows, h, 0)
					if again {
						w = r.random(scores, h, 0)
					}
					g, bias, outBias := sum(h, scores), sum(1, h), sum(1, scores)
					p := kernels.OutputBackward{Activation: f, A: r.on(a), D: r.on(d), W: r.on(w), Transposed: again, DA: r.on(da), Bias: r.on(bias),
						OutBias: r.on(outBias), G: r.on(g), AddG: again, AddSums: again}
					r.step(&plan.Product{A: a, B: d, Out: g, TransA: true, Add: again})
					r.step(&plan.Product{A: d, B: w, Out: da, TransB: !again})
					r.step(&plan.Map{Expr: binary2(describe.Mul, unary(slope, load(0)), load(1)), Args: []plan.View{a, da}, Out: da})
					addSums(r, bias, da, again)
					addSums(r, outBias, d, again)
					if again { // in place: the result is compared in the buffer of the activations
						p.DA = r.on(r.inPlace(a))
						r.memory.Data[a.Buffer], r.memory.Data[da.Buffer] = written(r, a, da), r.contents(da.Buffer)
					}
					r.do(r.s.OutputBackward(r.q, p))
					r.launched(fmt.Sprintf("output_backward_wide_%d_%s_f32", kernel, names[f]))
					r.check(float64(8+rows), 4)
				})
			}
		}
	})
}

// written returns the buffer of to with the elements of from.
func written(r *rig[float32], to, from plan.View) []float32 {
	data := append([]float32(nil), r.memory.Data[to.Buffer]...)
	for i := range to.Rows {
		copy(data[to.Offset+i*to.Stride:][:to.Cols], r.memory.Row(from, i))
	}
	return data
}

// Matrices that begin or continue between multiples of 16 bytes, other numbers of columns, a factor
// with gaps, quantized results and float64 use the general kernels.
func TestOutputOfOthers(t *testing.T) {
	r := newRig[float32](t, 1)
	general := func(what any) {
		t.Helper()
		if calls := r.d.Calls(); strings.Contains(calls[len(calls)-1].Name, "wide") {
			t.Errorf("%+v: %s", what, calls[len(calls)-1].Name)
		}
	}
	for _, c := range []struct {
		h, gap, scores, gapOfW int
		transposed             bool
		activation             kernels.Activation
	}{
		{6, 0, 4, 0, false, 0}, {8, 2, 4, 0, false, 0}, {8, 0, 4, 0, false, kernels.Tanh},
		{8, 1, 4, 0, false, kernels.Sigmoid}, {8, 0, 4, 1, false, 0}, {8, 0, 1, 0, true, 0},
	} {
		a, w, out := r.inPlace(r.random(9, c.h, c.gap)), r.random(c.h, c.scores, c.gapOfW), r.result(9, c.scores, 0)
		if c.transposed {
			w = r.random(c.scores, c.h, 0)
		}
		r.do(r.s.OutputForward(r.q, kernels.OutputForward{Activation: c.activation, A: r.on(a), W: r.on(w), Transposed: c.transposed, Out: r.on(out)}))
		general(c)
	}
	for _, c := range []struct {
		h, gap, scores, gapOfD int
		activation             kernels.Activation
	}{
		{6, 0, 4, 0, kernels.Sigmoid}, {8, 2, 4, 0, kernels.Sigmoid}, {8, 0, 4, 4, kernels.Sigmoid},
		{8, 0, 4, 0, kernels.Identity},
	} {
		a, d, w, da := r.random(9, c.h, c.gap), r.random(9, c.scores, c.gapOfD), r.random(c.h, c.scores, 0), r.result(9, c.h, 0)
		p := kernels.OutputBackward{Activation: c.activation, A: r.on(a), D: r.on(d), W: r.on(w), DA: r.on(da)}
		r.do(r.s.OutputBackward(r.q, p))
		general(c)
		p.Activation, p.A, p.D, p.DA = kernels.Sigmoid, r.on(r.random(9, 8, 0)), r.on(r.random(9, 4, 0)), kernels.Operand{}
		p.W, p.G = kernels.Operand{}, r.on(r.result(8, 4, 0))
		r.do(r.s.OutputBackward(r.q, p)) // the gradient of the factor alone
		general(c)
	}
}
