package session

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"ppal/cuda/double"
	"ppal/cuda/driver"
	"ppal/internal/config"
	"ppal/trainer"
	"ppal/trainer/graph/cuda"
)

// onGPU lets an experiment train on a device whose driver open returns.
func onGPU(open func(ordinal int) (driver.Driver, error)) Option {
	return WithGPU(func(o GPUOptions) (GPU, error) {
		d, err := open(o.Ordinal)
		if err != nil {
			return nil, err
		}
		gpu, err := cuda.Open(d, o.Products, o.MicroBatch)
		if err != nil {
			return nil, err
		}
		return gpu, nil
	})
}

// onRecorder builds an experiment whose GPU is a test double.
func onRecorder(t *testing.T, r *double.Driver, change func(c *config.Train)) (*Experiment, error) {
	t.Helper()
	return New(t.Context(), small(func(c *config.Train) {
		c.Device.Device, c.Products = "cuda:1", "auto"
		change(c)
	}), "", onGPU(func(ordinal int) (driver.Driver, error) {
		if ordinal != 1 {
			t.Errorf("GPU %d was opened", ordinal)
		}
		return r, nil
	}))
}

// Every problem trains on a GPU, on mini-batches and by slices too, with all calls in order; the run names the GPU and its memory, and
// Close gives everything back.
func TestTrainingOnGPU(t *testing.T) {
	for name, change := range map[string]func(c *config.Train){
		"mnpc":   func(*config.Train) {},
		"tf32":   func(c *config.Train) { c.Dtype, c.Products = "float32", "tf32" },
		"bf16x3": func(c *config.Train) { c.Dtype, c.Products = "float32", "bf16x3" },
		"int8x3": func(c *config.Train) { c.Dtype, c.Products = "float32", "int8x3" },
		"int8x2, batches by slices": func(c *config.Train) {
			c.Dtype, c.Products, c.BatchSize, c.MicroBatch = "float32", "int8x2", 30, 7
		},
		"bf16x2, batches": func(c *config.Train) {
			c.Dtype, c.Products, c.BatchSize = "float32", "bf16x2", 30
		},
		"batches":     func(c *config.Train) { c.BatchSize = 30 },
		"micro-batch": func(c *config.Train) { c.MicroBatch = 17 },
		"sampled": func(c *config.Train) {
			c.Data = config.Data{Problem: "if", Dataset: "synthetic-communities", Split: "70/15/15", Missing: "refuse"}
			c.Problem = config.Problem{Epsilon: []float64{0.1}, Phi: "hinge", Psi: "hinge", IFForm: "sampled", Regularizer: "none"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := double.New(double.Options{Info: driver.Info{Ordinal: 1, Name: "NVIDIA H200", Major: 9, Driver: "13.0", Products: "cuBLAS 13.1"}})
			e, err := onRecorder(t, r, change)
			if err != nil {
				t.Fatal(err)
			}
			result, err := e.Train(t.Context(), trainer.Settings{Iterations: 4, RecordEvery: 2})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.Finish(result); err != nil {
				t.Error(err)
			}
			info := e.Info()
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

// A network in float32 on images compiles the modules that it launches kernels of, and no others.
func TestModulesOfARun(t *testing.T) {
	r := double.New(double.Options{})
	e, err := onRecorder(t, r, func(c *config.Train) { c.Dtype, c.Products = "float32", "float32" })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Train(t.Context(), trainer.Settings{Iterations: 4}); err != nil {
		t.Fatal(err)
	}
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

// A GPU that fails while the problem is built is given back.
func TestGPUFailsWhileBuilding(t *testing.T) {
	r := double.New(double.Options{Memory: 50_000})
	_, err := onRecorder(t, r, func(*config.Train) {})
	if !errors.Is(err, driver.ErrOutOfMemory) || r.Violations() != nil || r.Count("Close") != 1 {
		t.Errorf("error %v, violations %v, closed %d times", err, r.Violations(), r.Count("Close"))
	}
}

// auto takes the CPU only where there is no GPU, not where one fails.
func TestAutomaticDevice(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{{driver.ErrUnavailable, ""}, {driver.ErrOutOfMemory, "out of device memory"}} {
		e, err := New(t.Context(), small(func(c *config.Train) { c.Device.Device = "auto" }), "",
			onGPU(func(int) (driver.Driver, error) { return nil, c.err }))
		switch {
		case c.want == "" && (err != nil || !strings.HasPrefix(e.Info().Device, "cpu, ")):
			t.Errorf("%v: error %v", c.err, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%v: error %v", c.err, err)
		}
	}
}

// What ran is named, and what a device or the data lack is refused by name. auto is three slices of integers where the device has their
// units.
func TestProductsOnGPU(t *testing.T) {
	r := func() *double.Driver { return double.New(double.Options{}) }
	for asked, ran := range map[string]string{"auto": "int8x3", "float32": "float32", "tf32": "tf32", "bf16x3": "bf16x3", "bf16x2": "bf16x2",
		"int8x3": "int8x3", "int8x2": "int8x2"} {
		e, err := onRecorder(t, r(), func(c *config.Train) { c.Dtype, c.Products = "float32", asked })
		if err != nil {
			t.Fatal(err)
		}
		if info := e.Info(); info.Products != ran || !strings.Contains(info.Device, ran+" products") {
			t.Errorf("%s: %s, %s", asked, info.Products, info.Device)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	table := tableConfig(t, config.Values{"problem": "dp", "dataset": "synthetic-adult", "device": "cuda", "products": "bf16x3"})
	gpu := onGPU(func(int) (driver.Driver, error) { return r(), nil })
	want := "--products is bf16x3, which is for 8-bit data; the features of synthetic-adult are others, want auto or float32"
	if _, err := New(t.Context(), table, "", gpu); !errors.Is(err, config.ErrUsage) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	old := onGPU(func(int) (driver.Driver, error) {
		return double.New(double.Options{Info: driver.Info{Name: "Tesla T4", Major: 7, Minor: 5}}), nil
	})
	want = "--products is int8x3, which needs compute capability 8.0; Tesla T4 has 7.5, want auto or float32"
	if _, err := New(t.Context(), single("int8x3", func(c *config.Train) { c.Device.Device = "cuda" }), "", old); !errors.Is(err, config.ErrUsage) ||
		err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	e, err := New(t.Context(), single("auto", func(c *config.Train) { c.Device.Device = "cuda" }), "", old)
	if err != nil || e.Info().Products != "float32" {
		t.Errorf("auto without integer units: %v", err)
	}
	none := onGPU(func(int) (driver.Driver, error) { return nil, driver.ErrUnavailable })
	lacking := single("bf16x3", func(c *config.Train) { c.Device.Device = "auto" })
	if _, err := New(t.Context(), lacking, "", none); !errors.Is(err, driver.ErrUnavailable) || !strings.Contains(err.Error(), "bf16x3") {
		t.Errorf("without a GPU: %v", err)
	}
}

// A table of small integers is kept as bytes for slices, and not otherwise: float32 on a GPU reads the standardised features.
func TestIntegersOnGPU(t *testing.T) {
	file := integersFile(t, "2")
	for products, noted := range map[string]bool{"bf16x3": true, "int8x3": true, "float32": false} {
		r := double.New(double.Options{})
		cfg := tableConfig(t, config.Values{"problem": "dp", "dataset": "csv", "file": file, "label": "y", "group": "sex=a",
			"model": "mlp", "hidden": "9", "dtype": "float32", "device": "cuda", "products": products})
		e, err := New(t.Context(), cfg, "", onGPU(func(int) (driver.Driver, error) { return r, nil }))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Train(t.Context(), trainer.Settings{Iterations: 3}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(e.Info().Notes, " "), "kept as bytes"); got != noted || e.Info().Products != products {
			t.Errorf("%s: %s, notes %q", products, e.Info().Products, e.Info().Notes)
		}
		if err := errors.Join(e.Close(), errors.Join(r.Violations()...)); err != nil {
			t.Error(err)
		}
	}
}
