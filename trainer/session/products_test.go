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
	"ppal/datasets/picture"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/method"
	"ppal/trainer/problem"
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
