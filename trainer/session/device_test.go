package session

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/cuda"
	"ppal/internal/cuda/double"
	"ppal/internal/cuda/driver"
	"ppal/internal/graphcases"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// onGPU returns a function that opens a device with the driver that driverOf opens.
func onGPU(driverOf func(ordinal int) (driver.Driver, error)) func(graph.GPUOptions) (graph.GPU, error) {
	return func(o graph.GPUOptions) (graph.GPU, error) {
		d, err := driverOf(o.Ordinal)
		if err != nil {
			return nil, err
		}
		gpu, err := cuda.On(d, cuda.Options{Products: cuda.Products(o.Products), MicroBatch: o.MicroBatch})
		if err != nil {
			return nil, err
		}
		return gpu, nil
	}
}

// onDouble builds a run whose GPU is a test double.
func onDouble(t *testing.T, r *double.Driver, change func(c *setup)) (*assembly, error) {
	t.Helper()
	c := small(func(c *setup) {
		c.Device.Kind, c.Ordinal = CUDA, 1
		c.OpenGPU = onGPU(func(ordinal int) (driver.Driver, error) {
			if ordinal != 1 {
				t.Errorf("GPU %d was opened", ordinal)
			}
			return r, nil
		})
		change(c)
	})
	return try(t, c.options())
}

// Every problem trains on a GPU, including mini-batches and micro-batches, with all calls in the
// right order. The run names the GPU and its memory. Close releases everything.
func TestTrainingOnGPU(t *testing.T) {
	for name, change := range map[string]func(c *setup){
		"mnpc":   func(*setup) {},
		"tf32":   func(c *setup) { c.Dtype, c.Products = tensor.Float32, TF32 },
		"bf16x3": func(c *setup) { c.Dtype, c.Products = tensor.Float32, BF16x3 },
		"int8x3": func(c *setup) { c.Dtype, c.Products = tensor.Float32, Int8x3 },
		"int8x2, batches in micro-batches": func(c *setup) {
			c.Dtype, c.Products, c.BatchSize, c.MicroBatch = tensor.Float32, Int8x2, 30, 7
		},
		"bf16x2, batches": func(c *setup) {
			c.Dtype, c.Products, c.BatchSize = tensor.Float32, BF16x2, 30
		},
		"batches": func(c *setup) { c.BatchSize = 30 },
		"convolutions, batches": func(c *setup) {
			c.Dtype, c.Products, c.BatchSize, c.model = tensor.Float32, TF32, 30, models.Conv{Channels: []int{2, 3}, Norm: models.GroupNorm}
		},
		"residual network, micro-batch": func(c *setup) { c.model, c.MicroBatch = models.ResNet{Channels: []int{2, 3}}, 17 },
		"micro-batch":                   func(c *setup) { c.MicroBatch = 17 },
		"sampled": func(c *setup) {
			c.source, c.task = Table{Dataset: "synthetic-communities"}, Intersectional{Epsilon: []float64{0.1}, Form: SampledGroup}
			c.regularizer = &problem.Regularizer{}
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "int8x2, batches in micro-batches" {
				notUnderRace(t)
			}
			r := double.New(double.Options{Info: driver.Info{Ordinal: 1, Name: "NVIDIA H200", Major: 9, Driver: "13.0", Products: "cuBLAS 13.1"}})
			e := require.Value(onDouble(t, r, change))(t)
			result := require.Value(e.Optimize(t.Context(), trainer.Settings{Iterations: 4, RecordEvery: 2}))(t)
			if _, err := e.Certify(result); err != nil {
				t.Error(err)
			}
			info := e.Describe()
			if !strings.HasPrefix(info.Device, "cuda:1, NVIDIA H200 (compute capability 9.0), driver for CUDA 13.0, cuBLAS 13.1, ") ||
				info.DeviceBytes == 0 {
				t.Errorf("%q, %d bytes", info.Device, info.DeviceBytes)
			}
			if err := errors.Join(e.Close(), e.Close()); err != nil {
				t.Error(err)
			}
			if v := r.Violations(); v != nil || r.Count("Close") != 1 {
				t.Errorf("violations %v, closed %d times", v, r.Count("Close"))
			}
		})
	}
}

// The GPU scores the held-out rows of the records, whose rows cross the bus once, and computes the
// certificate in float64: of a perceptron, and of networks for pictures.
func TestGPUMeasures(t *testing.T) {
	for kernel, model := range map[string]models.Architecture{"output_": nil, "patches": models.Conv{Channels: []int{3}},
		"normalize": models.ResNet{Channels: []int{2}}} {
		t.Run(kernel, func(t *testing.T) { measuresOnGPU(t, model, kernel) })
	}
}

// measuresOnGPU checks the calls of a run, whose certificate launches the kernels with the given
// beginning of their names in float64.
func measuresOnGPU(t *testing.T, model models.Architecture, kernel string) {
	r := double.New(double.Options{})
	e := require.Value(onDouble(t, r, func(c *setup) { c.Dtype, c.Products, c.model = tensor.Float32, Float32, model }))(t)
	rows, cols := e.splits[1].Data.Dims()
	const iterations, single = 3, 4
	scores := single * rows * e.builder.Outputs()
	for _, every := range []int{iterations, 1} {
		from := len(r.Calls())
		result := require.Value(e.Optimize(t.Context(), trainer.Settings{Iterations: iterations, RecordEvery: every, Tolerance: -1}))(t) // f = 0 on this device
		read := 0
		for _, c := range r.Calls()[from:] {
			if c.Kind == "Download" && c.Bytes == scores {
				read++
			}
			if c.Kind == "Upload" && c.Bytes >= rows*cols {
				t.Errorf("a record uploads %d bytes", c.Bytes)
			}
		}
		if want := 1 + iterations/every; read != want {
			t.Errorf("%d downloads of held-out scores with %d records", read, want)
		}
		if every > 1 {
			continue
		}
		from, read = len(r.Calls()), 0
		require.Value(e.Certify(result))(t)
		for _, c := range r.Calls()[from:] {
			if c.Kind == "Launch" && strings.HasPrefix(c.Name, kernel) && strings.HasSuffix(c.Name, "_f64") {
				read++
			}
		}
		if passes := 4; read < passes {
			t.Errorf("%d passes in float64, want forward and backward passes", read)
		}
	}
	if err := errors.Join(e.Close(), errors.Join(r.Violations()...)); err != nil {
		t.Error(err)
	}
}

// A float32 network on images compiles only the modules whose kernels it launches.
func TestModulesOfARun(t *testing.T) {
	r := double.New(double.Options{})
	e := require.Value(onDouble(t, r, func(c *setup) { c.Dtype, c.Products = tensor.Float32, Float32 }))(t)
	require.Value(e.Optimize(t.Context(), trainer.Settings{Iterations: 4}))(t)
	launched := map[string]bool{}
	var modules [][]string // the kernels of each compiled module
	for _, c := range r.Calls() {
		switch c.Kind {
		case "Load":
			modules = append(modules, nil)
		case "Function":
			modules[len(modules)-1] = append(modules[len(modules)-1], c.Name)
		case "Launch":
			launched[c.Name] = true
		}
	}
	for _, kernels := range modules {
		if !slices.ContainsFunc(kernels, func(name string) bool { return launched[name] }) {
			t.Errorf("nothing launches the kernels of a compiled module: %v", kernels)
		}
	}
	const all = 16
	if len(modules) == 0 || len(modules) > all*2/3 {
		t.Errorf("%d of %d modules were compiled", len(modules), all)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// A GPU that fails while the problem is built is released.
func TestGPUFailsWhileBuilding(t *testing.T) {
	r := double.New(double.Options{Memory: 50_000})
	_, err := onDouble(t, r, func(*setup) {})
	if !errors.Is(err, driver.ErrOutOfMemory) || r.Violations() != nil || r.Count("Close") != 1 {
		t.Errorf("error %v, violations %v, closed %d times", err, r.Violations(), r.Count("Close"))
	}
}

// The automatic device is the CPU if a GPU cannot be opened, whatever the reason. A note states
// the reason, unless the program was built without GPU support. With --device cuda the error
// remains.
func TestAutomaticDevice(t *testing.T) {
	for _, c := range []struct {
		err  error
		want []string
	}{
		{errors.Join(driver.ErrUnavailable, driver.ErrNoSupport), nil},
		{driver.ErrUnavailable, []string{"The CPU trains, because no GPU could be opened: no GPU available."}},
		{errors.Join(driver.ErrOutOfMemory, errors.New("closing too")),
			[]string{"The CPU trains, because no GPU could be opened: out of device memory closing too."}},
	} {
		device := func(kind DeviceKind) func(s *setup) {
			return func(s *setup) {
				s.Device.Kind, s.OpenGPU = kind, onGPU(func(int) (driver.Driver, error) { return nil, c.err })
			}
		}
		e, err := try(t, small(device("")).options())
		if err != nil || !strings.HasPrefix(e.Describe().Device, "cpu, ") {
			t.Fatalf("%v: error %v", c.err, err)
		}
		if diff := cmp.Diff(c.want, e.devices.Notes()); diff != "" || !strings.Contains(strings.Join(e.Describe().Notes, "\n"), strings.Join(c.want, "\n")) {
			t.Errorf("%v: %s\n%q", c.err, diff, e.Describe().Notes)
		}
		if _, err := try(t, small(device(CUDA)).options()); !errors.Is(err, driver.ErrUnavailable) && !errors.Is(err, driver.ErrOutOfMemory) {
			t.Errorf("--device cuda, %v: %v", c.err, err)
		}
	}
}

// The automatic device is the CPU for a small problem, and a note says so. For a larger problem it
// is the GPU. Chosen products and micro-batches keep the GPU.
func TestSmallProblemOnAutomaticDevice(t *testing.T) {
	for name, c := range map[string]struct {
		gpu    bool
		change func(c *setup)
	}{
		"small":       {false, func(*setup) {}},
		"larger":      {true, func(c *setup) { c.Hidden = []int{80} }},
		"batches":     {false, func(c *setup) { c.Hidden, c.BatchSize = []int{80}, 12 }},
		"products":    {true, func(c *setup) { c.Products = Float32 }},
		"micro-batch": {true, func(c *setup) { c.MicroBatch = 50 }},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoRace(t, "TestTrainingOnGPU runs the same goroutines")
			r := double.New(double.Options{})
			a := assembled(t, small(func(s *setup) {
				s.Device = Device{Dtype: tensor.Float32, OpenGPU: onGPU(func(int) (driver.Driver, error) { return r, nil })}
				c.change(s)
			}))
			device, notes := a.Describe().Device, strings.Join(a.devices.Notes(), "")
			if strings.HasPrefix(device, "cuda:") != c.gpu || strings.Contains(notes, "--device cuda takes the GPU") == c.gpu {
				t.Errorf("%s: %q", device, notes)
			}
			if !c.gpu && (r.Count("Close") != 1 || r.Violations() != nil) {
				t.Errorf("the GPU was closed %d times, %v", r.Count("Close"), r.Violations())
			}
			if _, err := a.Optimize(t.Context(), trainer.Settings{Iterations: 1}); err != nil {
				t.Error(err)
			}
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// The description names the products that ran. The session refuses products that the device or the
// data do not support. Automatic products use three int8 digits if the device has integer units.
func TestProductsOnGPU(t *testing.T) {
	require.NoRace(t, "TestTrainingOnGPU runs the same goroutines")
	r := func() *double.Driver { return double.New(double.Options{}) }
	for asked, ran := range map[Products]string{"": "int8x3", Float32: "float32", TF32: "tf32", BF16x3: "bf16x3", BF16x2: "bf16x2",
		Int8x3: "int8x3", Int8x2: "int8x2"} {
		e := require.Value(onDouble(t, r(), func(c *setup) { c.Dtype, c.Products = tensor.Float32, asked }))(t)
		if info := e.Describe(); info.Products != ran || !strings.Contains(info.Device, ran+" products") {
			t.Errorf("%s: %s, %s", asked, info.Products, info.Device)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	table := onTable(DemographicParity{}, Table{Dataset: "synthetic-adult"}, func(o *Options) {
		o.Device.Kind, o.Device.Products = CUDA, BF16x3
		o.Device.OpenGPU = onGPU(func(int) (driver.Driver, error) { return r(), nil })
	})
	want := "session: products is bf16x3, which is for 8-bit data; the features of synthetic-adult are others, want auto or float32"
	if _, err := try(t, table); !errors.Is(err, ErrOptions) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	old := func(c *setup) {
		c.Device.Kind, c.OpenGPU = CUDA, onGPU(func(int) (driver.Driver, error) {
			return double.New(double.Options{Info: driver.Info{Name: "Tesla T4", Major: 7, Minor: 5}}), nil
		})
	}
	want = "session: products is int8x3, which needs compute capability 8.0; Tesla T4 has 7.5, want auto or float32"
	if _, err := try(t, single(Int8x3, old).options()); !errors.Is(err, ErrOptions) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	e, err := try(t, single("", old).options())
	if err != nil || e.Describe().Products != "float32" {
		t.Errorf("auto without integer units: %v", err)
	}
	lacking := single(TF32, func(c *setup) {
		c.Device.Kind, c.OpenGPU = "", onGPU(func(int) (driver.Driver, error) { return nil, driver.ErrUnavailable })
	})
	if _, err := try(t, lacking.options()); !errors.Is(err, driver.ErrUnavailable) || !strings.Contains(err.Error(), "tf32") {
		t.Errorf("without a GPU: %v", err)
	}
}

// With an op that the GPU does not support, the automatic device is the CPU, and a note names the
// op. --device cuda is refused.
func TestUnsupportedOnGPU(t *testing.T) {
	for _, kind := range []DeviceKind{"", CUDA} {
		r, own := double.New(double.Options{}), *fit(1)
		own.Nodes = func(scores *gorgonia.Node, rows Rows) (*gorgonia.Node, gorgonia.Nodes, error) {
			y, err := graphcases.NewSwish(scores, true)
			if err != nil {
				return nil, nil, err
			}
			return fit(1).Nodes(y, rows)
		}
		o := onTable(&own, Matrices{Train: line(9000)}, func(o *Options) {
			o.Model = &models.Spec{Hidden: []int{400}, Activation: models.Sigmoid}
			o.Device = Device{Kind: kind, Dtype: tensor.Float64, OpenGPU: onGPU(func(int) (driver.Driver, error) { return r, nil })}
		})
		a, err := try(t, o)
		if kind == CUDA {
			if !errors.As(err, new(*plan.UnsupportedError)) {
				t.Errorf("--device cuda: %v", err)
			}
			continue
		}
		require.NoError(t, err)
		if notes := strings.Join(a.devices.Notes(), ""); a.devices.GPU != nil || !strings.Contains(notes, "no kernel for the op swish on the GPU") || r.Count("Close") != 1 {
			t.Errorf("%s, closed %d times: %q", a.Describe().Device, r.Count("Close"), notes)
		}
		require.Value(a.Optimize(t.Context(), trainer.Settings{Iterations: 1}))(t)
		if err := errors.Join(a.Close(), errors.Join(r.Violations()...)); err != nil {
			t.Error(err)
		}
	}
}

// A table of small integers is stored as bytes only for products of digits. Float32 products on a
// GPU read the standardised features.
func TestIntegersOnGPU(t *testing.T) {
	file := integersFile(t, "2")
	for products, noted := range map[Products]bool{BF16x3: true, Int8x3: true, Float32: false} {
		r := double.New(double.Options{})
		e := buildOptions(t, onTable(DemographicParity{}, CSV(file, "y", "sex=a"), func(o *Options) {
			o.Model = &models.Spec{Hidden: []int{9}, Activation: models.ReLU}
			o.Device.Kind, o.Device.Products = CUDA, products
			o.Device.OpenGPU = onGPU(func(int) (driver.Driver, error) { return r, nil })
		}))
		require.Value(e.Optimize(t.Context(), trainer.Settings{Iterations: 3}))(t)
		if got := strings.Contains(strings.Join(e.Describe().Notes, " "), "stores them as bytes"); got != noted || e.Describe().Products != string(products) {
			t.Errorf("%s: %s, notes %q", products, e.Describe().Products, e.Describe().Notes)
		}
		if err := errors.Join(e.Close(), errors.Join(r.Violations()...)); err != nil {
			t.Error(err)
		}
	}
}

// The CPU trains with digits of bfloat16 on dense floats by name. Without the tiles it refuses
// them.
func TestBFloat16OnCPU(t *testing.T) {
	require.NoRace(t, "the tests of internal/cpu run the same goroutines")
	file := filepath.Join(t.TempDir(), "floats.csv")
	r := rand.New(rand.NewPCG(4, 5))
	var text strings.Builder
	for j := range plan.DigitColumns {
		fmt.Fprintf(&text, "x%d,", j)
	}
	text.WriteString("sex,y\n")
	for i := range 80 {
		for range plan.DigitColumns {
			fmt.Fprintf(&text, "%.4f,", r.NormFloat64())
		}
		fmt.Fprintf(&text, "%c,%d\n", "ab"[i%2], i/2%2)
	}
	require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))
	options := func(products Products, hidden, batch int) Options {
		return onTable(DemographicParity{}, CSV(file, "y", "sex=a"), func(o *Options) {
			o.Model, o.BatchSize = &models.Spec{Hidden: []int{hidden}}, batch
			o.Device = Device{Kind: CPU, Products: products, inGo: true}
		})
	}
	for _, c := range []struct {
		products      Products
		hidden, batch int
		want          string
	}{
		{"", 256, 0, "float32"}, {BF16x3, 9, 0, "bf16x3"}, {BF16x2, 9, 20, "bf16x2"}, {Float32, 256, 0, "float32"},
	} {
		e := buildOptions(t, options(c.products, c.hidden, c.batch))
		if got := e.Describe().Products; got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
		if _, err := e.Optimize(t.Context(), trainer.Settings{Iterations: 2}); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	o := options(BF16x3, 9, 0)
	o.Device.inGo, o.Device.SIMD = false, NoSIMD
	want := "session: products is bf16x3, which needs a GPU, or a CPU with AMX for bfloat16; the go kernels have no such tiles here, want auto or float32"
	if _, err := try(t, o); !errors.Is(err, ErrOptions) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
