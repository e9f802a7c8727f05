//go:build gpu

package check

import (
	"context"
	"maps"
	"math"
	"os"
	"testing"

	"gorgonia.org/tensor"

	"ppal/cuda"
	"ppal/cuda/driver"
	"ppal/cuda/emulator"
	"ppal/cuda/recorder"
	"ppal/datasets"
	"ppal/internal/config"
	"ppal/internal/graphcases"
	"ppal/trainer"
	"ppal/trainer/graph"
	engine "ppal/trainer/graph/cuda"
)

// emulated are options whose GPU is the emulator behind a recorder: the kernels' own code, every call checked.
func emulated(t *testing.T, set emulator.Options) Options {
	return Options{Log: t.Logf, Open: func() (driver.Driver, error) {
		r := recorder.New(recorder.Options{Inner: emulator.New(set)})
		t.Cleanup(func() {
			for _, v := range r.Violations() {
				t.Error(v)
			}
		})
		return r, nil
	}}
}

// allPassed fails where a result is not a pass.
func allPassed(t *testing.T, list []Result, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
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

// The kernels' code passes the checks: every model and constraint in float64, also by slices of the rows, and the rest of parity on
// some of them.
func TestParity(t *testing.T) {
	o, all := emulated(t, emulator.Options{}), graphcases.All()
	for _, slice := range []int{0, sliceRows} {
		list, err := passes(t.Context(), o, precisions()[0], all, slice)
		allPassed(t, list, err)
	}
	list, err := small(t.Context(), o)
	allPassed(t, list, err)
}

// Nothing depends on work being done before it is waited for, and every launch reads and writes what it says, and nothing else.
func TestParityWaitsAndDeclares(t *testing.T) {
	list, err := small(t.Context(), emulated(t, emulator.Options{Lazy: true}))
	allPassed(t, list, err)
	var few []graphcases.Case
	for i, c := range graphcases.All() {
		if i%9 == 0 {
			few = append(few, c)
		}
	}
	list, err = passes(t.Context(), emulated(t, emulator.Options{Strict: true, Memory: 4 << 20}), precisions()[1], few, 0)
	allPassed(t, list, err)
}

// So do 200 iterations on a few pictures.
func TestTraining(t *testing.T) {
	dir := os.Getenv("PPAL_DATA")
	if dir == "" {
		t.Skip("PPAL_DATA is not set")
	}
	images, err := datasets.FashionMNISTTraining(dir)
	if err != nil {
		t.Fatal(err)
	}
	list, err := trainingOn(t.Context(), emulated(t, emulator.Options{}), images, size{8, 4, 200}, size{20, 20, 20})
	allPassed(t, list, err)
}

// Every method takes the device where it takes the CPU: all that they ask of a space is there.
func TestMethods(t *testing.T) {
	o := emulated(t, emulator.Options{})
	images, _, err := datasets.LoadImages("", "synthetic", 1)
	if err != nil {
		t.Fatal(err)
	}
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

// Weights that are not finite make f and g what they are on the CPU, and the gradient not finite where it is not there.
func TestNonFinite(t *testing.T) {
	host, err := reference()
	if err != nil {
		t.Fatal(err)
	}
	err = withDevice(emulated(t, emulator.Options{}), cuda.Options{}, func(d *cuda.Device) error {
		for i, c := range graphcases.All() {
			if i%5 != 0 {
				continue
			}
			for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300} {
				var all [2][][]float64
				for k, e := range []graph.Engine{host, engine.Engine(d)} {
					p, err := c.Problem(tensor.Float64, e)
					if err != nil {
						return err
					}
					n, _ := p.Dims()
					x := make([]float64, n)
					p.Read(x, trainer.Iterate)
					x[n/2] = bad
					p.Write(trainer.Iterate, x)
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

// Without the files the training part says so.
func TestTrainingWithoutFiles(t *testing.T) {
	list, err := training(context.Background(), Options{})
	if err != nil || len(list) != 1 || list[0].Status != NotRun {
		t.Errorf("%v, error %v", list, err)
	}
}
