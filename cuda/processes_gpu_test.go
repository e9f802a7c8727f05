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

// spread runs f in n processes, which are goroutines, each with its own machine of some GPUs, which
// NCCL joins if the options say so.
func spread(t *testing.T, n, gpus int, o cuda.Options, f func(c ranks.Collective, s *cuda.Several)) {
	t.Helper()
	var all sync.WaitGroup
	machine := double.Options{}
	if o.GPUSums == cuda.NCCLSums {
		machine.Network = double.NewNetwork()
	}
	o.Processes = true
	for _, c := range ranks.Goroutines(n) {
		s := together(t, double.ComputingMachine(machine, gpus), o)
		all.Go(func() {
			ended := false
			if err := s.Among(c, gpus*c.Rank(), gpus*n); err != nil {
				t.Error(err)
				return
			}
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
// in all forms of data and products, and in both ways to add sums. Processes with two GPUs each
// compute the same up to rounding.
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
		{3, 1, cuda.Options{GPUSums: cuda.NCCLSums}, tensor.Float64, 0}, {2, 1, cuda.Options{GPUSums: cuda.NCCLSums}, tensor.Float32, 0},
		{2, 2, cuda.Options{GPUSums: cuda.NCCLSums}, tensor.Float64, 1e-13},
	} {
		whole := test.options
		whole.GPUSums = cuda.HostSums
		one := several(t, whole, test.processes*test.gpus)
		cases := graphcases.All()
		want := map[string][]float64{}
		for i, c := range cases {
			if c.Rows >= 4 && c.Rows <= 320 && i%9 == test.processes {
				want[c.Name] = values(t, c, test.dtype, graph.On(one))
			}
		}
		if len(want) == 0 {
			t.Fatal("no cases")
		}
		spread(t, test.processes, test.gpus, test.options, func(r ranks.Collective, s *cuda.Several) {
			for _, c := range cases {
				if want[c.Name] == nil {
					continue
				}
				got := values(t, c, test.dtype, graph.On(s))
				if d := far(got, want[c.Name]); !(d <= test.most) || test.most == 0 && !slices.Equal(got, want[c.Name]) {
					t.Errorf("%+v, %s: process %d differs by %.2g", test, c.Name, r.Rank(), d)
				}
			}
		})
	}
}

// trainedOver is the end of a training with fixed steps in n processes of one GPU each. Process 0
// leads; the others serve.
func trainedOver(t *testing.T, n int, sums cuda.Sums) (x []float64) {
	t.Helper()
	spread(t, n, 1, cuda.Options{GPUSums: sums}, func(c ranks.Collective, s *cuda.Several) {
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
// and repeat to the bit, in both ways to add sums.
func TestProcessesTrainAsOne(t *testing.T) {
	one, three := trainedOver(t, 1, cuda.HostSums), trainedOver(t, 3, cuda.HostSums)
	if d := far(three, one); !(d <= 1e-12) || len(one) == 0 || one[0] == 0 {
		t.Errorf("three processes end %.2g away from %v", d, one)
	}
	for _, sums := range []cuda.Sums{cuda.HostSums, cuda.NCCLSums} {
		if !slices.Equal(three, trainedOver(t, 3, sums)) {
			t.Errorf("three processes with the sums %s do not repeat", sums)
		}
	}
}

// A GPU that fails in one process ends all processes with an error that names the process and the
// GPU. A transfer of NCCL that fails ends all processes too.
func TestProcessGPUFails(t *testing.T) {
	for _, way := range []struct {
		sums cuda.Sums
		call string
	}{{cuda.HostSums, "Synchronize"}, {cuda.NCCLSums, "Synchronize"}, {cuda.NCCLSums, "Transfer"}} {
		for failing := range 3 {
			failsOver(t, way.sums, way.call, failing)
		}
	}
}

// failsOver trains in three processes, and lets the third call of a kind fail in one process.
func failsOver(t *testing.T, sums cuda.Sums, call string, failing int) {
	t.Helper()
	lost := errors.New("lost")
	errs := make([]error, 3)
	machine := double.Options{Network: double.NewNetwork()}
	var all sync.WaitGroup
	for _, c := range ranks.Goroutines(3) {
		r := double.ComputingMachine(machine, 1)[0]
		all.Go(func() {
			s, err := cuda.OpenSeveral([]int{0}, func(int) (driver.Driver, error) { return r, nil }, cuda.Options{GPUSums: sums, Processes: true})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			team := ranks.NewTeam(c)
			if err := s.Among(c, c.Rank(), 3); err != nil {
				t.Error(err)
				return
			}
			p, err := small(t).Problem(tensor.Float64, graph.On(ranks.Device(s, team)))
			if err != nil {
				t.Error(err)
				return
			}
			if c.Rank() == failing {
				r.FailAt(call, 3, lost)
			}
			if c.Rank() > 0 {
				errs[c.Rank()] = team.Serve()
				return
			}
			_, err = trainer.Train(t.Context(), p, &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}}, trainer.Settings{Iterations: 50})
			errs[0] = errors.Join(err, team.Release()) // the GPU of process 0 may fail while the others wait for a call
		})
	}
	all.Wait()
	for rank, err := range errs {
		switch elsewhere := rank != failing; {
		case !elsewhere && (!errors.Is(err, lost) || call == "Synchronize" && !contains(err, "cuda:0: ")),
			elsewhere && sums == cuda.HostSums && (!errors.Is(err, lost) || !contains(err, fmt.Sprintf("process %d ended the run", failing))),
			elsewhere && sums == cuda.NCCLSums && !errors.Is(err, lost) && !contains(err, "another process failed") && !(failing == 0 && err == nil): // NCCL may notice first
			t.Errorf("%s, %s of process %d fails: process %d: %v", sums, call, failing, rank, err)
		}
	}
}

// If NCCL does not work in one process, the host adds in all processes, and the reason names the
// process. It is an error if the user asked for NCCL, if the processes were asked for different
// ways, or if NCCL fails for another reason.
func TestProcessesWithoutNCCL(t *testing.T) {
	const reason = "process 1: double: NCCL cannot join the GPUs"
	broken := errors.New("broken\nfile")
	for name, c := range map[string]struct {
		sums [3]cuda.Sums
		fail string // a call of process 2
		all  bool   // NCCL works in process 1
		path string
		want string // in the error
	}{
		"automatic":    {path: "through the host's memory (" + reason + ")"},
		"chosen":       {sums: [3]cuda.Sums{"nccl", "nccl", "nccl"}, want: "PPAL_GPU_SUMS=nccl: " + reason},
		"host":         {sums: [3]cuda.Sums{"host", "host", "host"}, path: "through the host's memory"},
		"peers":        {sums: [3]cuda.Sums{"", "peers", ""}, want: "cuda: PPAL_GPU_SUMS=peers: several processes add sums by nccl or host"},
		"different":    {sums: [3]cuda.Sums{"", "", "host"}, want: `cuda: PPAL_GPU_SUMS is "" in process 0 and "host" in process 2: give all processes the same value (mpirun -x PPAL_GPU_SUMS)`},
		"works":        {all: true, path: "with the double's NCCL"},
		"meet fails":   {all: true, fail: "Meet", want: "process 2: broken file"},
		"gather fails": {all: true, fail: "Gather", want: "process 2: broken file"},
	} {
		network := double.NewNetwork()
		var all sync.WaitGroup
		for _, r := range ranks.Goroutines(3) {
			o := double.Options{Network: network}
			if r.Rank() == 1 && !c.all {
				o.Network = nil
			}
			drivers := double.NewMachine(o, 1)
			if r.Rank() == 2 && c.fail != "" {
				drivers[0].FailAt(c.fail, 1, broken)
			}
			t.Cleanup(func() { // after Close
				if limited := drivers[0].Count("Limit") > 0; limited != (c.all && c.fail == "") {
					t.Errorf("%s: the wait of process %d for the others has a limit: %t", name, r.Rank(), limited)
				}
			})
			s := together(t, drivers, cuda.Options{GPUSums: c.sums[r.Rank()], Processes: true})
			all.Go(func() {
				switch err := s.Among(r, r.Rank(), 3); {
				case c.want != "" && (err == nil || err.Error() != c.want), c.want == "" && (err != nil || s.Path() != c.path):
					t.Errorf("%s: process %d: sums are added %s, %v", name, r.Rank(), s.Path(), err)
				}
			})
		}
		all.Wait()
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
// mini-batches. The processes read only their rows of a CSV file and of pictures.
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
	runs := batchRuns(t)
	runs["csv"] = session.Options{Data: session.CSV(file, "y", "g=1"), Task: session.DemographicParity{}}
	digits := runs["digits"] // drawn by every process, so these runs take seconds
	digits.Data = session.Images{Dataset: "synthetic", Classes: []int{2, 0, 3}, RowsPerClass: 24}
	runs["digits"] = digits
	for name, o := range runs {
		s, err := onGPUs(t, o, 3, cuda.Options{GPUSums: cuda.HostSums})
		if err != nil {
			t.Fatal(name, err)
		}
		want, times := weightsOf(t, s), 2
		if name == "digits" {
			times = 1
		}
		for range times {
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
