//go:build gpu

package cuda_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"ppal/cuda"
	"ppal/cuda/double"
	"ppal/cuda/driver"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/session"
)

// batchRuns are runs on mini-batches with rows in every form. The last iterations use all rows.
func batchRuns() map[string]session.Options {
	pictures := func(p session.Products, dtype tensor.Dtype) session.Options {
		return session.Options{
			Data: session.Images{Dataset: "synthetic", Classes: []int{2, 0, 3}, RowsPerClass: 24},
			Task: session.NeymanPearson{Kappa: []float64{0.3}}, Model: &models.Spec{Hidden: []int{6}},
			BatchSize: 21, Device: session.Device{Dtype: dtype, Products: p},
		}
	}
	return map[string]session.Options{
		"float64": pictures("", tensor.Float64),
		"digits":  pictures(session.Int8x3, tensor.Float32),
		"sparse": {Data: session.Table{Dataset: "synthetic-adult"}, Task: session.DemographicParity{}, BatchSize: 500,
			Device: session.Device{Dtype: tensor.Float64}},
	}
}

// onGPUs opens a run on n GPUs that compute on the host.
func onGPUs(t *testing.T, o session.Options, n int, options cuda.Options) (*session.Session, error) {
	t.Helper()
	o.Settings = trainer.Settings{Seed: 1, Iterations: 12, RecordEvery: 12}
	o.Device.Kind, o.Device.GPUs = session.CUDA, []int{0, 1, 2}[:n]
	o.Device.OpenGPU = func(g session.GPUOptions) (session.GPU, error) {
		machine := double.ComputingMachine(double.Options{}, n)
		options.Products = g.Products
		return cuda.OpenSeveral(g.GPUs, func(k int) (driver.Driver, error) { return machine[k], nil }, options)
	}
	return session.New(t.Context(), o)
}

// A run on mini-batches has the same iterates on two and three GPUs as on one, up to rounding. The
// run repeats to the bit, also if the host adds the sums.
func TestSeveralTrainOnBatches(t *testing.T) {
	for name, o := range batchRuns() {
		run := func(n int, options cuda.Options) []float64 {
			s, err := onGPUs(t, o, n, options)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Optimize(t.Context()); err != nil {
				t.Fatal(err)
			}
			space := s.Problem().Space()
			x := make([]float64, space.Len())
			space.Read(x, problem.Iterate)
			if err := errors.Join(space.Err(), s.Close()); err != nil {
				t.Fatal(err)
			}
			return x
		}
		most := 1e-9
		if o.Device.Dtype == tensor.Float32 {
			most = 1e-4
		}
		want := run(1, cuda.Options{})
		for _, n := range []int{2, 3} {
			got := run(n, cuda.Options{})
			if d := far(got, want); !(d <= most) {
				t.Errorf("%s: %d GPUs end %.2g away", name, n, d)
			}
			if n == 3 && !slices.Equal(got, run(n, cuda.Options{GPUSums: cuda.HostSums})) {
				t.Errorf("%s: %d GPUs have other bits if the host adds", name, n)
			}
		}
	}
}

// A batch needs a row for each GPU.
func TestBatchesOfFewRowsAreRefused(t *testing.T) {
	o := batchRuns()["float64"]
	o.Task, o.Data, o.BatchSize = session.NeymanPearson{Kappa: []float64{0.3}}, session.Images{Dataset: "synthetic", Classes: []int{2, 0}, RowsPerClass: 24}, 2
	_, err := onGPUs(t, o, 3, cuda.Options{})
	if err == nil || !strings.Contains(err.Error(), "2 rows cannot be divided among 3 devices") {
		t.Errorf("error %v", err)
	}
}
