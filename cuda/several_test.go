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
	"ppal/internal/graphcases"
	"ppal/trainer/graph"
)

// together opens devices that share rows. At the end of the test they close without violations.
func together(t *testing.T, drivers []*double.Driver, o cuda.Options) *cuda.Several {
	t.Helper()
	var numbers []int
	for k := range drivers {
		numbers = append(numbers, k)
	}
	s, err := cuda.OpenSeveral(numbers, func(n int) (driver.Driver, error) { return drivers[n], nil }, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		for _, r := range drivers {
			if v := r.Violations(); v != nil {
				t.Error(v)
			}
		}
	})
	return s
}

// Every case makes valid calls on two devices, in every way to add sums. In a steady iteration
// every device waits once, for f and g, unless the host adds.
func TestSeveralSequences(t *testing.T) {
	for _, sums := range []cuda.Sums{cuda.PeerSums, cuda.NCCLSums, cuda.HostSums} {
		drivers := double.NewMachine(double.Options{NCCL: true}, 2)
		s := together(t, drivers, cuda.Options{GPUSums: sums})
		for i, c := range graphcases.All() {
			if c.Rows < 2 || i%3 != 0 {
				continue
			}
			p, err := c.Problem(tensor.Float32, graph.On(s))
			if err != nil {
				t.Fatal(err)
			}
			a, b := p.Space().New(), p.Space().New()
			iterate(t, p, 6, a, b)
			if _, err := p.Watched(0); err != nil {
				t.Error(err)
			}
			from := []int{len(drivers[0].Calls()), len(drivers[1].Calls())}
			iterate(t, p, 1, a)
			for k, r := range drivers {
				waits, graphs := 0, 0
				for _, call := range r.Calls()[from[k]:] {
					switch call.Kind {
					case "Synchronize":
						waits++
					case "LaunchGraph":
						graphs++
					case "Allocate", "BeginCapture", "Pinned":
						t.Errorf("%s: a steady iteration has the call %s", c.Name, call.Kind)
					}
				}
				if graphs < 2 || graphs > 5 || sums != cuda.HostSums && waits != 1 || waits > 4 {
					t.Errorf("%s, %s: device %d launches %d graphs and waits %d times", sums, c.Name, k, graphs, waits)
				}
			}
		}
	}
}

// GPUs of different models, or with different options, share no rows.
func TestTogetherRefusesOtherModels(t *testing.T) {
	open := func(o cuda.Options, ordinal, processors int) *cuda.Device {
		r := double.New(double.Options{Info: driver.Info{Ordinal: ordinal, Name: "A", Major: 8, Processors: processors, Products: "none"}})
		d, err := cuda.Open(r, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if len(r.Violations()) > 0 {
				t.Error(r.Violations())
			}
		})
		return d
	}
	_, err := cuda.Together(open(cuda.Options{}, 0, 10), open(cuda.Options{}, 3, 11))
	if err == nil || !strings.Contains(err.Error(), "cuda:0 is A (8.0, 10 multiprocessors, none), cuda:3 is A (8.0, 11 multiprocessors, none)") {
		t.Errorf("error %v", err)
	}
	if _, err := cuda.Together(open(cuda.Options{}, 0, 10), open(cuda.Options{NoGraphs: true}, 1, 10)); err == nil {
		t.Error("no error")
	}
	s, err := cuda.Together(open(cuda.Options{GPUSums: cuda.HostSums}, 2, 10), open(cuda.Options{GPUSums: cuda.HostSums}, 1, 10))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.GPUs(); len(got) != 2 || got[0].Ordinal != 2 || got[1].Ordinal != 1 {
		t.Errorf("GPUs %v", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// After a failure of a GPU in the middle of a run, NCCL's transfers end before the host waits for a
// GPU: another GPU may wait for ever for a transfer of the GPU that failed.
func TestFailureAbortsTransfers(t *testing.T) {
	lost := errors.New("lost")
	for _, kind := range []string{"LaunchGraph", "Synchronize", "Launch"} {
		drivers := double.NewMachine(double.Options{NCCL: true}, 2)
		s, err := cuda.OpenSeveral([]int{0, 1}, func(n int) (driver.Driver, error) { return drivers[n], nil }, cuda.Options{GPUSums: cuda.NCCLSums})
		if err != nil {
			t.Fatal(err)
		}
		p, err := graphcases.Expressions()[1].Problem(tensor.Float32, graph.On(s))
		if err != nil {
			t.Fatal(err)
		}
		v := p.Space().New()
		iterate(t, p, 3, v)
		drivers[1].FailAt(kind, 1, lost)
		if kind == "Launch" { // of an operation on vectors
			p.Space().Combine(v, 2, v, 0, v)
			err = p.Space().Err()
		} else {
			_, m := p.Dims()
			_, err = p.Forward(make([]float64, m))
		}
		if !errors.Is(err, lost) || !strings.Contains(err.Error(), "cuda:1: ") {
			t.Errorf("%s: error %v", kind, err)
		}
		from := len(drivers[0].Calls())
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		var kinds []string
		for _, call := range drivers[0].Calls()[from:] {
			kinds = append(kinds, call.Kind)
		}
		if len(kinds) == 0 || kinds[0] != "AbortCommunicator" || slices.Contains(kinds, "CloseCommunicator") {
			t.Errorf("%s: the first device's last calls are %v", kind, kinds)
		}
		for _, r := range drivers {
			if v := r.Violations(); v != nil {
				t.Errorf("%s: %v", kind, v)
			}
		}
	}
}

// A failure of any call of the second GPU gives an error that names it, and both GPUs release every
// object.
func TestSeveralFailures(t *testing.T) {
	lost := errors.New("lost")
	c := graphcases.Expressions()[1]
	for _, kind := range []string{"Allocate", "Launch", "LaunchGraph", "Copy", "Record", "Wait", "BeginCapture", "Synchronize"} {
		for k := 1; ; k += 3 {
			drivers := double.NewMachine(double.Options{}, 2)
			drivers[1].FailAt(kind, k, lost)
			err := func() error {
				s, err := cuda.OpenSeveral([]int{0, 1}, func(n int) (driver.Driver, error) { return drivers[n], nil }, cuda.Options{})
				if err != nil {
					return err
				}
				defer func() { _ = s.Close() }() // a call of Close may be the one that fails
				p, err := c.Problem(tensor.Float32, graph.On(s))
				if err != nil {
					return err
				}
				_, m := p.Dims()
				v := p.Space().New()
				for range 3 {
					if _, err := p.Forward(make([]float64, m)); err != nil {
						return err
					}
					if err := p.Backward(make([]float64, m+1), v); err != nil {
						return err
					}
				}
				return p.Space().Err()
			}()
			if err == nil {
				if k == 1 {
					t.Errorf("%s: the first call failed and nothing said so", kind)
				}
				break
			}
			if !errors.Is(err, lost) || !strings.Contains(err.Error(), "cuda:1: ") {
				t.Errorf("%s %d: error %v", kind, k, err)
			}
			for _, r := range drivers {
				if v := r.Violations(); v != nil {
					t.Errorf("%s %d: %v", kind, k, v)
				}
			}
		}
	}
}
