package cuda_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/cuda"
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/internal/cuda/double"
	"ppal/internal/cuda/driver"
	"ppal/internal/graphcases"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

var dtypes = []tensor.Dtype{tensor.Float32, tensor.Float64}

// recorded returns a device on a test double that computes nothing. The test fails if the double
// refuses a call.
func recorded(t testing.TB, o cuda.Options, memory int64) (*cuda.Device, *double.Driver) {
	t.Helper()
	r := double.New(double.Options{Memory: memory})
	d := require.Value(cuda.On(r, o))(t)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if v := r.Violations(); v != nil {
			t.Error(v)
		}
	})
	return d, r
}

// iterate runs a number of iterations: the forward half, the backward half into two vectors in
// turn, and a step.
func iterate(t testing.TB, p *graph.Problem, steps int, d ...problem.Vector) {
	t.Helper()
	_, m := p.Dims()
	g, weights := make([]float64, m), make([]float64, m+1)
	for k := range steps {
		require.Value(p.Forward(g))(t)
		require.NoError(t, p.Backward(weights, d[k%len(d)]))
		p.Space().Descend(problem.Descent{Direction: d[k%len(d)], Step: 0.1, Length: 0.1})
	}
}

// halves returns the names of the kernels and products of a forward and a backward half.
func halves(t testing.TB, p *graph.Problem, r *double.Driver) (names []string) {
	t.Helper()
	from := len(r.Calls())
	_, m := p.Dims()
	require.Value(p.Forward(make([]float64, m)))(t)
	require.NoError(t, p.Backward(slices.Repeat([]float64{1}, 1+m), p.Space().New()))
	for _, call := range r.Calls()[from:] {
		switch call.Kind {
		case "Launch":
			names = append(names, strings.TrimSuffix(call.Name, "_f32"))
		case "Multiply":
			names = append(names, call.Kind)
		}
	}
	return names
}

// Every case makes its calls in a valid order: no kernel reads unwritten memory, and the device
// releases every object. The device captures each half once for each output vector. After the
// captures a half is a single graph launch, and the device allocates nothing.
func TestSequences(t *testing.T) {
	for _, dtype := range dtypes {
		for _, slice := range []int{0, 3, 64} {
			d, r := recorded(t, cuda.Options{MicroBatch: slice}, 0)
			for _, c := range slices.Concat(graphcases.All(), graphcases.Ranked()) {
				if slice == 0 || slice < c.Rows && c.Rows < 20*slice {
					t.Run(fmt.Sprintf("%v/%d/%s", dtype, slice, c.Name), func(t *testing.T) { sequence(t, c, dtype, d, r) })
				}
			}
		}
	}
}

func sequence(t *testing.T, c graphcases.Case, dtype tensor.Dtype, d *cuda.Device, r *double.Driver) {
	p := require.Value(c.Problem(dtype, graph.On(d)))(t)
	a, b := p.Space().New(), p.Space().New()
	captures := r.Count("EndCapture")
	iterate(t, p, 6, a, b)
	if got := r.Count("EndCapture") - captures; got != 3 {
		t.Errorf("%d captures, want one of the forward and two of the backward half", got)
	}
	if _, err := p.Watched(0); err != nil {
		t.Error(err)
	}
	from := len(r.Calls())
	iterate(t, p, 1, a)
	var kinds []string
	for _, call := range r.Calls()[from:] {
		kinds = append(kinds, call.Kind)
	}
	want := []string{"LaunchGraph", "Synchronize", "LaunchGraph", "Launch"}
	if c.Regularizer.Kind == problem.Ball {
		want = append(want, "Launch")
	}
	if !slices.Equal(kinds, want) {
		t.Errorf("a steady iteration is %v, want %v", kinds, want)
	}
}

// small returns a case that contains every kind of fused pass.
func small(t testing.TB) graphcases.Case {
	t.Helper()
	return graphcases.Network(models.Spec{Inputs: 9, Hidden: []int{20}}, []int{60, 40, 30}, constraints.Sigmoid, true, graphcases.Bytes)
}

// An iteration runs one fused pass between consecutive products.
func TestFusedLaunches(t *testing.T) {
	d, r := recorded(t, cuda.Options{}, 0)
	p := require.Value(small(t).Problem(tensor.Float32, graph.On(d)))(t)
	got := halves(t, p, r)
	want := []string{
		"column_sums", "pair", "Multiply", "output_forward_wide_3_sigmoid", "means_margin",
		"unpack", "margin_loss_grad", "output_backward_wide_3_sigmoid", "Multiply", "rank_one",
	}
	if !slices.Equal(got, want) {
		t.Errorf("launches %v,\nwant     %v", got, want)
	}
}

// Bind uploads an input to the same address and keeps the captured graphs. A sparse input becomes
// dense, and the device captures both halves again.
func TestBindAndCaptures(t *testing.T) {
	for form, captures := range map[graphcases.Storage]int{graphcases.Values: 2, graphcases.Bytes: 2, graphcases.Sparse: 4} {
		d, r := recorded(t, cuda.Options{}, 0)
		c := graphcases.Network(models.Spec{Inputs: 9, Hidden: []int{16}}, []int{60, 40}, constraints.Sigmoid, false, form)
		p := require.Value(c.Problem(tensor.Float64, graph.On(d)))(t)
		v := p.Space().New()
		iterate(t, p, 3, v)
		require.NoError(t, p.Bind(0, &matrix.Dense{Rows: 100, Cols: 9, Data: make([]float64, 900)}))
		iterate(t, p, 3, v)
		if got := r.Count("EndCapture"); got != captures {
			t.Errorf("form %d: %d captures, want %d", form, got, captures)
		}
		if err := p.Bind(0, &matrix.Dense{Rows: 9, Cols: 100, Data: make([]float64, 900)}); err == nil {
			t.Errorf("form %d: rows of another length were bound", form)
		}
	}
}

// Kept rows cross the bus once. Then a pass on the device makes them the input of the next forward
// half, whose graph stays; bytes are widened, and rows in digits converted.
func TestKeptRows(t *testing.T) {
	for name, c := range map[string]struct {
		storage graphcases.Storage
		o       cuda.Options
		call    string
	}{
		"bytes":  {graphcases.Bytes, cuda.Options{Products: cuda.Float32}, "widen_f32"},
		"digits": {graphcases.Bytes, cuda.Options{Products: cuda.Int8x3}, "signed_bytes_f32"},
		"floats": {graphcases.Dense, cuda.Options{}, ""},
	} {
		d, r := recorded(t, c.o, 0)
		p := require.Value(graphcases.Network(models.Spec{Inputs: 9, Hidden: []int{20}}, []int{60, 40}, constraints.Sigmoid, false, c.storage).Problem(tensor.Float32, graph.On(d)))(t)
		var uses []func() error
		for range 2 {
			var m matrix.Matrix = &matrix.Dense{Rows: 100, Cols: 9, Data: make([]float64, 900)}
			if c.storage == graphcases.Bytes {
				m = matrix.NewBytes(100, 9, picture.PixelScale)
			}
			use := require.Value(p.Keep(0, m))(t)
			uses = append(uses, use)
		}
		v := p.Space().New()
		iterate(t, p, 3, v)
		from := len(r.Calls())
		for _, use := range uses {
			require.NoError(t, use())
			if len(r.Calls()) > from {
				t.Errorf("%s: the rows become the input before the forward half", name)
			}
			iterate(t, p, 2, v)
			for i, call := range r.Calls()[from:] {
				pass := call.Kind == "Copy" || call.Name != "" && call.Name == c.call
				if call.Kind == "Upload" || call.Kind == "EndCapture" || pass != (i == 0) {
					t.Errorf("%s: call %d with kept rows is %s %s", name, i, call.Kind, call.Name)
				}
			}
			from = len(r.Calls())
		}
	}
}

// A convolution is a pass over patches and a product for each part of the pictures. Its derivative
// by the filters takes a second pass, which lays the pictures' derivatives side by side.
func TestConvolutionLaunches(t *testing.T) {
	d, r := recorded(t, cuda.Options{Patches: 13 * 9 * 64 * 4}, 0) // 13 pictures, and 7 beside the derivatives of three filters
	p := require.Value(graphcases.PictureCases()[0].Problem(tensor.Float32, graph.On(d)))(t)
	got := halves(t, p, r)
	want := strings.Fields(`interpret total_sum interpret patches Multiply interpret max_pool patches Multiply interpret max_pool Multiply pair
		interpret total_sum interpret pack unpack interpret interpret interpret Multiply max_pool_grad relu_grad Multiply patches_sum max_pool_grad
		relu_grad patches patches Multiply patches patches Multiply patches patches Multiply Multiply copy copy interpret`)
	if !slices.Equal(got, want) {
		t.Errorf("launches %v,\nwant     %v", got, want)
	}
}

// 256 dot products take a launch for each 16 and one wait, whatever the numbers of vectors on both
// sides; 257 take two waits. A sum of 40 vectors takes three launches and does not wait.
func TestListsOfVectors(t *testing.T) {
	d, r := recorded(t, cuda.Options{}, 0)
	p := require.Value(small(t).Problem(tensor.Float32, graph.On(d)))(t)
	s := p.Space()
	list := make([]problem.Vector, 257)
	for i := range list {
		list[i] = problem.Iterate
		if i%3 == 0 {
			list[i] = s.New()
		}
	}
	numbers := make([]float64, len(list))
	s.Dots(numbers, []problem.Vector{list[0]}, list) // clears the counters of the reductions
	for _, c := range []struct {
		name                   string
		run                    func()
		launches, waits, clear int
	}{
		{"256 dot products", func() { s.Dots(numbers[:256], list[:1], list[:256]) }, 6, 1, 0},
		{"257 dot products", func() { s.Dots(numbers, list[:1], list) }, 7, 2, 0},
		{"2 x 40 dot products", func() { s.Dots(numbers[:80], list[:2], list[:40]) }, 1, 1, 0},
		{"3 x 49 dot products", func() { s.Dots(numbers[:147], list[:3], list[:49]) }, 4, 1, 0},
		{"20 x 20 dot products", func() { s.Dots(make([]float64, 400), list[:20], list[:20]) }, 10, 2, 0},
		{"no dot products", func() { s.Dots(nil, []problem.Vector{list[0]}, nil) }, 0, 0, 0},
		{"a sum of 48", func() { s.Sum(list[0], numbers[:48], list[:48]) }, 1, 0, 0},
		{"a sum of 97", func() { s.Sum(list[0], numbers[:97], list[:97]) }, 3, 0, 0},
		{"a sum of none", func() { s.Sum(list[0], nil, nil) }, 0, 0, 1},
	} {
		launches, waits, clear := r.Count("Launch"), r.Count("Synchronize"), r.Count("Clear")
		c.run()
		launches, waits, clear = r.Count("Launch")-launches, r.Count("Synchronize")-waits, r.Count("Clear")-clear
		if launches != c.launches || waits != c.waits || clear != c.clear {
			t.Errorf("%s: %d launches, %d waits, %d clears, want %d, %d, %d", c.name, launches, waits, clear, c.launches, c.waits, c.clear)
		}
	}
	r.FailAt("Launch", 1, errors.New("lost"))
	numbers[0] = 1
	s.Dots(numbers, []problem.Vector{list[0]}, list)
	if i := slices.IndexFunc(numbers, func(x float64) bool { return !math.IsNaN(x) }); i >= 0 {
		t.Errorf("dot product %d is %v after an error, want NaN", i, numbers[i])
	}
}

// If memory does not suffice, the error names the allocation and says what to do. The device
// releases all memory.
func TestOutOfMemory(t *testing.T) {
	d, _ := recorded(t, cuda.Options{}, 100_000)
	c := graphcases.Network(models.Spec{Inputs: 100, Hidden: []int{16}}, []int{600, 400}, constraints.Sigmoid, false, graphcases.Dense)
	_, err := c.Problem(tensor.Float64, graph.On(d))
	if !errors.Is(err, driver.ErrOutOfMemory) {
		t.Fatalf("error %v, want out of memory", err)
	}
	for _, want := range []string{"(1000 x 16, kept) needs 128 kB", "of 100 kB are free", "--micro-batch"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}

// A failure in an operation of the vector space appears as the error of the next half and of all
// later halves.
func TestFailuresAreKept(t *testing.T) {
	lost := &driver.Error{Operation: "launch", Name: "CUDA_ERROR_LAUNCH_FAILED"}
	d, r := recorded(t, cuda.Options{}, 0)
	p := require.Value(small(t).Problem(tensor.Float32, graph.On(d)))(t)
	v := p.Space().New()
	iterate(t, p, 3, v)
	r.FailAt("Launch", 1, lost)
	p.Space().Combine(v, 1, v, 1, v)
	for range 2 {
		if _, err := p.Forward(make([]float64, 2)); !errors.Is(err, lost) {
			t.Errorf("forward: error %v, want %v", err, lost)
		}
		if err := p.Backward(make([]float64, 3), v); !errors.Is(err, lost) {
			t.Errorf("backward: error %v, want %v", err, lost)
		}
	}
}

// A failure of any call gives an error and never a panic, and the device still releases every
// object.
func TestEveryFailureIsAnError(t *testing.T) {
	lost := errors.New("lost")
	for _, kind := range []string{"Allocate", "Pinned", "NewStream", "NewEvent", "Upload", "Launch", "Multiply", "Download", "Synchronize",
		"BeginCapture", "EndCapture", "LaunchGraph", "Load", "Function", "Clear", "Record", "Wait"} {
		for k := 1; ; k++ {
			r := double.New(double.Options{})
			r.FailAt(kind, k, lost)
			err := func() error {
				d, err := cuda.On(r, cuda.Options{Copies: kind == "Download"})
				if err != nil {
					return err
				}
				defer func() { _ = d.Close() }() // Close may be the call that fails
				p, err := small(t).Problem(tensor.Float32, graph.On(d))
				if err != nil {
					return err
				}
				v := p.Space().New()
				for range 3 {
					if _, err := p.Forward(make([]float64, 2)); err != nil {
						return err
					}
					if err := p.Backward(make([]float64, 3), v); err != nil {
						return err
					}
				}
				_, err = p.Forward(make([]float64, 2))
				return err
			}()
			if err == nil {
				if k == 1 {
					t.Errorf("%s: the first call failed and nothing said so", kind)
				}
				break
			}
			if !errors.Is(err, lost) {
				t.Errorf("%s %d: error %v", kind, k, err)
			}
			if k > 60 { // the later calls repeat the earlier calls
				break
			}
		}
	}
}

// The error for an op without a kernel names the op.
func TestUnknownOps(t *testing.T) {
	d, _ := recorded(t, cuda.Options{}, 0)
	_, err := graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		x := gorgonia.NewVector(g, tensor.Float64, gorgonia.WithShape(4), gorgonia.WithName("x"),
			gorgonia.WithValue(tensor.New(tensor.WithShape(4), tensor.Of(tensor.Float64))))
		most, err := gorgonia.Max(x)
		return graph.Definition{Objective: most, Parameters: gorgonia.Nodes{x}}, err
	}, graph.On(d))
	if err == nil || !strings.Contains(err.Error(), "no kernel") {
		t.Errorf("error %v", err)
	}
}

// Windows of rows need less memory. A step that needs all rows at once gives an error.
func TestMicroBatches(t *testing.T) {
	c := graphcases.Network(models.Spec{Inputs: 4, Hidden: []int{64}}, []int{1500, 1500}, constraints.Sigmoid, false, graphcases.Bytes)
	var peaks []int64
	for _, o := range []cuda.Options{{}, {MicroBatch: 100}} {
		d, _ := recorded(t, o, 0)
		p := require.Value(c.Problem(tensor.Float32, graph.On(d)))(t)
		iterate(t, p, 3, p.Space().New())
		peaks = append(peaks, d.PeakBytes())
	}
	if activations := int64(4 * 64 * 3000); peaks[1] > peaks[0]-activations {
		t.Errorf("%d bytes with windows, %d without", peaks[1], peaks[0])
	}
	for _, o := range []cuda.Options{{}, {MicroBatch: 4}} {
		d, _ := recorded(t, o, 0)
		_, err := graph.New(pairwise, graph.On(d))
		switch {
		case o.MicroBatch == 0 && err != nil:
			t.Error(err)
		case o.MicroBatch > 0 && (err == nil || !strings.Contains(err.Error(), "--micro-batch 4") || !strings.Contains(err.Error(), "all rows")):
			t.Errorf("error %v, want a refusal of --micro-batch 4", err)
		}
	}
}

// pairwise defines the mean, over all pairs of rows, of the product of a score of each row.
func pairwise(g *gorgonia.ExprGraph) (graph.Definition, error) {
	matrix := func(name string, rows, cols int) *gorgonia.Node {
		return gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(rows, cols), gorgonia.WithName(name),
			gorgonia.WithValue(tensor.New(tensor.WithShape(rows, cols), tensor.Of(tensor.Float64))))
	}
	x, across := matrix("rows", 10, 3), matrix("rows as columns", 3, 10)
	w, v := matrix("w", 3, 1), matrix("v", 1, 3)
	scores := gorgonia.Must(gorgonia.Tanh(gorgonia.Must(gorgonia.Mul(x, w))))
	others := gorgonia.Must(gorgonia.Tanh(gorgonia.Must(gorgonia.Mul(v, across))))
	pairs, err := gorgonia.Mul(scores, others)
	if err != nil {
		return graph.Definition{}, err
	}
	f, err := gorgonia.Mean(pairs)
	return graph.Definition{Objective: f, Parameters: gorgonia.Nodes{w, v}, Inputs: gorgonia.Nodes{x, across}}, err
}

// Wrong arguments give errors.
func TestMisuse(t *testing.T) {
	d, _ := recorded(t, cuda.Options{}, 0)
	p := require.Value(small(t).Problem(tensor.Float32, graph.On(d)))(t)
	if err := p.Backward([]float64{1}, p.Space().New()); err == nil {
		t.Error("too few weights were taken")
	}
	if _, err := p.Watched(1); err == nil {
		t.Error("there is a second watched value")
	}
	if err := p.Bind(1, nil); err == nil {
		t.Error("there is a second input")
	}
	if p.Explain() == "" {
		t.Error("there is no table of steps")
	}
}
