package session

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"gorgonia.org/tensor"

	"ppal/datasets"
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/session/internal/load"
)

// single returns the setup of small in float32 with the given products.
func single(products Products, change func(c *setup)) setup {
	return small(func(c *setup) {
		c.Dtype, c.Products = tensor.Float32, products
		if change != nil {
			change(c)
		}
	})
}

// needDigits skips the test if this machine has no integer products.
func needDigits(t *testing.T) {
	t.Helper()
	if err := hasDigits(t); err != nil {
		t.Skip(err)
	}
}

// hasDigits returns an error if this machine has no integer products.
func hasDigits(t *testing.T) error {
	t.Helper()
	d, err := cpu.New(kernel.Best(), 1)
	require.NoError(t, err)
	_, err = d.With(plan.Int8x3)
	return err
}

// The description names the products that run. A note says why 8-bit data run in float32.
func TestProductsAreNamed(t *testing.T) {
	notUnderRace(t)
	needDigits(t)
	for _, c := range []struct {
		asked  Products
		dtype  tensor.Dtype
		engine Engine
		simd   SIMD
		ran    string
		noted  bool
	}{
		{"", tensor.Float32, Plan, "", "int8x3", false},
		{Int8x3, tensor.Float32, Plan, "", "int8x3", false},
		{Int8x2, tensor.Float32, Plan, "", "int8x2", false},
		{Float32, tensor.Float32, Plan, "", "float32", false},
		{"", tensor.Float64, Plan, "", "float64", false},
		{"", tensor.Float32, Gorgonia, "", "float32", false},
		{"", tensor.Float32, Plan, NoSIMD, "float32", true},
		{Float32, tensor.Float32, Plan, NoSIMD, "float32", false},
	} {
		e := assembled(t, single(c.asked, func(s *setup) { s.Dtype, s.Engine, s.SIMD = c.dtype, c.engine, c.simd }))
		noted := slices.ContainsFunc(e.Describe().Notes, func(n string) bool { return strings.Contains(n, "products are in float32") })
		if e.Describe().Products != c.ran || noted != c.noted {
			t.Errorf("%+v: %q, notes %q", c, e.Describe().Products, e.Describe().Notes)
		}
	}
	// Digits do not pay for narrow data. A run uses them only on request.
	for asked, ran := range map[Products]string{"": "float32", Int8x3: "int8x3"} {
		e := onSelection(t, func(c *setup) { c.Dtype, c.Products = tensor.Float32, asked })
		if e.Describe().Products != ran {
			t.Errorf("37 features, %s: %s", asked, e.Describe().Products)
		}
	}
}

func TestProductsRefused(t *testing.T) {
	needDigits(t)
	for want, cfg := range map[string]Options{
		"session: products is int8x3, which needs AVX-512 VNNI or AVX-VNNI; the go kernels have neither here, want auto or float32": single(Int8x3,
			func(c *setup) { c.SIMD = NoSIMD }).options(),
		"session: products is int8x2, which is for 8-bit data; the features of synthetic-adult are others, want auto or float32": onTable(DemographicParity{},
			Table{Dataset: "synthetic-adult"}, func(o *Options) { o.Device.Products = Int8x2 }),
	} {
		if _, err := try(t, cfg); !errors.Is(err, ErrOptions) || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// An instruction set that the machine lacks is refused as a wrong option, with the reason and the
// sets that the machine has.
func TestInstructionsRefused(t *testing.T) {
	refused := map[SIMD]string{"sse": `session: simd is "sse", which is not known; want auto or `}
	for _, name := range []SIMD{AMX, AVX512, AVX2} {
		level := require.Value(kernel.ParseLevel(string(name)))(t)
		if !level.Supported() {
			refused[name] = fmt.Sprintf("session: simd is %s, which this machine does not support", name)
		}
		if lack := level.Lack(); lack != nil {
			refused[name] += fmt.Sprintf(": %v; want auto or ", lack)
		}
	}
	for name, want := range refused {
		_, err := try(t, single("", func(c *setup) { c.SIMD = name }).options())
		if !errors.Is(err, ErrOptions) || !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), " or go") {
			t.Errorf("%s: %v, want %s... or go", name, err, want)
		}
	}
}

// A CPU that measures beside a GPU needs no products of digits, a CPU that trains does.
func TestCPUBesideGPU(t *testing.T) {
	for _, c := range []struct {
		kind     DeviceKind
		products Products
		want     plan.Products // of 784 columns
		refused  bool
	}{
		{CUDA, Int8x3, plan.Float32, false},
		{CUDA, Int8x2, plan.Float32, false},
		{CUDA, Float32, plan.Float32, false},
		{CPU, Int8x3, "", true},
		{"", Int8x3, "", true},
	} {
		d, err := Device{Kind: c.kind, Products: c.products, SIMD: NoSIMD, Threads: 1}.resolved().OpenCPU()
		if refusal := new(plan.ProductsError); errors.As(err, &refusal) != c.refused || err != nil && !c.refused {
			t.Errorf("%+v: error %v", c, err)
		}
		if err == nil && d.Products(784) != c.want {
			t.Errorf("%+v: %v products", c, d.Products(784))
		}
	}
}

// Batches and measured rows also use products of digits.
func TestBatchesInDigits(t *testing.T) {
	needDigits(t)
	run := func(batch int) *trainer.Result {
		e := assembled(t, single(Int8x3, func(c *setup) { c.BatchSize = batch }))
		r := require.Value(e.Optimize(t.Context(), trainer.Settings{Iterations: 20}))(t)
		if e.batches != nil && e.batches.Products() != "int8x3" {
			t.Errorf("batches have products in %s", e.batches.Products())
		}
		if got := e.splits[1].blocks.Products(); got != "int8x3" {
			t.Errorf("test rows have products in %s", got)
		}
		return r
	}
	run(0)
	run(30)
}

// The packed rows can be read back without a change of a bit.
func TestBytesAreGivenBack(t *testing.T) {
	needDigits(t)
	e := onSelection(t, func(c *setup) { c.Dtype, c.Products = tensor.Float32, Int8x3 })
	want := load.ImageRows(load.Selected(selection()), e.data.Normalization).Data
	got := make([][2][]float64, 2)
	for i, m := range []matrix.Matrix{e.splits[0].Data, want} {
		single, double := make([]float32, 120*37), make([]float64, 120*37)
		m.Float32(single, 0, 120)
		m.Float64(double, 0, 120)
		for _, x := range single {
			got[i][0] = append(got[i][0], float64(x))
		}
		got[i][1] = double
	}
	if !slices.Equal(got[0][0], got[1][0]) || !slices.Equal(got[0][1], got[1][1]) {
		t.Error("rows differ")
	}
}

// passes returns g and f, the scores, and the gradient at x for typical coefficients.
func (e *assembly) passes(t *testing.T, x []float64) [3][]float64 {
	t.Helper()
	p := e.splits[0].problem
	p.Space().Write(problem.Iterate, x)
	g := make([]float64, len(e.builder.statement.bounds()))
	f := require.Value(p.Forward(g))(t)
	v := require.Value(p.Watched(0))(t)
	d := p.Space().New()
	require.NoError(t, p.Backward([]float64{1, 0.3, 0.4, 0.5}, d))
	gradient := make([]float64, len(x))
	p.Space().Read(gradient, d)
	return [3][]float64{append(g, f), append([]float64{}, graph.Float64s(v)...), gradient}
}

func relative(a, b []float64) float64 {
	num, den := 0.0, 0.0
	for i := range b {
		num += (a[i] - b[i]) * (a[i] - b[i])
		den += b[i] * b[i]
	}
	return math.Sqrt(num / den)
}

// In the scores and in the gradient, products of three digits are as accurate as float32 products,
// both compared with float64. The widths are 1 to 512; the weights are early and late in training.
// The errors of products of two digits are within the bounds of docs/reference/products.md.
func TestDigitsAreAccurate(t *testing.T) {
	needDigits(t)
	rows := clothes(t, 60)
	logs, cases := 0.0, 0 // logarithms of the ratios of the errors, and their number
	for _, width := range []int{1, 7, 512} {
		onClothes := func(dtype tensor.Dtype, products Products) *assembly {
			return assembled(t, clothing(rows, func(c *setup) {
				c.Hidden, c.Dtype, c.Products, c.method = []int{width}, dtype, products, &method.PPALA{Primal: momentum}
			}))
		}
		trained := onClothes(tensor.Float32, "")
		for _, iterations := range []int{0, 100} {
			if iterations > 0 {
				require.Value(trained.Optimize(t.Context(), trainer.Settings{Iterations: iterations, RecordEvery: iterations}))(t)
			}
			x := trained.iterate()
			want := onClothes(tensor.Float64, "").passes(t, x)
			float := onClothes(tensor.Float32, Float32).passes(t, x)
			three := onClothes(tensor.Float32, Int8x3).passes(t, x)
			two := onClothes(tensor.Float32, Int8x2).passes(t, x)
			for i, what := range []string{"scores", "gradient"} {
				errors := [3]float64{}
				for k, got := range [][3][]float64{float, three, two} {
					errors[k] = relative(got[1+i], want[1+i])
				}
				logs, cases = logs+math.Log(errors[1]/errors[0]), cases+1
				if errors[1] > 2*errors[0] || errors[2] > 1e-3 {
					t.Errorf("width %d, %d iterations more: %s of three digits %.2g, of two %.2g, in float32 %.2g",
						width, iterations, what, errors[1], errors[2], errors[0])
				}
			}
		}
	}
	if mean := math.Exp(logs / float64(cases)); mean > 1 {
		t.Errorf("errors of three digits are %.2g times those in float32, in the mean", mean)
	} else {
		t.Logf("errors of three digits are %.2g times those in float32, in the mean", mean)
	}
}

// kappa holds the bounds of docs/reference/products.md by the number of digits, relative to the
// largest magnitude in a column.
var kappa = map[int]float64{2: 1.56e-5, 3: 6.2e-8}

const unit = 0x1p-24

// layer is the first layer of a network on some rows: the product X W, and the product X^T D for
// the gradient with respect to W.
type layer struct {
	x    *matrix.Bytes
	w, d []float32
	h    int
}

// firstLayer computes D = dS V^T o A (1 - A) in float64, where row i of class c has dS_ij =
// -dS_ic/3 = phi'(S_ic - S_ij)/3.
func firstLayer(e *assembly, x *matrix.Bytes, classes int) layer {
	n, d, h := x.Rows, x.Cols, models.FirstUnits(e.builder.Model)
	params := e.iterate()
	w, bias, v := params[:d*h], params[d*h:][:h], params[d*h+h:][:h*classes]
	l := layer{x: x, h: h, d: make([]float32, n*h)}
	for _, p := range w {
		l.w = append(l.w, float32(p))
	}
	a, s := make([]float64, h), make([]float64, classes)
	row := make([]float64, d)
	for i := range n {
		x.Float64(row, i, i+1)
		copy(a, bias)
		for k, value := range row {
			for j := range h {
				a[j] += (value - e.builder.Center[k]) * w[k*h+j]
			}
		}
		clear(s)
		for j := range h {
			a[j] = 1 / (1 + math.Exp(-a[j]))
			for c := range classes {
				s[c] += a[j] * v[j*classes+c]
			}
		}
		class := i * classes / n
		for j := range h {
			var sum float64
			for c := range classes {
				p := 1 / (1 + math.Exp(s[class]-s[c]))
				sum += p * (1 - p) * (v[j*classes+c] - v[j*classes+class])
			}
			l.d[i*h+j] = float32(sum * a[j] * (1 - a[j]) / float64(n))
		}
	}
	return l
}

// Both products of the first layer on real pictures, early and late in training, differ from
// float64 by at most the documented bounds.
func TestProductsAreWithinTheirBounds(t *testing.T) {
	needDigits(t)
	rows := clothes(t, 70) // one full block and a partial block
	for _, width := range []int{1, 33, 130} {
		e := assembled(t, clothing(rows, func(c *setup) { c.Hidden = []int{width} }))
		x := load.ImageRows(load.Selected(rows), e.data.Normalization).Data.(*matrix.Bytes)
		for _, iterations := range []int{0, 50} {
			if iterations > 0 {
				require.Value(e.Optimize(t.Context(), trainer.Settings{Iterations: iterations, RecordEvery: iterations}))(t)
			}
			l := firstLayer(e, x, 4)
			for count := range kappa {
				l.check(t, count)
			}
		}
	}
}

func (l layer) check(t *testing.T, count int) {
	t.Helper()
	k := require.Value(kernel.NewByteKernels(kernel.Best()))(t)
	n, d, h := l.x.Rows, l.x.Cols, l.h
	packed, scratch := k.NewPackedBytes(n, d, l.x.Scale), k.NewByteScratch()
	factor, cut := k.NewDigits(d, h, count), k.NewDigits(kernel.RowBlock, h, count)
	factor.Quantize(0, factor.Panels(), l.w, h, l.x.Scale)
	z, g := make([]float32, n*h), make([]float32, d*h)
	exact, bound := make([]float64, d*h), make([]float64, d*h)
	for lo := 0; lo < n; lo += kernel.RowBlock {
		hi := min(lo+kernel.RowBlock, n)
		packed.SetRows(lo, slices.Collect(slices.Chunk(l.x.Data[lo*d:hi*d], d)))
		k.Mul(z[lo*h:], h, packed, lo, hi, factor, scratch)
		cut.Resize(hi-lo, h)
		cut.Quantize(0, cut.Panels(), l.d[lo*h:], h, l.x.Scale)
		k.AddMulTrans(g, h, packed, lo, hi, cut, scratch)
		l.gradient(lo, hi, kappa[count], exact, bound)
	}
	largest := columnsMax(l.w, h)
	row, sums := make([]float64, d), make([]float64, h)
	for i := range n {
		l.x.Float64(row, i, i+1)
		clear(sums)
		var total float64
		for k, x := range row {
			total += x
			for j := range h {
				sums[j] += x * float64(l.w[k*h+j])
			}
		}
		for j, want := range sums {
			if most := kappa[count]*largest[j]*total + unit*math.Abs(want); !(math.Abs(float64(z[i*h+j])-want) <= 1.001*most) {
				t.Fatalf("width %d, %d digits: Z[%d,%d] = %v, want %v to within %.2g", h, count, i, j, z[i*h+j], want, most)
			}
		}
	}
	for at, want := range exact {
		if !(math.Abs(float64(g[at])-want) <= 1.001*bound[at]) {
			t.Fatalf("width %d, %d digits: G[%d,%d] = %v, want %v to within %.2g", h, count, at/h, at%h, g[at], want, bound[at])
		}
	}
}

// gradient adds a block's X^T D to exact. It adds the block's error bound to bound: the error of
// the digits, three roundings of the block and one rounding of the sum.
func (l layer) gradient(lo, hi int, kappa float64, exact, bound []float64) {
	d, h := l.x.Cols, l.h
	row, total, part := make([]float64, d), make([]float64, d), make([]float64, d*h)
	for i := lo; i < hi; i++ {
		l.x.Float64(row, i, i+1)
		for k, x := range row {
			total[k] += x
			for j := range h {
				part[k*h+j] += x * float64(l.d[i*h+j])
			}
		}
	}
	largest := columnsMax(l.d[lo*h:hi*h], h)
	for at, x := range part {
		exact[at] += x
		bound[at] += kappa*largest[at%h]*total[at/h] + 3*unit*math.Abs(x) + unit*math.Abs(exact[at])
	}
}

func columnsMax(a []float32, cols int) []float64 {
	most := make([]float64, cols)
	for at, x := range a {
		most[at%cols] = max(most[at%cols], math.Abs(float64(x)))
	}
	return most
}

// clothes returns the first rows of Fashion-MNIST's first four classes. It skips the test if the
// files are missing.
func clothes(t *testing.T, rowsPerClass int) *picture.Selection {
	t.Helper()
	if os.Getenv(datasets.EnvData) == "" {
		t.Skipf("%s is not set: real files are not tested", datasets.EnvData)
	}
	train := require.Value(fashion())(t)
	return require.Value(picture.Select(train, []int{0, 1, 2, 3}, rowsPerClass))(t)
}

// fashion reads Fashion-MNIST's training rows once.
var fashion = sync.OnceValues(func() (*picture.Images, error) {
	train, _, err := datasets.LoadImages(os.Getenv(datasets.EnvData), "fashion-mnist", 0)
	return train, err
})

// turned rotates the rows of each class: the rows from k on, then the rows before k. Only the order
// of the sums over the rows of a class changes.
func turned(s *picture.Selection, k int) *picture.Selection {
	own, pixels := *s, *s.Pixels
	pixels.Data = nil
	for c := range len(s.Offsets) - 1 {
		class := s.Pixels.Data[s.Offsets[c]*pixels.Cols : s.Offsets[c+1]*pixels.Cols]
		pixels.Data = append(append(pixels.Data, class[k*pixels.Cols:]...), class[:k*pixels.Cols]...)
	}
	own.Pixels = &pixels
	return &own
}

// finish returns the objective, the constraints and the certificate after 1,000 iterations.
func finish(t *testing.T, rows *picture.Selection, name string, products Products) map[string]float64 {
	t.Helper()
	e := assembled(t, clothing(rows, func(c *setup) {
		c.Hidden, c.Products, c.Threads = []int{8}, products, 1
		if name == "gdpa" {
			c.method = &method.GDPA{}
		}
	}))
	r := require.Value(e.Optimize(t.Context(), trainer.Settings{Iterations: 1000, RecordEvery: 1000}))(t)
	final := require.Value(e.Certify(r))(t)
	c := final.Certificate
	return map[string]float64{"objective": final.Objective, "stationarity": c.Stationarity, "feasibility": c.Infeasibility,
		"complementarity": c.Complementarity, "constraint 0": final.Constraints[0], "constraint 1": final.Constraints[1],
		"constraint 2": final.Constraints[2]}
}

// The smallest tolerances of the test, because the range of a few runs is a rough estimate. PPALA:
// in thirty float32 runs with different orders of the rows, a third of the runs end with
// constraints that differ from the others by 1e-5 to 2e-4, a fifth of the feasibility tolerance.
// GDPA is far from convergence, and its tolerance is the unit of float32 near 1.
const closePPALA, closeGDPA = 2e-4, 0x1p-24

// After 1,000 iterations, the results with products of three digits differ from the results with
// float32 products no more than float32 runs with different orders of the rows differ from each
// other.
func TestDigitsEndWhereFloat32Ends(t *testing.T) {
	needDigits(t)
	if testing.Short() {
		t.Skip("trains for some seconds")
	}
	rows := clothes(t, 100)
	for method, floor := range map[string]float64{"ppala": closePPALA, "gdpa": closeGDPA} {
		least, most := map[string]float64{}, map[string]float64{}
		for k := range 3 {
			for name, x := range finish(t, turned(rows, 7*k), method, Float32) {
				if k == 0 {
					least[name], most[name] = x, x
				}
				least[name], most[name] = min(least[name], x), max(most[name], x)
			}
		}
		for k := range 1 {
			for name, x := range finish(t, turned(rows, 7*k), method, Int8x3) {
				spread := max(most[name]-least[name], floor)
				if method == "ppala" && name == "objective" { // range of the objective: 7.5e-6
					spread = most[name] - least[name]
				}
				if x < least[name]-2*spread || x > most[name]+2*spread {
					t.Errorf("%s: %s is %v, in float32 %v to %v", method, name, x, least[name], most[name])
				}
			}
		}
	}
}
