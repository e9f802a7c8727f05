package cpu_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/graphcases"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/graph"
)

// modelled returns a device that computes products of bfloat16 digits in Go.
func modelled(t testing.TB, threads int, products plan.Products) *cpu.Device {
	t.Helper()
	d, err := cpu.New(kernel.Best(), threads)
	require.NoError(t, err)
	if d, err = d.WithBFloat16InGo().With(products); err != nil {
		t.Fatal(err)
	}
	return d
}

// floats draws dense rows.
func floats(rows, cols int, seed uint64) *matrix.Dense {
	r := rand.New(rand.NewPCG(seed, 9))
	x := &matrix.Dense{Rows: rows, Cols: cols}
	for range rows * cols {
		x.Data = append(x.Data, float64(float32(r.NormFloat64())))
	}
	return x
}

// onFloats is a network on dense rows.
func onFloats(spec models.Spec, x matrix.Matrix) graphcases.Case {
	rows, _ := x.Dims()
	spec.Outputs = 3
	c := graphcases.Network(spec, []int{rows / 2, 13, rows - rows/2 - 13}, constraints.Phis()[0], false, graphcases.Values)
	c.Seed, c.Data = 17, x
	return c
}

// Products of three digits of bfloat16 are as close to float64 as float32 products are. Products of
// two digits are within their error bound. Threads do not change a bit.
func TestBFloat16AgreesWithFloat64(t *testing.T) {
	require.NoRace(t, "TestBFloat16Rows runs the same goroutines")
	for _, spec := range []models.Spec{
		{Inputs: 130},
		{Inputs: 97, Hidden: []int{33}, Activation: models.Tanh},
		{Inputs: 99, Hidden: []int{18}, Heads: models.Separate},
	} {
		c := onFloats(spec, floats(kernel.RowBlock+37, spec.Inputs, 3))
		want := numbers(t, compile(t, c, tensor.Float64, graph.Tape{}))
		float := numbers(t, compile(t, c, tensor.Float32, graph.On(modelled(t, 2, plan.Float32))))
		for products, bound := range map[plan.Products]float64{plan.BF16x3: 0, plan.BF16x2: 1e-4} {
			var first [][]float64
			for _, threads := range []int{1, 3} {
				problem := compile(t, c, tensor.Float32, graph.On(modelled(t, threads, products)))
				if got := problem.Products(); got != products.String() {
					t.Errorf("%v ran as %s", products, got)
				}
				got := numbers(t, problem)
				for i, what := range []string{"f and g", "gradient", "scores"} {
					most := max(bound, 1.5*distance(float[i], want[i]), 2e-7)
					d := distance(got[i], want[i])
					t.Logf("%+v, %v: %s differ by %.2g, in float32 by %.2g", spec, products, what, d, distance(float[i], want[i]))
					if !(d <= most) {
						t.Errorf("%+v, %v, %d threads: %s differ by %.2g, want at most %.2g", spec, products, threads, what, d, most)
					}
				}
				if first == nil {
					first = got
				} else if diff := cmp.Diff(first, got); diff != "" {
					t.Errorf("%+v, %v: three threads change bits: %s", spec, products, diff)
				}
			}
		}
	}
}

// Automatic products of floats are float32 products, also with tiles for bfloat16. Without tiles,
// digits of bfloat16 are refused.
func TestBFloat16IsNotAutomatic(t *testing.T) {
	wide, x := models.Spec{Inputs: plan.DigitColumns, Hidden: []int{256}}, floats(60, plan.DigitColumns, 4)
	for dtype, want := range map[tensor.Dtype]string{tensor.Float32: "float32", tensor.Float64: "float64"} {
		if got := compile(t, onFloats(wide, x), dtype, graph.On(modelled(t, 1, plan.AutoProducts))).Products(); got != want {
			t.Errorf("%v: %s, want %s", dtype, got, want)
		}
	}
	plain := require.Value(cpu.New(kernel.Go, 1))(t)
	var lacking *plan.ProductsError
	if _, err := plain.With(plan.BF16x3); !errors.As(err, &lacking) || lacking.Found != "the go kernels have no such tiles here" {
		t.Errorf("without tiles: %v", err)
	}
}

// Rows that are bound or kept have the bits of the same rows as data. 8-bit data have the bits of
// the same floats.
func TestBFloat16Rows(t *testing.T) {
	spec := models.Spec{Inputs: 100, Hidden: []int{20}}
	first, second := floats(300, 100, 5), floats(300, 100, 6)
	engine := graph.On(modelled(t, 2, plan.BF16x3))
	own := compile(t, onFloats(spec, first), tensor.Float32, engine)
	want := numbers(t, compile(t, onFloats(spec, second), tensor.Float32, engine))
	start := numbers(t, own)
	back := require.Value(own.Keep(0, first))(t)
	for i, use := range []func() error{func() error { return own.Bind(0, second) }, back, func() error { return own.Bind(0, second) }} {
		require.NoError(t, use())
		if diff := cmp.Diff([][][]float64{want, start}[i%2], numbers(t, own)); diff != "" {
			t.Errorf("change %d of the rows: %s", i, diff)
		}
	}
	bytes := &matrix.Bytes{Rows: 60, Cols: 100, Scale: 0.5}
	wide := &matrix.Dense{Rows: 60, Cols: 100}
	r := rand.New(rand.NewPCG(7, 7))
	for range 60 * 100 {
		v := uint8(r.Uint32())
		bytes.Data, wide.Data = append(bytes.Data, v), append(wide.Data, float64(v)/2)
	}
	eight := compile(t, onFloats(spec, bytes), tensor.Float32, engine)
	if diff := cmp.Diff(numbers(t, compile(t, onFloats(spec, wide), tensor.Float32, engine)), numbers(t, eight)); diff != "" || eight.Products() != "bf16x3" {
		t.Errorf("8-bit data in %s: %s", eight.Products(), diff)
	}
	if x := eight.Stored(0); x != nil {
		t.Errorf("digits of bfloat16 are stored as a %T", x)
	}
}

// A product with a transposed factor, Z = X W^T, has the bits of the product with the same factor.
func TestBFloat16Transposed(t *testing.T) {
	const rows, cols, width = 30, 100, 17
	x, w := floats(rows, cols, 8), floats(cols, width, 9)
	var results [2][]float32
	for i, transposed := range []bool{false, true} {
		p := &plan.Plan{Dtype: tensor.Float32, Data: []matrix.Matrix{x}, Slots: []int{rows * width, 1}}
		view := func(class plan.Class, rows, cols, slot int) plan.View {
			p.Buffers = append(p.Buffers, plan.Buffer{Class: class, Rows: rows, Cols: cols, Slot: slot})
			return plan.View{Buffer: len(p.Buffers) - 1, Stride: cols, Rows: rows, Cols: cols}
		}
		data, shape := view(plan.Leaf, rows, cols, 0), []int{cols, width}
		if transposed {
			shape = []int{width, cols}
		}
		factor := view(plan.Parameter, shape[0], shape[1], 0)
		z := view(plan.Kept, rows, width, 0)
		p.Inputs, p.Parameters, p.Objective = []plan.View{data}, []plan.View{factor}, view(plan.Kept, 1, 1, 1)
		p.Forward = []plan.Region{{Rows: rows, Steps: []plan.Step{&plan.Product{A: data, B: factor, Out: z, TransB: transposed}}}}
		p.CountEntries()
		e := require.Value(cpu.NewExecutor[float32](modelled(t, 1, plan.BF16x3), p))(t)
		weights := make([]float32, cols*width)
		for l := range cols {
			for j := range width {
				at := l*width + j
				if transposed {
					at = j*cols + l
				}
				weights[at] = float32(w.Data[l*width+j])
			}
		}
		require.NoError(t, e.Attach(factor, weights))
		require.NoError(t, e.Forward())
		results[i] = e.Contents(z)
	}
	if diff := cmp.Diff(results[0], results[1]); diff != "" || results[0][0] == 0 {
		t.Errorf("the transposed factor gives other bits: %s", diff)
	}
}
