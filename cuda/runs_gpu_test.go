//go:build gpu

package cuda_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gorgonia.org/tensor"

	"ppal/cuda"
	"ppal/datasets"
	"ppal/datasets/picture"
	"ppal/internal/cuda/double"
	"ppal/internal/cuda/driver"
	"ppal/internal/ranks"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
	"ppal/trainer/session"
)

// pictures are the synthetic pictures, which take a second to draw.
var pictures = sync.OnceValues(func() (*picture.Images, error) {
	train, _, err := datasets.LoadImages("", "synthetic", 1)
	return train, err
})

// fewPictures returns some pictures of each class as training rows, and one of each as test rows.
func fewPictures(t *testing.T, classes ...int) session.Source {
	t.Helper()
	all := require.Value(pictures())(t)
	train := require.Value(picture.Select(all, classes, 24))(t)
	test := require.Value(picture.Select(all, classes, 1))(t)
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
	require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))
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

// overProcesses runs lead in process 0 of n processes, which are goroutines on one machine, with
// the session of a run on GPUs that compute on the host. identity names the GPU of a process; "":
// there is none.
func overProcesses(t *testing.T, n int, o session.Options, identity func(rank int) string, lead func(s *session.Session, err error)) {
	t.Helper()
	var all sync.WaitGroup
	for _, c := range ranks.Goroutines(n) {
		own := o
		own.Settings = trainer.Settings{Seed: 1, Iterations: 12, RecordEvery: 12}
		own.Device.Kind, own.Device.Ranks, own.Device.Threads = session.CUDA, c, 1
		own.Device.OpenGPU = func(g graph.GPUOptions) (graph.GPU, error) {
			if n > 1 && (g.Place != c.Rank() || g.Neighbours != n) {
				return nil, fmt.Errorf("process %d is number %d of %d", c.Rank(), g.Place, g.Neighbours)
			}
			if identity(c.Rank()) == "" {
				return nil, errors.New("no GPU here")
			}
			info := driver.Info{Name: "double", Major: 8, Processors: 108, Memory: 1 << 30, Driver: "12.4", Products: "none", UUID: identity(c.Rank())}
			return cuda.On(double.Computing(double.Options{Info: info}), cuda.Options{Products: cuda.Products(g.Products), MicroBatch: g.MicroBatch})
		}
		all.Go(func() {
			if c.Rank() == 0 {
				s, err := session.New(t.Context(), own)
				lead(s, err)
				if err == nil {
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				}
				return
			}
			if err := session.Serve(t.Context(), own, nil); err != nil && !session.Reported(err) && identity(c.Rank()) != "" {
				t.Errorf("process %d: %v", c.Rank(), err)
			}
		})
	}
	all.Wait()
}

func ownGPU(rank int) string { return fmt.Sprint("GPU-", rank) }

// A run on three processes has the iterates of a run on one, up to rounding: on all rows, and on
// mini-batches. It repeats to the bit. The processes read only their rows of a CSV file and of
// pictures.
func TestProcessesRunAsOne(t *testing.T) {
	rows := strings.Builder{}
	rows.WriteString("x,z,g,y\n")
	for i := range 700 {
		fmt.Fprintf(&rows, "%d.5,%d.25,%d,%d\n", i*7%31, i*5%17, i%2, (i*7%31+i%3)/17)
	}
	file := filepath.Join(t.TempDir(), "rows.csv")
	require.NoError(t, os.WriteFile(file, []byte(rows.String()), 0o644))
	runs := batchRuns(t)
	runs["csv"] = session.Options{Data: session.CSV(file, "y", "g=1"), Task: session.DemographicParity{}, Device: session.Device{Dtype: tensor.Float64}}
	digits := runs["digits"] // drawn by every process, so these runs take seconds
	digits.Data = session.Images{Dataset: "synthetic", Classes: []int{2, 0, 3}, RowsPerClass: 24}
	runs["digits"] = digits
	for name, o := range runs {
		run := func(n int) (x []float64) {
			overProcesses(t, n, o, ownGPU, func(s *session.Session, err error) {
				if err != nil {
					t.Error(name, err)
					return
				}
				x = weightsOf(t, s)
				if d := s.Describe().Device; n > 1 && !strings.HasSuffix(d, fmt.Sprintf(", %d processes with %d GPUs", n, n)) {
					t.Errorf("the device is %s", d)
				}
			})
			return x
		}
		most := 1e-9
		if o.Device.Dtype == tensor.Float32 {
			most = 1e-4
		}
		want, got := run(1), run(3)
		if d := far(got, want); !(d <= most) || len(want) == 0 {
			t.Errorf("%s: three processes end %.2g away from one", name, d)
		}
		if name != "digits" && !slices.Equal(got, run(3)) {
			t.Errorf("%s: three processes do not repeat", name)
		}
	}
}

// The certificate and the measures of a GPU are those of the CPU up to rounding in float64, for
// rows in every form, also window by window.
func TestCertificateOnGPU(t *testing.T) {
	runs := batchRuns(t)
	for name, model := range map[string]models.OfPictures{"conv": models.Conv{Channels: []int{2, 3}}, "resnet": models.ResNet{Channels: []int{2}}} {
		o := runs["float64"]
		o.Model = model.On(models.Picture{Channels: 1, Height: 28, Width: 28})
		runs[name] = o
	}
	for name, o := range runs {
		o.BatchSize, o.Settings = 0, trainer.Settings{Seed: 1, Iterations: -1} // the start
		run := func(device session.Device) *session.Result {
			own := o
			own.Device.Kind, own.Device.OpenGPU, own.Device.MicroBatch = device.Kind, device.OpenGPU, device.MicroBatch
			if device.Kind == session.CPU {
				own.Device.Products = ""
			}
			s, err := session.New(t.Context(), own)
			if err != nil {
				t.Fatal(name, err)
			}
			r, err := s.Train(t.Context())
			if err := errors.Join(err, s.Close()); err != nil {
				t.Fatal(name, err)
			}
			return r
		}
		want := run(session.Device{Kind: session.CPU})
		for _, windows := range []int{0, 19} {
			got := run(session.Device{Kind: session.CUDA, MicroBatch: windows, OpenGPU: func(g graph.GPUOptions) (graph.GPU, error) {
				return cuda.On(double.Computing(double.Options{}), cuda.Options{Products: cuda.Products(g.Products), MicroBatch: g.MicroBatch})
			}})
			compare := func(what string, x, y, most float64) {
				if !(math.Abs(x-y) <= most*(1+math.Abs(y))) {
					t.Errorf("%s, windows of %d rows: %s %v on a GPU, %v on the CPU", name, windows, what, x, y)
				}
			}
			const exact = 1e-12
			multipliers := exact // the training computes the certificate's multipliers
			if o.Device.Dtype == tensor.Float32 {
				multipliers = 1e-6
			}
			compare("f", got.Objective, want.Objective, exact)
			for j := range got.Constraints {
				compare("g", got.Constraints[j], want.Constraints[j], exact)
			}
			compare("stationarity", got.Certificate.Stationarity, want.Certificate.Stationarity, multipliers)
		}
	}
}

// weightsOf trains and returns the weights.
func weightsOf(t *testing.T, s *session.Session) []float64 {
	t.Helper()
	if _, err := s.Train(t.Context()); err != nil {
		t.Error(err)
	}
	space := s.Problem().Space()
	x := make([]float64, space.Len())
	space.Read(x, problem.Iterate)
	return x
}

// A batch needs a row for each process.
func TestBatchesOfFewRowsAreRefused(t *testing.T) {
	o := batchRuns(t)["float64"]
	o.Data, o.BatchSize = fewPictures(t, 2, 0), 2
	overProcesses(t, 3, o, ownGPU, func(_ *session.Session, err error) {
		if !contains(err, "2 rows cannot be divided among 3 processes") {
			t.Errorf("error %v", err)
		}
	})
}

// Two processes with one GPU, and a process without a GPU, end the run in all processes. If the
// device is automatic, the CPU trains.
func TestProcessesWithoutTheirOwnGPU(t *testing.T) {
	o := session.Options{Data: session.Table{Dataset: "synthetic-compas"}, Task: session.DemographicParity{}}
	shared := func(rank int) string { return fmt.Sprint("GPU-", rank%2) }
	overProcesses(t, 3, o, shared, func(_ *session.Session, err error) {
		bad := new(session.OptionError)
		if !errors.As(err, &bad) || bad.Option != "device" || !contains(err, "gives the processes 0 and 2 the same GPU, their cuda:0") {
			t.Errorf("error %v", err)
		}
	})
	lacks := func(rank int) string { return []string{"a", "", "c"}[rank] }
	overProcesses(t, 3, o, lacks, func(_ *session.Session, err error) {
		if !errors.Is(err, ranks.ErrElsewhere) || !contains(err, "process 1") {
			t.Errorf("error %v", err)
		}
	})
	t.Setenv("PPAL_SHARED_GPU", "yes")
	overProcesses(t, 3, o, shared, func(_ *session.Session, err error) {
		if err != nil {
			t.Error(err)
		}
	})
}
