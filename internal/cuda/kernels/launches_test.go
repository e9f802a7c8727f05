package kernels_test

import (
	"errors"
	"slices"
	"testing"

	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/trainer/graph/describe"
	"ppal/trainer/problem"
)

// compiler is a driver that only loads modules.
type compiler struct {
	driver.Driver
	entries map[string]kernels.Entry // entries of the loaded modules
	loads   int
	taken   []string // compiled modules that were loaded
	refuses bool     // compiled modules
	major   int      // of the compute capability; 0 has no compiled modules
	minor   int
	fails   error
}

func (c *compiler) Load(ptx string) (driver.Module, error) {
	c.loads++
	for _, e := range kernels.Entries(ptx) {
		c.entries[e.Name] = e
	}
	return 1, c.fails
}

func (c *compiler) Info() driver.Info { return driver.Info{Major: c.major, Minor: c.minor} }

func (c *compiler) LoadBinary(module []byte) (driver.Module, error) {
	if c.refuses {
		return 0, errors.New("refused")
	}
	c.taken = append(c.taken, string(module))
	return 1, nil
}

func (c *compiler) Function(_ driver.Module, name string) (driver.Function, error) { return 1, nil }

// recorder is a queue that records launches. Its scratch memory and counters have arbitrary
// addresses.
type recorder struct{ launches []driver.Launch }

func (r *recorder) Launch(l *driver.Launch) error {
	r.launches = append(r.launches, *l)
	return nil
}

func (r *recorder) Clear(driver.Pointer, int) error      { return nil }
func (r *recorder) Scratch(int) (driver.Pointer, error)  { return 0x1000, nil }
func (r *recorder) Counters(int) (driver.Pointer, error) { return 0x2000, nil }

func matrix(rows, cols int) kernels.Operand {
	return kernels.Operand{At: 0x4000, Rows: rows, Cols: cols, Stride: cols}
}

// mapped2 compiles an expression of two operands.
func mapped2(t *testing.T, e *describe.Expr) *kernels.Map {
	t.Helper()
	return require.Value(kernels.NewMap(e, []kernels.Operand{matrix(3, 4), matrix(3, 4)}, matrix(3, 4)))(t)
}

var pixel = plan.Window{Channels: 1, Height: 2, Width: 2, Lines: 1, Columns: 1, StrideY: 1, StrideX: 1, DilationY: 1, DilationX: 1, OutputHeight: 2, OutputWidth: 2}

// everything calls every launching function, in every form that has its own kernel.
func everything(t *testing.T, s *kernels.Set, q kernels.Queue) {
	do := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	const p driver.Pointer = 0x8000
	for f := kernels.Identity; f <= kernels.ReLU; f++ {
		do(s.BiasActivation(q, f, matrix(5, 4), matrix(1, 4)))
		do(s.ActivationGrad(q, f, matrix(5, 4), matrix(5, 4)))
		do(s.Slopes(q, kernels.Slopes{Activation: f, A: matrix(5, 4), D: matrix(5, 4), Sums: matrix(1, 4)}))
	}
	do(s.RankOne(q, -1, matrix(1, 5), matrix(1, 4), matrix(5, 4)))
	do(s.Copy(q, matrix(5, 4), matrix(5, 4)))
	do(s.Map(q, mapped2(t, &describe.Expr{Op: describe.Sub, X: &describe.Expr{Op: describe.Load}, Y: &describe.Expr{Op: describe.Load, Arg: 1}}), 0))
	do(s.Map(q, mapped2(t, &describe.Expr{Op: describe.Exp, X: &describe.Expr{Op: describe.Load}}), p))
	for _, over := range []plan.Axis{plan.OverRows, plan.OverColumns, plan.OverAll} {
		do(s.Sums(q, over, matrix(5, 4), matrix(1, 1), true))
	}
	do(s.WeightedSums(q, 2, matrix(1, 5), matrix(5, 4), matrix(1, 4), false))
	groups := describe.Groups{Rows: 5, Count: 2, Starts: []int{0, 2, 5}}
	m := kernels.NewMeans(kernels.MeansStep{Groups: groups, Out: matrix(2, 1)})
	w := kernels.NewMeansGrad(kernels.MeansGradStep{Groups: groups, W: matrix(2, 1)})
	do(s.GroupMeans(q, m, p, matrix(5, 1)))
	do(s.GroupMeansGrad(q, w, p, matrix(5, 1), false))
	pairs := kernels.NewPairs(describe.Pairs{Documents: 5, Groups: 1, Order: []int32{3, 0, 2}, Blocks: []describe.Block{{End: 1}, {End: 3, Level: 1}},
		Queries: []int32{0, 2}, Counts: []int64{2}})
	do(s.PairMeans(q, pairs, p, kernels.PhiSigmoid, matrix(5, 1), matrix(1, 1)))
	do(s.PairMeansGrad(q, pairs, p, kernels.PhiSigmoid, matrix(5, 1), matrix(1, 1), matrix(5, 1)))
	for _, l := range []kernels.Loss{{Kind: kernels.Margins, Labels: p, Scores: matrix(5, 3)},
		{Kind: kernels.Signs, Labels: p, Scores: matrix(5, 1)}} {
		do(s.LossValues(q, l, matrix(5, 1)))
		do(s.LossGrad(q, l, matrix(5, 1), l.Scores, false))
		do(s.LossMeans(q, m, p, l))
		do(s.LossGradMeans(q, l, w, p, l.Scores, true))
	}
	for c := 1; c <= kernels.Narrow; c++ {
		do(s.OutputForward(q, kernels.OutputForward{A: matrix(5, 4), W: matrix(4, c), Out: matrix(5, c)}))
		do(s.OutputBackward(q, kernels.OutputBackward{A: matrix(5, 4), D: matrix(5, c), G: matrix(4, c)}))
	}
	for _, c := range kernels.WideScores {
		for f := kernels.Identity; f <= kernels.ReLU; f++ {
			do(s.OutputForward(q, kernels.OutputForward{Activation: f, A: matrix(5, 4), W: matrix(4, c), Out: matrix(5, c)}))
			do(s.OutputForward(q, kernels.OutputForward{Activation: f, A: matrix(5, 6), W: matrix(6, c), Out: matrix(5, c)}))
			do(s.OutputBackward(q, kernels.OutputBackward{Activation: f, A: matrix(5, 4), D: matrix(5, c), W: matrix(4, c), DA: matrix(5, 4)}))
		}
	}
	for _, longest := range []int{3, 5000} {
		do(s.SparseProduct(q, kernels.Sparse{Rows: 5, Cols: 9, Entries: 7, Longest: longest, Starts: p, Columns: p}, matrix(9, 2),
			matrix(5, 2), false))
	}
	product := driver.Gemm{Rows: 5, Cols: 4, Inner: 3, A: p, B: p, C: p, StrideA: 3, StrideB: 4, StrideC: 4}
	if s.Dtype() == kernels.Float64 {
		product.Precision = driver.Float64
	}
	do(s.Multiply(q, &product))
	do(s.Patches(q, pixel, matrix(1, 20), matrix(5, 4)))
	do(s.PatchesSum(q, pixel, matrix(5, 4), matrix(1, 20)))
	do(s.MaxPool(q, pixel, matrix(5, 4), matrix(5, 4)))
	do(s.MaxPoolGrad(q, pixel, matrix(5, 4), matrix(5, 4), matrix(5, 4)))
	do(s.Normalize(q, 2, 1, matrix(5, 4), matrix(5, 4)))
	do(s.NormalizeGrad(q, 2, 1, matrix(5, 4), matrix(5, 4), matrix(5, 4)))
	do(s.Widen(q, matrix(5, 4), p, 1))
	do(s.Round(q, matrix(5, 4), p))
	do(s.Pack(q, p, p, matrix(5, 4)))
	do(s.Unpack(q, p, p, matrix(5, 4)))
	if s.Dtype() == kernels.Float32 {
		everyQuantized(t, s, q, p)
	}
	everyVector(t, s, q, p)
}

// everyQuantized calls the launching functions that only float32 plans use.
func everyQuantized(t *testing.T, s *kernels.Set, q kernels.Queue, p driver.Pointer) {
	do := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	terms := kernels.BFloat16s{At: []driver.Pointer{p, p}, Stride: 4}
	do(s.AddParts(q, p, 3, matrix(5, 4), true))
	do(s.CenterDigits(q, kernels.NewDigits(5, 4, 3, 16, 1).Place(p), matrix(5, 4), matrix(1, 5), matrix(1, 4), matrix(1, 4)))
	do(s.WidenBFloat16(q, terms, p, 5, 4))
	do(s.SplitBFloat16(q, terms, matrix(5, 4)))
	for terms := 1; terms <= 3; terms++ {
		for _, filters := range []int{64, 65} {
			do(s.FilterGrad(q, kernels.FilterGrad{Window: pixel, Terms: terms, In: matrix(5, 4), D: matrix(5, 4*filters), Out: matrix(filters, 1)}))
			do(s.Convolve(q, kernels.Convolve{Window: pixel, Terms: terms, In: matrix(5, 4), Filter: matrix(filters, 1), Out: matrix(5, 4*filters)}))
		}
	}
	digits := kernels.Quantized{Digits: kernels.NewDigits(5, 4, 3, 16, 1).Place(p)}
	do(s.Quantize(q, digits, matrix(5, 4), false))
	do(s.Slopes(q, kernels.Slopes{Activation: kernels.Tanh, A: matrix(5, 4), D: matrix(5, 4), Quantized: digits}))
	for c := 1; c <= kernels.Narrow; c++ {
		for f := kernels.Identity; f <= kernels.ReLU; f++ {
			do(s.OutputBackward(q, kernels.OutputBackward{Activation: f, A: matrix(5, 4), D: matrix(5, c), W: matrix(4, c), DA: matrix(5, 4),
				Quantized: digits}))
		}
	}
	for count := 2; count <= 3; count++ {
		for _, f := range []kernels.Activation{kernels.Sigmoid, kernels.ReLU} {
			few := kernels.Quantized{Digits: kernels.NewDigits(5, 4, count, 16, 1).Place(p)}
			do(s.OutputBackward(q, kernels.OutputBackward{Activation: f, A: matrix(5, 4), D: matrix(5, 4), W: matrix(4, 4), DA: matrix(5, 4),
				Quantized: few}))
		}
	}
	do(s.LoadSigned(q, kernels.SignedBytes{At: p, Stride: 16}, kernels.SignedBytes{At: p, Stride: 16}, p, 5, 4))
	for count := 2; count <= 3; count++ {
		for _, most := range []int{3, 16} {
			for _, cols := range []int{3, 4} {
				d := kernels.Dequantize{Sums: p, SumRows: 7, Digits: kernels.NewDigits(5, cols, count, most, 1).Place(p),
					X: kernels.SignedBytes{At: p, Stride: 64}, B: matrix(5, cols), Out: matrix(7, cols)}
				do(s.Dequantize(q, d))
				do(s.MultiplyDigits(q, d))
				for d.Activation = kernels.Identity; d.Activation <= kernels.ReLU; d.Activation++ {
					d.Bias = matrix(1, cols)
					do(s.Dequantize(q, d))
				}
			}
		}
	}
	product := driver.Gemm{Rows: 5, Cols: 4, Inner: 16, TransB: true, Alpha: 1, A: p, B: p, C: p, StrideA: 16, StrideB: 16, StrideC: 4}
	for _, product.Precision = range []driver.Precision{driver.BF16, driver.Int8} {
		do(s.Multiply(q, &product))
	}
}

func everyVector(t *testing.T, s *kernels.Set, q kernels.Queue, p driver.Pointer) {
	n, one := 1000, kernels.Value(1)
	map1 := kernels.Proximal{Scale: one, Lower: one, Upper: one, Threshold: kernels.At(p)}
	g := kernels.VectorGroups{Ends: p, Count: 2, Longest: 600}
	for _, err := range []error{
		s.Combine(q, n, p, one, p, one, p), s.Dot(q, n, p, p, p), s.Dots(q, n, []driver.Pointer{p}, []driver.Pointer{p, p}, p),
		s.VectorSum(q, n, p, []float64{1, 2}, []driver.Pointer{p, p}), s.SquaredDistance(q, n, p, p, p), s.Size(q, n, p, 1, p),
		s.StepSums(q, n, p, p, p, p, &kernels.StepInput{Numbers: p}, p), s.Descend(q, n, p, p, p, one, one, map1, 1, p, p),
		s.Adam(q, n, p, p, p, p, one, one, map1, 1, p), s.Adagrad(q, n, p, p, p, one, map1), s.Prox(q, n, p, map1),
		s.Sizing(q, n, p, p, p), s.DescendSized(q, n, p, p, p, map1, problem.L1, 1, p, p, p),
		s.GroupFactors(q, n, g, p, p, p, one, one, one, p), s.GroupDescend(q, n, g, p, p, p, one, one, p, p), s.GroupScale(q, n, g, p, p),
	} {
		require.NoError(t, err)
	}
}

// Every launch names a kernel of the PTX and passes the kernel's parameters, each in a slot of 8
// bytes. Every kernel has a launching function.
func TestLaunchesFitPTX(t *testing.T) {
	for _, dtype := range []kernels.Dtype{kernels.Float32, kernels.Float64} {
		c, q := &compiler{entries: map[string]kernels.Entry{}}, &recorder{}
		s, err := kernels.Load(c, dtype)
		require.NoError(t, err)
		everything(t, s, q)
		if dtype == kernels.Float32 { // products of warpgroups
			c.major, c.refuses = 9, true
			if s, err = kernels.Load(c, dtype); err != nil {
				t.Fatal(err)
			}
			everyQuantized(t, s, q, 1<<20)
		}
		launched := map[string]bool{}
		for _, l := range q.launches {
			e, ok := c.entries[l.Name]
			if !ok {
				t.Errorf("%s is not in the PTX", l.Name)
			}
			launched[l.Name] = true
			if len(l.Args) != len(e.Params) {
				t.Errorf("%s: %d arguments, and %d parameters", l.Name, len(l.Args), len(e.Params))
			}
			if i := slices.IndexFunc(e.Params, func(bytes int) bool { return bytes != 8 }); i >= 0 {
				t.Errorf("%s: parameter %d has %d bytes, want 8", l.Name, i, e.Params[i])
			}
			if threads := l.Block[0] * l.Block[1] * l.Block[2]; threads > 256 {
				t.Errorf("%s: %d threads in a block, and the kernels are compiled for 256", l.Name, threads)
			}
		}
		for _, name := range inPTX(t, dtype) {
			if !launched[name] {
				t.Errorf("nothing launches %s", name)
			}
		}
	}
}
