package cuda_test

import (
	"errors"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"ppal/cuda"
	"ppal/cuda/double"
	"ppal/cuda/driver"
	"ppal/internal/graphcases"
	"ppal/trainer/graph"
)

// The devices add in the first way that the machine supports, or in the chosen way. If the machine
// does not support the chosen way, the error names the setting.
func TestChosenSums(t *testing.T) {
	const peers, nccl, host = "reading each other's memory", "with the double's NCCL", "through the host's memory"
	without := host + " (double: NCCL cannot join the GPUs)"
	for _, c := range []struct {
		machine double.Options
		chosen  cuda.Sums
		path    string
		err     error
	}{
		{double.Options{NCCL: true}, "", peers, nil},
		{double.Options{NoPeers: true, NCCL: true}, "", nccl, nil},
		{double.Options{NoPeers: true}, "", without, nil},
		{double.Options{NCCL: true}, cuda.PeerSums, peers, nil},
		{double.Options{NCCL: true}, cuda.NCCLSums, nccl, nil},
		{double.Options{NCCL: true}, cuda.HostSums, host, nil},
		{double.Options{NoPeers: true, NCCL: true}, cuda.PeerSums, "", driver.ErrNoPeer},
		{double.Options{}, cuda.NCCLSums, "", driver.ErrNoCommunicator},
	} {
		drivers := double.NewMachine(c.machine, 2)
		s, err := cuda.OpenSeveral([]int{0, 1}, func(n int) (driver.Driver, error) { return drivers[n], nil }, cuda.Options{GPUSums: c.chosen})
		if !errors.Is(err, c.err) || err != nil && !strings.HasPrefix(err.Error(), "PPAL_GPU_SUMS="+string(c.chosen)+": ") {
			t.Errorf("%+v: error %v, want %v", c, err, c.err)
		}
		if s != nil {
			if s.Path() != c.path {
				t.Errorf("%+v: sums are added %s", c, s.Path())
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		for _, r := range drivers {
			if v := r.Violations(); v != nil {
				t.Errorf("%+v: %v", c, v)
			}
		}
	}
	for _, text := range []string{"", "peers", "nccl", "host"} {
		t.Setenv(cuda.SumsSetting, text)
		if s, err := cuda.ChosenSums(); err != nil || string(s) != text {
			t.Errorf("%s=%s: %q, %v", cuda.SumsSetting, text, s, err)
		}
	}
	t.Setenv(cuda.SumsSetting, "ring")
	if _, err := cuda.ChosenSums(); err == nil || err.Error() != "cuda: PPAL_GPU_SUMS=ring: want peers, nccl or host" {
		t.Errorf("error %v", err)
	}
}

// If enabling peers or joining fails for another reason than missing support, the devices return
// the error and do not try another way.
func TestSumsFailures(t *testing.T) {
	lost := errors.New("lost")
	for _, kind := range []string{"EnablePeer", "Join"} {
		drivers := double.NewMachine(double.Options{NoPeers: kind == "Join", NCCL: true}, 2)
		drivers[0].FailAt(kind, 1, lost)
		if _, err := cuda.OpenSeveral([]int{0, 1}, func(n int) (driver.Driver, error) { return drivers[n], nil }, cuda.Options{}); !errors.Is(err, lost) {
			t.Errorf("%s: error %v", kind, err)
		}
	}
}

// A failed transfer is an error, and the devices release every object.
func TestTransferFailures(t *testing.T) {
	lost := errors.New("lost")
	c := graphcases.Expressions()[1]
	for at := 1; ; at++ {
		drivers := double.NewMachine(double.Options{NCCL: true}, 2)
		drivers[0].FailAt("Transfer", at, lost)
		s := together(t, drivers, cuda.Options{GPUSums: cuda.NCCLSums})
		p, err := c.Problem(tensor.Float32, graph.On(s))
		if err != nil {
			t.Fatal(err)
		}
		_, m := p.Dims()
		if _, err = p.Forward(make([]float64, m)); err == nil {
			err = p.Backward(make([]float64, m+1), p.Space().New())
		}
		if err == nil && at > 1 {
			break
		}
		if !errors.Is(err, lost) {
			t.Errorf("transfer %d: error %v", at, err)
		}
	}
}
