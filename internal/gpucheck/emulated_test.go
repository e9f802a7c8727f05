//go:build gpu

package gpucheck

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/cuda"
	"ppal/datasets"
	"ppal/datasets/picture"
	"ppal/internal/config"
	"ppal/internal/cuda/double"
	"ppal/internal/cuda/driver"
	"ppal/internal/graphcases"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
	"ppal/trainer/session"
)

// emulated returns options whose GPU is a computing double. The double runs the code of the kernels
// and checks every call.
func emulated(t *testing.T, set double.Options) Options {
	return Options{Log: t.Logf, Open: func() (driver.Driver, error) {
		r := double.Computing(set)
		t.Cleanup(func() {
			for _, v := range r.Violations() {
				t.Error(v)
			}
		})
		return r, nil
	}}
}

// allPassed fails the test if a result did not pass.
func allPassed(t *testing.T, list []Result, err error) {
	t.Helper()
	require.NoError(t, err)
	if len(list) == 0 {
		t.Error("nothing was checked")
	}
	for _, r := range list {
		if r.Status != Passed {
			t.Errorf("%s: %s, %.3g %s, at most %.3g, %s", r.Name, r.Status, r.Value, r.Unit, r.Bound, r.Detail)
		} else {
			t.Logf("%s: %.3g %s, at most %.3g, %s", r.Name, r.Value, r.Unit, r.Bound, r.Detail)
		}
	}
}

// The code of the kernels passes the checks: every model and constraint in float64, also by windows
// of rows, and the remaining parity checks on some cases.
func TestParity(t *testing.T) {
	o, all := emulated(t, double.Options{}), slices.Concat(graphcases.All(), graphcases.Ranked())
	for _, window := range []int{0, windowRows} {
		list, err := passes(t.Context(), o, precisions()[0], all, window)
		allPassed(t, list, err)
	}
	for _, p := range precisions() {
		list, err := passes(t.Context(), o, p, manyScores(graphcases.Values), 0)
		allPassed(t, list, err)
	}
	for _, p := range precisions() {
		for _, c := range pictureCases(p) {
			list, err := c.Run(t.Context(), o)
			allPassed(t, list, err)
		}
	}
	list, err := small(t.Context(), o)
	allPassed(t, list, err)
}

// Every launch reads and writes only the memory that it declares.
func TestParityDeclares(t *testing.T) {
	var few []graphcases.Case
	for i, c := range graphcases.All() {
		if i%9 == 0 {
			few = append(few, c)
		}
	}
	list, err := passes(t.Context(), emulated(t, double.Options{Strict: true, Memory: 4 << 20}), precisions()[1], few, 0)
	allPassed(t, list, err)
	list, err = passes(t.Context(), emulated(t, double.Options{Strict: true, Memory: 4 << 20}), precisions()[1], graphcases.PictureOperations(), 0)
	allPassed(t, list, err)
}

// Training on a few images for 200 iterations passes the checks.
func TestTraining(t *testing.T) {
	o := emulated(t, double.Options{})
	if o.Data = os.Getenv("PPAL_DATA"); o.Data == "" {
		t.Skip("PPAL_DATA is not set")
	}
	images := require.Value(datasets.FashionMNISTTraining(o.Data))(t) // once: reading takes a second
	for _, c := range trainingCases(size{8, 4, 200}, size{20, 8, 10}, func(string) (*picture.Images, error) { return images, nil }) {
		list, err := c.Run(t.Context(), o)
		allPassed(t, list, err)
	}
}

// Every method gives the same result on the device and on the CPU, so the device implements all
// operations.
func TestMethods(t *testing.T) {
	o := emulated(t, double.Options{})
	images, _, err := datasets.LoadImages("", "synthetic", 1)
	require.NoError(t, err)
	for _, settings := range []config.Values{
		{"method": "ppala", "regularizer": "l1", "regularizer-weight": "0.001"}, {"method": "ppala", "primal": "adam", "eta": "0.01"},
		{"method": "ppala", "primal": "gradient", "regularizer": "group-l1", "regularizer-weight": "0.001"},
		{"method": "plada"}, {"method": "plada", "x-step": "inner:3", "primal": "gradient"}, {"method": "gdpa", "primal": "nesterov"},
		{"method": "ssg"}, {"method": "ipp-ssg"}, {"method": "ipp-conex"}, {"method": "penalty"}, {"method": "gda"}, {"method": "alm"},
		{"method": "unconstrained", "regularizer": "box", "box": "-0.1,0.1"},
	} {
		var ends [2]trained
		for i, device := range []string{"cpu", "cuda"} {
			v := config.Values{"dtype": "float64", "device": device}
			maps.Copy(v, settings)
			if ends[i], err = train(t.Context(), o, images, size{5, 3, 12}, v); err != nil {
				t.Fatalf("%v: %v", settings, err)
			}
		}
		if d := Distance(ends[1].x, ends[0].x); !(d <= 1e-8) {
			t.Errorf("%v: the weights differ by %.2g", settings, d)
		}
	}
}

// If weights are not finite, f and g equal the CPU's values, and the same elements of the gradient
// are not finite.
func TestNonFinite(t *testing.T) {
	host, err := reference()
	require.NoError(t, err)
	err = withDevice(emulated(t, double.Options{}), cuda.Options{}, func(d *cuda.Device) error {
		for i, c := range graphcases.All() {
			if i%5 != 0 {
				continue
			}
			for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300} {
				var all [2][][]float64
				for k, e := range []graph.Engine{host, graph.On(d)} {
					p, err := c.Problem(tensor.Float64, e)
					if err != nil {
						return err
					}
					n, _ := p.Dims()
					x := make([]float64, n)
					p.Space().Read(x, problem.Iterate)
					x[n/2] = bad
					p.Space().Write(problem.Iterate, x)
					if all[k], err = Numbers(p); err != nil {
						return err
					}
				}
				for part, want := range all[0] {
					for j, w := range want {
						got := all[1][part][j]
						same := math.Abs(got-w) <= 1e-9*math.Abs(w)+1e-12 || got == w || math.IsNaN(got) && math.IsNaN(w)
						if !same {
							t.Errorf("%s, a weight of %v: part %d, number %d is %v, %v on the CPU", c.Name, bad, part, j, got, w)
							break
						}
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// With int8 digits, weights that are not finite give non-finite scores at the same places as
// float32. f, g and the gradient follow from the scores.
func TestNonFiniteWithDigits(t *testing.T) {
	c := graphcases.Network(models.Spec{Inputs: 14, Hidden: []int{9}}, []int{40, 30}, constraints.Sigmoid, true, graphcases.Bytes)
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		var all [2][][]float64
		for k, products := range []cuda.Products{cuda.Float32, cuda.Int8x3} {
			err := withDevice(emulated(t, double.Options{}), cuda.Options{Products: products}, func(d *cuda.Device) error {
				p, err := c.Problem(tensor.Float32, graph.On(d))
				if err != nil {
					return err
				}
				n, _ := p.Dims()
				x := make([]float64, n)
				p.Space().Read(x, problem.Iterate)
				x[5] = bad
				p.Space().Write(problem.Iterate, x)
				all[k], err = Numbers(p)
				return err
			})
			require.NoError(t, err)
		}
		for part, want := range all[0] {
			for j, w := range want {
				got := all[1][part][j]
				if same := math.Abs(got-w) <= 1e-4*max(1, math.Abs(w)) || got == w || math.IsNaN(got) && math.IsNaN(w); !same {
					t.Fatalf("a weight of %v: part %d, number %d is %v, in float32 %v", bad, part, j, got, w)
				}
			}
		}
	}
}

// Without the training files the training part is skipped.
func TestTrainingWithoutFiles(t *testing.T) {
	list, err := trainingCases(compared, full, datasets.FashionMNISTTraining)[0].Run(context.Background(), Options{})
	if err != nil || len(list) != 1 || list[0].Status != NotRun {
		t.Errorf("%v, error %v", list, err)
	}
}

// Products of 8-bit data with three digits are as accurate as float32. Products with two digits and
// TF32 products are less accurate. The double's sums are exact, so the test measures only the error
// of the digits. gpu-check also measures the error of a device's floating-point sums.
func TestEightBit(t *testing.T) {
	c := graphcases.Network(models.Spec{Inputs: 100, Hidden: []int{40}}, []int{2500, 2000}, constraints.Sigmoid, true, graphcases.Bytes)
	list, err := eightBit(t.Context(), emulated(t, double.Options{}), c)
	allPassed(t, list, err)
	for _, p := range withDigits() {
		if p.digits != cuda.AutomaticDigits { // the few cases below, and the bits of package cuda's tests, are enough
			continue
		}
		for _, window := range []int{0, windowRows} {
			passed, err := passes(t.Context(), emulated(t, double.Options{}), p, eightBitCases(), window)
			allPassed(t, passed, err)
		}
	}
	var few []graphcases.Case
	for _, c := range eightBitCases() {
		if c.Rows < 10 {
			few = append(few, c)
		}
	}
	for _, p := range withDigits() {
		passed, err := passes(t.Context(), emulated(t, double.Options{Strict: true, Memory: 4 << 20}), p, few, 0)
		allPassed(t, passed, err)
	}
	errs := map[string]float64{}
	for _, r := range list {
		errs[r.Name] = r.Value
	}
	for _, of := range []string{"scores", "gradient"} {
		of := func(kind string) float64 { return errs["8-bit data, "+kind+" products: error of the "+of] }
		if !(of("bf16x3") <= 1.5*of("float32") && of("bf16x3") > 0 && of("bf16x3") < of("bf16x2")/2 && of("bf16x2") < of("tf32")/4) {
			t.Errorf("float32 %.2g, bf16x3 %.2g, bf16x2 %.2g, tf32 %.2g", of("float32"), of("bf16x3"), of("bf16x2"), of("tf32"))
		}
		if !(of("int8x3") <= 1.2*of("float32") && of("int8x3") > 0 && of("int8x3") < of("int8x2")/4 && of("int8x2") < of("tf32")) {
			t.Errorf("float32 %.2g, int8x3 %.2g, int8x2 %.2g, tf32 %.2g", of("float32"), of("int8x3"), of("int8x2"), of("tf32"))
		}
	}
}

// Training with three digits and training with float32 give the same result: on all rows, by
// windows of rows, and on mini-batches, which bind images.
func TestTrainingWithDigits(t *testing.T) {
	o := emulated(t, double.Options{})
	images, _, err := datasets.LoadImages("", "synthetic", 1)
	require.NoError(t, err)
	for _, settings := range []config.Values{{}, {"micro-batch": "30"}, {"batch-size": "40"}} {
		var ends [3]trained
		for i, products := range []string{"float32", "bf16x3", "int8x3"} {
			v := config.Values{"device": "cuda", "products": products, "method": "ppala", "primal": "gradient"}
			maps.Copy(v, settings)
			if ends[i], err = train(t.Context(), o, images, size{20, 6, 50}, v); err != nil {
				t.Fatalf("%v: %v", v, err)
			}
		}
		for _, end := range ends[1:] {
			d := Distance(end.x, ends[0].x)
			t.Logf("%v: the weights differ by %.2g, f by %.2g", settings, d, end.objective-ends[0].objective)
			if !(d <= 1e-4) || d == 0 || !(math.Abs(end.objective/ends[0].objective-1) <= 1e-4) ||
				!(Distance(end.constraints, ends[0].constraints) <= 1e-3) {
				t.Errorf("%v: the weights differ by %.2g: %+v, float32 %+v", settings, d, end.objective, ends[0].objective)
			}
		}
	}
}

// A table of small integers stays in bytes. The first layer holds the columns' centres and
// deviations. Training gives the same result as float64 on the CPU.
func TestIntegersWithDigits(t *testing.T) {
	var text strings.Builder
	text.WriteString("y,sex")
	for j := range 20 {
		fmt.Fprintf(&text, ",x%d", j)
	}
	for i := range 300 {
		fmt.Fprintf(&text, "\n%d,%c", i*i%7%2, "ab"[i%3%2])
		for j := range 20 {
			fmt.Fprintf(&text, ",%d", (i*(2*j+3)+i*i*j)%(11+7*j))
		}
	}
	file := filepath.Join(t.TempDir(), "rows.csv")
	require.NoError(t, os.WriteFile(file, []byte(text.String()+"\n"), 0o600))
	var ends [3][]float64
	for i, set := range []config.Values{{"device": "cpu", "dtype": "float64"}, {"device": "cuda", "products": "bf16x3"},
		{"device": "cuda", "products": "int8x3"}} {
		maps.Copy(set, config.Values{"problem": "dp", "dataset": "csv", "file": file, "label": "y", "group": "sex=a", "model": "mlp", "hidden": "5",
			"method": "ppala", "primal": "gradient"})
		cfg := require.Value(config.Resolve(set, nil))(t)
		o := emulated(t, double.Options{})
		options := require.Value(cfg.SessionOptions(""))(t)
		options.Device.OpenGPU = onGPU(func(int) (driver.Driver, error) { return o.Open() }, timedCase{})
		options.Settings = trainer.Settings{Iterations: 20, RecordEvery: 20}
		s := require.Value(session.New(t.Context(), options))(t)
		products := s.Describe().Products
		r, err := s.Optimize(t.Context())
		require.NoError(t, errors.Join(err, s.Close()))
		if want := []string{"float64", "bf16x3", "int8x3"}[i]; products != want {
			t.Errorf("products in %s, want %s", products, want)
		}
		ends[i] = append(r.Point.Constraints, r.Objective)
	}
	for _, end := range ends[1:] {
		if d := Distance(end, ends[0]); !(d <= 1e-4) {
			t.Errorf("f and g differ by %.2g: %v, float64 %v", d, end, ends[0])
		}
	}
}
