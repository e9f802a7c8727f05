package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/trainer"
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
