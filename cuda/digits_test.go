package cuda_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/cuda"
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/internal/cuda/double"
	"ppal/internal/cuda/driver"
	"ppal/internal/graphcases"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/graph"
)

// withDigits lists the product settings with digits.
var withDigits = []cuda.Products{cuda.BF16x3, cuda.BF16x2, cuda.Int8x3, cuda.Int8x2}

// Every case with 8-bit data runs with digits and makes its calls in a valid order. A steady
// iteration makes the same calls as without digits.
func TestDigitSequences(t *testing.T) {
	for _, products := range withDigits {
		for _, rows := range []int{0, 3, 64} {
			d, r := recorded(t, cuda.Options{Products: products, MicroBatch: rows}, 0)
			for _, c := range graphcases.All() {
				if c.Storage == graphcases.Bytes && rows < c.Rows && (rows == 0 || c.Rows < 40*rows) { // more windows repeat the same calls
					t.Run(fmt.Sprintf("%v/%d/%s", products, rows, c.Name), func(t *testing.T) { sequence(t, c, tensor.Float32, d, r) })
				}
			}
		}
	}
}

// A product with the data is two or three bfloat16 products: the smallest term first, each added to
// the earlier products. Long sums are a strided batch for each term, and a pass that adds the
// blocks. The device splits the weights once for all
// windows of rows. The pass that computes the gradient of the activations also splits the gradient.
// Float64 plans and other data do not change.
func TestTermLaunches(t *testing.T) {
	large := graphcases.Network(models.Spec{Inputs: 9, Hidden: []int{20}}, []int{2500, 2000}, constraints.Sigmoid, false, graphcases.Bytes)
	forward := func(terms int) []string { return append([]string{"split"}, multiplied(terms, 1, false)...) }
	backward := func(terms, blocks int, add bool) []string {
		return append([]string{"split by output_backward"}, multiplied(terms, blocks, add)...)
	}
	for _, c := range []struct {
		name     string
		problem  graphcases.Case
		dtype    tensor.Dtype
		set      cuda.Options
		products string
		want     []string
	}{
		{"three", small(t), tensor.Float32, cuda.Options{Products: cuda.BF16x3}, "bf16x3", append(forward(3), backward(3, 1, false)...)},
		{"two", small(t), tensor.Float32, cuda.Options{Products: cuda.BF16x2}, "bf16x2", append(forward(2), backward(2, 1, false)...)},
		{"windows of rows", small(t), tensor.Float32, cuda.Options{Products: cuda.BF16x2, MicroBatch: 70}, "bf16x2",
			slices.Concat(forward(2), multiplied(2, 1, false), // the backward half repeats the forward half
				forward(2), backward(2, 1, false), multiplied(2, 1, false), backward(2, 1, true))},
		{"long sums", large, tensor.Float32, cuda.Options{Products: cuda.BF16x3}, "bf16x3", slices.Concat(forward(3), []string{"split by output_backward",
			"term 2, add false, 2 blocks", "term 1, add false, 2 blocks", "term 0, add false, 2 blocks", "6 parts"})},
		{"a shorter block", small(t), tensor.Float32, cuda.Options{Products: cuda.BF16x2, InnerBlock: 50}, "bf16x2", slices.Concat(forward(2),
			[]string{"split by output_backward", "term 1, add false, 2 blocks", "term 1, add false", "term 0, add false, 2 blocks", "term 0, add false", "6 parts"})},
		{"float64", small(t), tensor.Float64, cuda.Options{Products: cuda.BF16x3}, "float64", []string{"precision 2", "precision 2"}},
		{"none", small(t), tensor.Float32, cuda.Options{}, "float32", []string{"precision 0", "precision 0"}},
		{"TF32", small(t), tensor.Float32, cuda.Options{Products: cuda.TF32}, "tf32", []string{"precision 1", "precision 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, r := watched(t, c.set)
			if c.dtype == tensor.Float64 {
				r.count = 0
			}
			p := require.Value(c.problem.Problem(c.dtype, graph.On(d)))(t)
			if p.Products() != c.products {
				t.Errorf("products in %s, want %s", p.Products(), c.products)
			}
			r.list = nil
			iterate(t, p, 1, p.Space().New())
			if !slices.Equal(r.list, c.want) {
				t.Errorf("%v,\nwant %v", r.list, c.want)
			}
		})
	}
}

// multiplied lists the products of a number of terms in a number of blocks. Each entry gives the
// term and whether the product accumulates.
func multiplied(terms, blocks int, add bool) (list []string) {
	for k := terms - 1; k >= 0; k-- {
		for range blocks {
			list = append(list, fmt.Sprintf("term %d, add %t", k, add))
			add = true
		}
	}
	return list
}

// noting is a double that lists products and the launches that split their factors.
type noting struct {
	*double.Driver
	count int // number of terms
	terms map[driver.Pointer]int
	list  []string
}

func (n *noting) Launch(s driver.Stream, l *driver.Launch) error {
	switch {
	case strings.HasPrefix(l.Name, "split_bf16"):
		n.list = append(n.list, "split")
	case strings.HasPrefix(l.Name, "output_backward") && n.count > 0:
		n.list = append(n.list, "split by output_backward")
	case strings.HasPrefix(l.Name, "add_parts"):
		n.list = append(n.list, fmt.Sprintf("%d parts", l.Args[1]))
		return n.Driver.Launch(s, l)
	default:
		return n.Driver.Launch(s, l)
	}
	for k := range n.count { // the launch writes the terms before the gradient
		n.terms[l.Writes[k].At] = k
	}
	return n.Driver.Launch(s, l)
}

func (n *noting) Multiply(s driver.Stream, g *driver.Gemm) error {
	switch g.Precision {
	case driver.BF16:
		var from driver.Pointer // the term that holds B
		for at := range n.terms {
			if at <= g.B {
				from = max(from, at)
			}
		}
		name := fmt.Sprintf("term %d, add %t", n.terms[from], g.Beta == 1)
		if g.Batch > 1 {
			name += fmt.Sprintf(", %d blocks", g.Batch)
		}
		n.list = append(n.list, name)
	default:
		n.list = append(n.list, fmt.Sprint("precision ", g.Precision))
	}
	return n.Driver.Multiply(s, g)
}

func watched(t *testing.T, o cuda.Options) (*cuda.Device, *noting) {
	t.Helper()
	r := &noting{Driver: double.New(double.Options{}), terms: map[driver.Pointer]int{}}
	switch o.Products {
	case cuda.BF16x2:
		r.count = 2
	case cuda.BF16x3:
		r.count = 3
	}
	d := require.Value(cuda.On(r, o))(t)
	t.Cleanup(func() { require.NoError(t, errors.Join(d.Close(), errors.Join(r.Violations()...))) })
	return d, r
}

// 8-bit data takes 2 bytes for each element on the device, either as bfloat16 or as bytes in two
// layouts. The peak memory is the data, the digits and little more.
func TestDigitMemory(t *testing.T) {
	const rows, cols = 12_000, 1000
	c := graphcases.Network(models.Spec{Inputs: cols, Hidden: []int{8}}, []int{rows / 2, rows / 2}, constraints.Sigmoid, false, graphcases.Bytes)
	for _, products := range []cuda.Products{cuda.BF16x3, cuda.Int8x3} {
		d, _ := recorded(t, cuda.Options{Products: products}, 0)
		p := require.Value(c.Problem(tensor.Float32, graph.On(d)))(t)
		iterate(t, p, 3, p.Space().New())
		const upload, sums, rest = 4 << 20, 2 * 4 * 3 * 8 * rows, 3 << 20
		if got := d.PeakBytes(); got > 2*rows*(cols+8)+upload+sums+rest {
			t.Errorf("%v: %d bytes for %d elements", products, got, rows*cols)
		}
	}
}

// Bind keeps bytes as bytes. It refuses floats, even if they hold byte values, and bytes with
// another scale.
func TestDigitBind(t *testing.T) {
	for _, products := range withDigits {
		d, r := recorded(t, cuda.Options{Products: products, MicroBatch: 40}, 0)
		p := require.Value(small(t).Problem(tensor.Float32, graph.On(d)))(t)
		v := p.Space().New()
		iterate(t, p, 3, v)
		captures := r.Count("EndCapture")
		rows := matrix.NewBytes(130, 9, picture.PixelScale)
		for i := range rows.Data {
			rows.Data[i] = uint8(i)
		}
		require.NoError(t, p.Bind(0, rows))
		iterate(t, p, 2, v)
		if got := r.Count("EndCapture"); got != captures {
			t.Errorf("%v: captured anew: %d, %d before", products, got, captures)
		}
		floats := &matrix.Dense{Rows: 130, Cols: 9, Data: make([]float64, len(rows.Data))}
		rows.Float64(floats.Data, 0, 130)
		rows.Scale /= 2
		for _, bad := range []matrix.Matrix{floats, rows} {
			if err := p.Bind(0, bad); !errors.Is(err, plan.ErrNotBytes) || !strings.Contains(err.Error(), "rows (130 x 9, leaf)") {
				t.Errorf("%v, %T: %v", products, bad, err)
			}
		}
	}
}

// launches lists the launches and products of both halves of an iteration.
func launches(t *testing.T, c graphcases.Case, o cuda.Options) (list []string) {
	t.Helper()
	d, r := recorded(t, o, 0)
	p := require.Value(c.Problem(tensor.Float32, graph.On(d)))(t)
	_, m := p.Dims()
	v := p.Space().New()
	from := len(r.Calls())
	require.Value(p.Forward(make([]float64, m)))(t)
	require.NoError(t, p.Backward(make([]float64, m+1), v))
	for _, call := range r.Calls()[from:] {
		switch call.Kind {
		case "Launch":
			list = append(list, strings.TrimSuffix(call.Name, "_f32"))
		case "Multiply":
			list = append(list, call.Kind)
		}
	}
	return list
}

// The test compares the launches of an iteration with digits and with float32. The pass that
// computes a gradient of the activations also quantizes the gradient, and the pass that dequantizes
// also applies the activation.
func TestLaunchesWithDigits(t *testing.T) {
	deep := graphcases.Network(models.Spec{Inputs: 9, Hidden: []int{40, 33}}, []int{60, 40, 30}, constraints.Sigmoid, false, graphcases.Bytes)
	four := graphcases.Network(models.Spec{Inputs: 9, Hidden: []int{20}}, []int{40, 30, 30, 30}, constraints.Sigmoid, true, graphcases.Bytes)
	linear := graphcases.Network(models.Spec{Inputs: 9}, []int{60, 40, 30}, constraints.Sigmoid, false, graphcases.Bytes)
	multiply := func(n int) []string { return slices.Repeat([]string{"Multiply"}, n) }
	start, end := []string{"column_sums", "pair"}, []string{"output_forward_4", "means_margin", "unpack", "margin_loss_grad"}
	for _, c := range []struct {
		name     string
		problem  graphcases.Case
		products cuda.Products
		want     []string
	}{
		{"one layer", small(t), cuda.Float32, slices.Concat(start, multiply(1), []string{"output_forward_wide_3_sigmoid"}, end[1:],
			[]string{"output_backward_wide_3_sigmoid"}, multiply(1), []string{"rank_one"})},
		{"one layer", small(t), cuda.BF16x3, slices.Concat(start, []string{"split_bf16"}, multiply(3), []string{"output_forward_wide_3_sigmoid"}, end[1:],
			[]string{"output_backward_4"}, multiply(3), []string{"rank_one"})},
		{"one layer", small(t), cuda.Int8x3, slices.Concat([]string{"center_int8", "Multiply", "dequantize_3_sigmoid",
			"output_forward_wide_3_none"}, end[1:], []string{"output_digits_wide_3_3_sigmoid", "Multiply", "dequantize_3_none", "rank_one"})},
		{"one layer and four scores", four, cuda.Int8x3, slices.Concat([]string{"center_int8", "Multiply", "dequantize_3_sigmoid",
			"output_forward_wide_4_none"}, end[1:], []string{"output_digits_wide_4_3_sigmoid", "Multiply", "dequantize_3_none", "rank_one"})},
		{"one layer and four scores", four, cuda.Float32, slices.Concat(start, multiply(1), []string{"output_forward_wide_4_sigmoid"}, end[1:],
			[]string{"output_backward_wide_4_sigmoid"}, multiply(1), []string{"rank_one"})},
		{"two layers", deep, cuda.BF16x2, slices.Concat([]string{"split_bf16"}, multiply(2), []string{"bias_sigmoid"}, multiply(1), end,
			[]string{"output_backward_4", "Multiply", "sigmoid_grad_sums"}, multiply(2), multiply(1))},
		{"two layers", deep, cuda.Int8x2, slices.Concat([]string{"quantize_int8", "Multiply", "dequantize_2_sigmoid"}, multiply(1), end,
			[]string{"output_backward_4", "Multiply", "slope_digits", "Multiply", "dequantize_2_none"}, multiply(1))},
		{"linear", linear, cuda.Int8x3, []string{"quantize_int8", "Multiply", "dequantize_3", "means_margin", "unpack", "margin_loss_grad",
			"quantize_int8", "Multiply", "dequantize_3", "column_sums"}},
	} {
		t.Run(fmt.Sprint(c.name, " ", c.products), func(t *testing.T) {
			if got := launches(t, c.problem, cuda.Options{Products: c.products}); !slices.Equal(got, c.want) {
				t.Errorf("launches %v,\nwant     %v", got, c.want)
			}
		})
	}
}

// If only the product with the data reads a gradient, the launch declares only the gradient's terms
// and does not write the gradient. With digits the launch also declares the gradient, for columns
// without digits.
func TestGradientIsNotWritten(t *testing.T) {
	for products, named := range map[cuda.Products]bool{cuda.Float32: true, cuda.BF16x3: false, cuda.Int8x3: true} {
		d, r := recorded(t, cuda.Options{Products: products}, 0)
		p := require.Value(small(t).Problem(tensor.Float32, graph.On(d)))(t)
		iterate(t, p, 1, p.Space().New())
		const gradient = 4 * 130 * 20
		for _, call := range r.Calls() {
			if call.Kind != "Launch" || !strings.HasPrefix(call.Name, "output_backward") && !strings.HasPrefix(call.Name, "output_digits") {
				continue
			}
			got := slices.ContainsFunc(call.Writes, func(s driver.Span) bool { return s.Bytes == gradient })
			if got != named {
				t.Errorf("%v: %s writes the gradient: %t, want %t", products, call.Name, got, named)
			}
		}
	}
}

// The setting auto selects int8x3 if the device has integer tensor cores and the data are wide
// enough, else float32.
func TestAutomaticProducts(t *testing.T) {
	wide := graphcases.Network(models.Spec{Inputs: 100, Hidden: []int{8}}, []int{20, 30}, constraints.Sigmoid, false, graphcases.Bytes)
	dense := graphcases.Network(models.Spec{Inputs: 100, Hidden: []int{8}}, []int{20, 30}, constraints.Sigmoid, false, graphcases.Dense)
	for _, c := range []struct {
		major   int
		problem graphcases.Case
		want    string
	}{{8, wide, "int8x3"}, {9, wide, "int8x3"}, {7, wide, "float32"}, {9, small(t), "float32"}, {9, dense, "float32"}} {
		d := require.Value(cuda.On(double.New(double.Options{Info: driver.Info{Name: "a GPU", Major: c.major}}), cuda.Options{}))(t)
		p, err := c.problem.Problem(tensor.Float32, graph.On(d))
		if err != nil || p.Products() != c.want {
			t.Errorf("%s, compute capability %d.0: %s, error %v", c.problem.Name, c.major, p.Products(), err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}
