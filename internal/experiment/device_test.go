package experiment

import (
	"errors"
	"strings"
	"testing"

	"ppal/cuda/driver"
	"ppal/cuda/recorder"
	"ppal/internal/config"
	"ppal/trainer"
)

// onRecorder builds an experiment whose GPU is a recorder.
func onRecorder(t *testing.T, r *recorder.Recorder, change func(c *config.Train)) (*Experiment, error) {
	t.Helper()
	return New(t.Context(), small(func(c *config.Train) {
		c.Device.Device, c.Products = "cuda:1", "auto"
		change(c)
	}), "", WithGPU(func(ordinal int) (driver.Driver, error) {
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
		"mnpc":        func(*config.Train) {},
		"tf32":        func(c *config.Train) { c.Dtype, c.Products = "float32", "tf32" },
		"batches":     func(c *config.Train) { c.BatchSize = 30 },
		"micro-batch": func(c *config.Train) { c.MicroBatch = 17 },
		"sampled": func(c *config.Train) {
			c.Data = config.Data{Problem: "if", Dataset: "synthetic-communities", Split: "70/15/15", Missing: "refuse"}
			c.Problem = config.Problem{Epsilon: []float64{0.1}, Phi: "hinge", Psi: "hinge", IFForm: "sampled", Regularizer: "none"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := recorder.New(recorder.Options{Info: driver.Info{Ordinal: 1, Name: "NVIDIA H200", Major: 9, Driver: "13.0", Products: "cuBLAS 13.1"}})
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

// A GPU that fails while the problem is built is given back.
func TestGPUFailsWhileBuilding(t *testing.T) {
	r := recorder.New(recorder.Options{Memory: 50_000})
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
			WithGPU(func(int) (driver.Driver, error) { return nil, c.err }))
		switch {
		case c.want == "" && (err != nil || !strings.HasPrefix(e.Info().Device, "cpu, ")):
			t.Errorf("%v: error %v", c.err, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%v: error %v", c.err, err)
		}
	}
}
