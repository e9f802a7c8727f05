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
	"ppal/internal/graphcases"
	"ppal/internal/plan"
	"ppal/internal/ranks"
	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/session"
	"ppal/trainer/step"
)

func contains(err error, text string) bool {
	return err != nil && strings.Contains(err.Error(), text)
}

// spread runs f in n processes, which are goroutines, each with its own machine of some GPUs.
func spread(t *testing.T, n, gpus int, o cuda.Options, f func(c ranks.Collective, s *cuda.Several)) {
	t.Helper()
	var all sync.WaitGroup
	for _, c := range ranks.Goroutines(n) {
		s := several(t, o, gpus)
		s.Among(c, gpus*c.Rank(), gpus*n)
		all.Go(func() {
			ended := false
			defer func() {
				if !ended { // by t.Fatal or a panic: the others may wait
					c.Abort(errors.New("the test failed"))
				}
			}()
			f(c, s)
			ended = true
		})
	}
	all.Wait()
}

// Processes with one GPU each compute the bits of one process with all GPUs in which the host adds,
// in all forms of data and products. Processes with two GPUs each compute the same up to rounding.
func TestProcessesAgreeWithOne(t *testing.T) {
	for _, test := range []struct {
		processes, gpus int
		options         cuda.Options
		dtype           tensor.Dtype
		most            float64
	}{
		{3, 1, cuda.Options{}, tensor.Float64, 0}, {2, 1, cuda.Options{Products: cuda.Int8x3}, tensor.Float32, 0},
		{2, 1, cuda.Options{MicroBatch: 20, Copies: true}, tensor.Float64, 0},
		{2, 2, cuda.Options{}, tensor.Float64, 1e-13}, {2, 2, cuda.Options{}, tensor.Float32, 2e-6},
	} {
		whole := test.options
		whole.GPUSums = cuda.HostSums
		one := several(t, whole, test.processes*test.gpus)
		for i, c := range graphcases.All() {
			if c.Rows < 4 || c.Rows > 320 || i%9 != test.processes {
				continue
			}
			want := values(t, c, test.dtype, graph.On(one))
			spread(t, test.processes, test.gpus, test.options, func(r ranks.Collective, s *cuda.Several) {
				got := values(t, c, test.dtype, graph.On(s))
				if d := far(got, want); !(d <= test.most) || test.most == 0 && !slices.Equal(got, want) {
					t.Errorf("%+v, %s: process %d differs by %.2g", test, c.Name, r.Rank(), d)
				}
			})
		}
	}
}

// trainedOver is the end of a training with fixed steps in n processes of one GPU each. Process 0
// leads; the others serve.
func trainedOver(t *testing.T, n int) (x []float64) {
	t.Helper()
	spread(t, n, 1, cuda.Options{}, func(c ranks.Collective, s *cuda.Several) {
		team := ranks.NewTeam(c)
		p, err := small(t).Problem(tensor.Float64, graph.On(ranks.Device(s, team)))
		if err != nil {
			t.Error(err)
			return
		}
		if c.Rank() > 0 {
			if err := team.Serve(); err != nil {
				t.Error(err)
			}
			return
		}
		fixed := step.Settings{Kind: step.Gradient, Eta: 0.02, Fixed: true}
		if _, err := trainer.Train(t.Context(), p, &method.PPALA{Primal: fixed}, trainer.Settings{Iterations: 200}); err != nil {
			t.Error(err)
		}
		x = make([]float64, p.Space().Len())
		p.Space().Read(x, problem.Iterate)
		if err := errors.Join(p.Space().Err(), team.Release()); err != nil {
			t.Error(err)
		}
	})
	return x
}

// 200 iterations with fixed steps over three processes end within 1e-12 of one process's weights,
// and repeat to the bit.
func TestProcessesTrainAsOne(t *testing.T) {
	one, three := trainedOver(t, 1), trainedOver(t, 3)
	if d := far(three, one); !(d <= 1e-12) || len(one) == 0 || one[0] == 0 {
		t.Errorf("three processes end %.2g away from %v", d, one)
	}
	if !slices.Equal(three, trainedOver(t, 3)) {
		t.Error("three processes do not repeat")
	}
}

// A GPU that fails in one process ends all processes with an error that names the process and the
// GPU.
func TestProcessGPUFails(t *testing.T) {
	lost := errors.New("lost")
	for failing := range 3 {
		errs := make([]error, 3)
		var all sync.WaitGroup
		for _, c := range ranks.Goroutines(3) {
			r := double.ComputingMachine(double.Options{}, 1)[0]
			s, err := cuda.OpenSeveral([]int{0}, func(int) (driver.Driver, error) { return r, nil }, cuda.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			s.Among(c, c.Rank(), 3)
			team := ranks.NewTeam(c)
			p, err := small(t).Problem(tensor.Float64, graph.On(ranks.Device(s, team)))
			if err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				if c.Rank() == failing {
					r.FailAt("Synchronize", 7, lost)
				}
				if c.Rank() > 0 {
					errs[c.Rank()] = team.Serve()
					return
				}
				_, errs[0] = trainer.Train(t.Context(), p, &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}}, trainer.Settings{Iterations: 50})
			})
		}
		all.Wait()
		for rank, err := range errs {
			if !errors.Is(err, lost) || rank != failing && !contains(err, fmt.Sprintf("process %d ended the run", failing)) || !contains(err, "cuda:0: ") {
				t.Errorf("process %d fails: process %d: %v", failing, rank, err)
			}
		}
	}
}

// The parts of several processes need a row for each GPU.
func TestProcessesRefuseFewRows(t *testing.T) {
	c := graphcases.Expressions()[0]
	c.Rows = 3
	spread(t, 2, 2, cuda.Options{}, func(_ ranks.Collective, s *cuda.Several) {
		if _, err := c.Problem(tensor.Float64, graph.On(s)); !contains(err, "3 rows cannot be divided among 4 devices") {
			t.Errorf("error %v", err)
		}
	})
	if from, to := plan.PartOf(1000, 1, 3); from != 256 || to != 640 {
		t.Errorf("part 1 of 3 has the rows %d to %d", from, to)
	}
}

// overProcesses runs lead in process 0 of n processes, which are goroutines on one machine, with
// the session of a run on GPUs that compute on the host. identity names the GPU of a process.
func overProcesses(t *testing.T, n int, o session.Options, identity func(rank int) string, lead func(s *session.Session, err error)) {
	t.Helper()
	var all sync.WaitGroup
	for _, c := range ranks.Goroutines(n) {
		own := o
		own.Settings = trainer.Settings{Seed: 1, Iterations: 12, RecordEvery: 12}
		own.Device.Kind, own.Device.Ranks, own.Device.Threads = session.CUDA, c, 1
		own.Device.OpenGPU = func(g session.GPUOptions) (session.GPU, error) {
			if g.Place != c.Rank() || g.Neighbours != n {
				return nil, fmt.Errorf("process %d is number %d of %d", c.Rank(), g.Place, g.Neighbours)
			}
			if identity(c.Rank()) == "" {
				return nil, errors.New("no GPU here")
			}
			info := driver.Info{Name: "double", Major: 8, Processors: 108, Memory: 1 << 30, Driver: "12.4", Products: "none", UUID: identity(c.Rank())}
			machine := double.ComputingMachine(double.Options{Info: info}, 1)
			return cuda.OpenSeveral([]int{0}, func(int) (driver.Driver, error) { return machine[0], nil },
				cuda.Options{Products: g.Products, GPUSums: cuda.HostSums})
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

// A run has the bits of one process with as many GPUs in which the host adds: on all rows, and on
// mini-batches. The processes read only their rows of a CSV file.
func TestProcessesRunAsSeveralGPUs(t *testing.T) {
	rows := strings.Builder{}
	rows.WriteString("x,z,g,y\n")
	for i := range 700 {
		fmt.Fprintf(&rows, "%d.5,%d.25,%d,%d\n", i*7%31, i*5%17, i%2, (i*7%31+i%3)/17)
	}
	file := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(file, []byte(rows.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	runs := batchRuns()
	runs["csv"] = session.Options{Data: session.CSV(file, "y", "g=1"), Task: session.DemographicParity{}}
	for name, o := range runs {
		s, err := onGPUs(t, o, 3, cuda.Options{GPUSums: cuda.HostSums})
		if err != nil {
			t.Fatal(name, err)
		}
		want := weightsOf(t, s)
		for range 2 {
			overProcesses(t, 3, o, ownGPU, func(s *session.Session, err error) {
				if err != nil {
					t.Error(name, err)
					return
				}
				if got := weightsOf(t, s); !slices.Equal(got, want) {
					t.Errorf("%s: three processes end %.2g away from three GPUs", name, far(got, want))
				}
				if d := s.Describe().Device; !strings.HasSuffix(d, ", 3 processes with 3 GPUs") {
					t.Errorf("the device is %s", d)
				}
			})
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
	t.Setenv(session.SharedGPUSetting, session.SharedGPU)
	overProcesses(t, 3, o, shared, func(_ *session.Session, err error) {
		if err != nil {
			t.Error(err)
		}
	})
}
