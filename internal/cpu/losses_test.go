package cpu

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/trainer/graph/describe"
)

// square is a surrogate that no device knows.
type square struct{}

func (square) Value(y float64) float64 { return y * y }
func (square) Deriv(y float64) float64 { return 2 * y }
func (square) String() string          { return "square" }

// The plan's loops compute surrogates that have no kernel.
func TestUnknownSurrogate(t *testing.T) {
	const rows = 2*kernel.RowBlock + 3
	view := func(b, cols int) plan.View { return plan.View{Buffer: b, Stride: cols, Rows: rows, Cols: cols} }
	buffer := func(c plan.Class, cols int) plan.Buffer { return plan.Buffer{Class: c, Rows: rows, Cols: cols} }
	m, s := describe.Margins{Labels: make([]int32, rows), Classes: 3, Phi: square{}}, describe.Signs{Labels: make([]int8, rows), Phi: square{}}
	for i := range rows {
		m.Labels[i], s.Labels[i] = int32(i%3), int8(1-2*(i%2))
	}
	p := &plan.Plan{
		Dtype: tensor.Float64,
		Buffers: []plan.Buffer{buffer(plan.Leaf, 3), buffer(plan.Leaf, 1), buffer(plan.Gradient, 1), buffer(plan.Gradient, 3),
			buffer(plan.Gradient, 1), buffer(plan.Gradient, 1)},
		Forward: []plan.Region{{Rows: rows, Steps: []plan.Step{
			&plan.MarginLoss{Margins: m, S: view(0, 3), Out: view(2, 1)},
			&plan.MarginLossGrad{Margins: m, S: view(0, 3), D: view(1, 1), Out: view(3, 3)},
			&plan.SignedLoss{Signs: s, S: view(1, 1), Out: view(4, 1)},
			&plan.SignedLossGrad{Signs: s, S: view(1, 1), D: view(4, 1), Out: view(5, 1)},
		}}},
	}
	d := require.Value(New(kernel.Best(), 2))(t)
	defer d.Close()
	e := require.Value(newExecutor[float64](d, p))(t)
	reference := require.Value(plan.NewReference[float64](p, 0))(t)
	for b, cols := range []int{3, 1} {
		data := make([]float64, rows*cols)
		for i := range data {
			data[i] = math.Sin(float64(i + b))
		}
		for _, run := range []boundExecutor{e, reference} {
			require.NoError(t, run.Bind(view(b, cols), &matrix.Dense{Rows: rows, Cols: cols, Data: data}))
		}
	}
	for _, run := range []boundExecutor{e, reference} {
		require.NoError(t, run.Forward())
	}
	for b, cols := range []int{3, 1, 1, 3, 1, 1} {
		got, want := e.Contents(view(b, cols)), reference.Contents(view(b, cols))
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("b%d: element %d is %v, want %v", b, i, got[i], want[i])
			}
		}
	}
	if v := e.Contents(view(2, 1))[0]; v == 0 {
		t.Error("the losses are zero")
	}
}

// boundExecutor runs a plan and binds its inputs: an executor or the plan's reference.
type boundExecutor interface {
	Executor[float64]
	Bind(v plan.View, m matrix.Matrix) error
}

// rates is a plan on n rows: scores s = 2 x, an objective of logistic losses with labels, two
// groups' means of sigmoids, and the derivative of all of them. The groups have all rows between
// them, or else all but every seventh.
//
//	b0 x [n]  b1 weights [3]  b2 s [n]  b3 mean [1]  b4 means [2]
//	b5, b6 losses  b7, b8 derivatives of the losses  b9 ds [n]
type rates struct {
	*plan.Plan
	n int
}

func newRates(n int, all bool) rates {
	labels, ones := describe.Signs{Phi: constraints.Logistic}, describe.Signs{Phi: constraints.Sigmoid}
	one := describe.Groups{Rows: n, Count: 1, Starts: []int{0, n}}
	two := describe.Groups{Rows: n, Count: 2, RowStarts: []int{0}}
	sizes := [2]int{}
	for i := range n {
		labels.Labels, ones.Labels = append(labels.Labels, int8(1-2*(i%3%2))), append(ones.Labels, -1)
		if all || i%7 != 6 {
			two.RowGroups = append(two.RowGroups, int32(i%2))
			sizes[i%2]++
		}
		two.RowStarts = append(two.RowStarts, len(two.RowGroups))
	}
	two.Starts = []int{0, sizes[0], sizes[0] + sizes[1]}
	r := rates{&plan.Plan{Dtype: tensor.Float64, Slots: []int{n, 1, 2}, Scratch: []int{1, 1, 1, 1}}, n}
	buffer := func(c plan.Class, rows, slot int) {
		r.Buffers = append(r.Buffers, plan.Buffer{Class: c, Rows: rows, Cols: 1, RowWise: rows == n, Slot: slot})
	}
	buffer(plan.Leaf, n, 0)
	buffer(plan.Coefficient, 3, 0)
	for slot, rows := range r.Slots {
		buffer(plan.Kept, rows, slot)
	}
	for slot := range r.Scratch {
		buffer(plan.Local, n, slot)
	}
	buffer(plan.Gradient, n, 0)
	w := r.view(1)
	r.Inputs, r.Objective, r.Constraints, r.Gradients = []plan.View{r.view(0)}, r.view(3), []plan.View{r.view(4)}, []plan.View{r.view(9)}
	r.Coefficients = []plan.View{w}
	first, rest := w, w
	first.Rows, rest.Rows, rest.Offset = 1, 2, 1
	load := &describe.Expr{Op: describe.Load}
	r.Forward = []plan.Region{{Rows: n, Steps: []plan.Step{
		&plan.Map{Expr: &describe.Expr{Op: describe.Add, X: load, Y: load}, Args: []plan.View{r.view(0)}, Out: r.view(2)},
		&plan.SignedLoss{Signs: labels, S: r.view(2), Out: r.view(5)},
		&plan.GroupMeans{Groups: one, In: r.view(5), Out: r.view(3)},
		&plan.SignedLoss{Signs: ones, S: r.view(2), Out: r.view(6)},
		&plan.GroupMeans{Groups: two, Offsets: []float64{0.25, 0}, In: r.view(6), Out: r.view(4)},
	}}}
	r.Backward = []plan.Region{{Rows: n, Steps: []plan.Step{
		&plan.GroupMeansGrad{Groups: two, W: rest, Out: r.view(7)},
		&plan.SignedLossGrad{Signs: ones, S: r.view(2), D: r.view(7), Out: r.view(9)},
		&plan.GroupMeansGrad{Groups: one, W: first, Out: r.view(8)},
		&plan.SignedLossGrad{Signs: labels, S: r.view(2), D: r.view(8), Out: r.view(9), Add: true},
	}}}
	return r
}

// view returns a view of a whole buffer.
func (r rates) view(b int) plan.View {
	return plan.View{Buffer: b, Stride: 1, Rows: r.Buffers[b].Rows, Cols: 1}
}

// check runs two iterations on a device, the second iteration with other rows, and compares their
// results with the plan's loops.
func (r rates) check(t *testing.T, level kernel.Level, threads int) {
	t.Helper()
	d := require.Value(New(level, threads))(t)
	defer d.Close()
	r.checkType(t, must(newExecutor[float64](d, r.Plan)), must(plan.NewReference[float64](r.Plan, 0)))
}

func (r rates) checkType(t *testing.T, e, reference boundExecutor) {
	t.Helper()
	for round := range 2 {
		x := make([]float64, r.n)
		for i := range x {
			x[i] = 5 * math.Sin(float64(3*i+round))
		}
		for _, run := range []boundExecutor{e, reference} {
			for _, err := range []error{run.Bind(r.view(0), &matrix.Dense{Rows: r.n, Cols: 1, Data: x}), run.Forward(), run.Backward([]float64{0.5, -2, 1.5})} {
				require.NoError(t, err)
			}
		}
		for _, b := range []int{2, 3, 4, 9} {
			got, want := e.Contents(r.view(b)), reference.Contents(r.view(b))
			for i := range want {
				if !(math.Abs(got[i]-want[i]) <= 1e-13*(math.Abs(want[i])+1e-3)) {
					t.Fatalf("round %d, b%d: element %d is %v, want %v", round, b, i, got[i], want[i])
				}
			}
		}
	}
}

// kinds returns the types of the steps of a half.
func kinds(regions []*region[float64]) (names []string) {
	for _, r := range regions {
		for _, s := range r.steps {
			names = append(names, fmt.Sprintf("%T", s))
		}
	}
	return names
}

// compiled returns the types of both halves' steps on the best kernels.
func (r rates) compiled(t *testing.T) []string {
	t.Helper()
	e := must(newExecutor[float64](must(New(kernel.Best(), 2)), r.Plan))
	return slices.Concat(kinds(e.forward), kinds(e.backward))
}

func count(names []string, s step[float64]) (n int) {
	for _, name := range names {
		if name == fmt.Sprintf("%T", s) {
			n++
		}
	}
	return n
}

// One exponential for each row serves both losses and both derivatives. The device does not write
// the logistic losses and the weights of two kinds of rows.
func TestTailsServeBothHalves(t *testing.T) {
	for _, all := range []bool{true, false} {
		for _, n := range []int{2, 31, 240, 5000} {
			for _, level := range kernel.Levels() {
				for _, threads := range []int{1, 3} {
					newRates(n, all).check(t, level, threads)
				}
			}
		}
		joined := 1 // the step that joins the losses' weights, which are one number
		if all && kernel.Best() != kernel.Go {
			joined = 2
		}
		steps := newRates(5000, all).compiled(t)
		for _, c := range []struct {
			step step[float64]
			want int
		}{
			{&tailsStep[float64]{}, 1}, {&tailSigmoid[float64]{}, 1}, {&logisticMeans[float64]{}, 1}, {&tailGradWhere[float64]{}, joined},
			{&tailGrad[float64]{}, 2 - joined}, {&signedLoss[float64]{}, 0}, {&signedLossGrad[float64]{}, 0},
		} {
			if got := count(steps, c.step); got != c.want {
				t.Errorf("%d steps %T, want %d: %v", got, c.step, c.want, steps)
			}
		}
	}
}

// The device writes a logistic loss that another step also reads.
func TestLogisticLossesThatAreRead(t *testing.T) {
	r := newRates(700, true)
	steps := &r.Forward[0].Steps
	*steps = append(*steps, &plan.Sums{Over: plan.OverAll, In: r.view(5), Out: r.view(3)})
	r.check(t, kernel.Best(), 2)
	if names := r.compiled(t); count(names, &logisticMeans[float64]{}) != 0 || count(names, &signedLoss[float64]{}) != 1 {
		t.Error(names)
	}
}

// Scores that may change between the halves, or after the first loss, have no tails.
func TestScoresWithoutTails(t *testing.T) {
	bound := newRates(700, true)
	for _, region := range slices.Concat(bound.Forward, bound.Backward) {
		for _, s := range region.Steps {
			switch s := s.(type) {
			case *plan.SignedLoss:
				s.S = bound.view(0)
			case *plan.SignedLossGrad:
				s.S = bound.view(0)
			}
		}
	}
	rewritten := newRates(700, true)
	load := &describe.Expr{Op: describe.Load}
	rewritten.Forward = append(rewritten.Forward, plan.Region{Rows: 700, Steps: []plan.Step{
		&plan.Map{Expr: &describe.Expr{Op: describe.Square, X: load}, Args: []plan.View{rewritten.view(2)}, Out: rewritten.view(2)}}})
	for _, r := range []rates{bound, rewritten} {
		r.check(t, kernel.Best(), 2)
		if names := r.compiled(t); count(names, &tailsStep[float64]{}) != 0 || count(names, &signedLossGrad[float64]{}) != 2 {
			t.Error(names)
		}
	}
}

// surrogates returns the package's surrogates and a surrogate without a kernel.
func surrogates() []describe.Surrogate {
	return []describe.Surrogate{constraints.Sigmoid, constraints.Logistic, constraints.Hinge, ramp{}}
}

type ramp struct{}

func (ramp) Value(y float64) float64 { return max(0, 2-y) }
func (ramp) Deriv(y float64) float64 { return math.Copysign(0.5, y-3) }
func (ramp) String() string          { return "ramp" }

// The passes equal the reference up to rounding, in the tails, at the kink, at the infinities and
// for NaN.
func TestSignedLosses(t *testing.T) {
	for _, level := range kernel.Levels() {
		checkSigned[float64](t, level, 1e-14)
		checkSigned[float32](t, level, 1e-6)
	}
}

func checkSigned[T plan.Float](t *testing.T, level kernel.Level, tolerance float64) {
	scores := []T{0, 1, -1, 0.5, -0.5, 3, -3, 20, -20, 60, -60, 1e30, -1e30, T(math.Inf(1)), T(math.Inf(-1)), T(math.NaN()), 1e-20}
	scores = append(scores, scores...)
	n := len(scores)
	signs, d, base := describe.Signs{}, make([]T, n), make([]T, n)
	for i := range scores {
		signs.Labels = append(signs.Labels, int8(1-2*(2*i/n)))
		d[i], base[i] = T(0.25*float64(i%5)-0.5), T(i%3-1)
	}
	column := func(buffer int) plan.View { return plan.View{Buffer: buffer, Stride: 1, Rows: n, Cols: 1} }
	k := require.Value(kernel.New[T](level))(t)
	for _, phi := range surrogates() {
		signs.Phi = phi
		for _, s := range []plan.Step{
			&plan.SignedLoss{Signs: signs, S: column(0), Out: column(2)},
			&plan.SignedLossGrad{Signs: signs, S: column(0), D: column(1), Out: column(2)},
			&plan.SignedLossGrad{Signs: signs, S: column(0), D: column(1), Out: column(2), Add: true},
		} {
			memory := func() *plan.Memory[T] {
				return &plan.Memory[T]{Data: [][]T{scores, d, slices.Clone(base)}, First: make([]int, 3)}
			}
			want, got := memory(), memory()
			require.NoError(t, plan.Run(s, want, 0, n, nil))
			w, compiled := &worker[T]{Memory: got, k: k}, (&executor[T]{k: k, threads: 1}).blockStep(s)
			for lo := 0; lo < n; lo += 10 {
				require.NoError(t, compiled.block(0, w, lo, min(lo+10, n)))
			}
			for i, x := range want.Data[2] {
				if !near(float64(got.Data[2][i]), float64(x), tolerance) {
					t.Errorf("%v, %T, %T: score %g, label %d: %g, want %g", level, x, s, scores[i], signs.Labels[i], got.Data[2][i], x)
				}
			}
			if name := fmt.Sprintf("%T", compiled); phi == (ramp{}) != (name == fmt.Sprintf("%T", &reference[T]{})) {
				t.Errorf("%v runs through %s", phi, name)
			}
		}
	}
}

// near compares numbers with a relative tolerance, and NaN and infinities exactly.
func near(a, b, tolerance float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= tolerance*max(math.Abs(b), 1e-30)
}
