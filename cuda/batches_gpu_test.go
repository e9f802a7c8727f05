//go:build gpu

package cuda_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gorgonia.org/tensor"

	"ppal/cuda"
	"ppal/cuda/double"
	"ppal/cuda/driver"
	"ppal/datasets"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/session"
)

// pictures are the synthetic pictures, which take a second to draw.
var pictures = sync.OnceValues(func() (*datasets.Images, error) {
	train, _, err := datasets.LoadImages("", "synthetic", 1)
	return train, err
})

// fewPictures returns some pictures of each class as training rows, and one of each as test rows.
func fewPictures(t *testing.T, classes ...int) session.Source {
	t.Helper()
	all, err := pictures()
	if err != nil {
		t.Fatal(err)
	}
	train, err := datasets.Select(all, classes, 24)
	if err != nil {
		t.Fatal(err)
	}
	test, err := datasets.Select(all, classes, 1)
	if err != nil {
		t.Fatal(err)
	}
	return session.ImagesAtHand{Train: train, Test: test}
}

// sparseRows returns 600 rows with few of 30 features. The first feature divides them into groups.
func sparseRows(t *testing.T) session.Source {
	t.Helper()
	text := strings.Builder{}
	for i := range 600 {
		fmt.Fprintf(&text, "%d", i*7%31/16)
		if i%3 > 0 {
			text.WriteString(" 1:1")
		}
		fmt.Fprintf(&text, " %d:1 %d:%d.5 %d:1\n", 2+i*i%9, 11+i*5%9, i%4, 20+i*i*i%11)
	}
	file := filepath.Join(t.TempDir(), "rows.libsvm")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return session.LIBSVM(file, "1")
}

// batchRuns are runs on mini-batches with rows in every form. The last iterations use all rows.
func batchRuns(t *testing.T) map[string]session.Options {
	t.Helper()
	images := func(p session.Products, dtype tensor.Dtype) session.Options {
		return session.Options{
			Data: fewPictures(t, 2, 0, 3), Task: session.NeymanPearson{Kappa: []float64{0.3}}, Model: &models.Spec{Hidden: []int{6}},
			BatchSize: 21, Device: session.Device{Dtype: dtype, Products: p},
		}
	}
	return map[string]session.Options{
		"float64": images("", tensor.Float64),
		"digits":  images(session.Int8x3, tensor.Float32),
		"sparse": {Data: sparseRows(t), Task: session.DemographicParity{}, BatchSize: 200,
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
	for name, o := range batchRuns(t) {
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
	o := batchRuns(t)["float64"]
	o.Data, o.BatchSize = fewPictures(t, 2, 0), 2
	_, err := onGPUs(t, o, 3, cuda.Options{})
	if err == nil || !strings.Contains(err.Error(), "2 rows cannot be divided among 3 devices") {
		t.Errorf("error %v", err)
	}
}
