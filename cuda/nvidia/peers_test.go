//go:build gpu

package nvidia_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"ppal/cuda"
	"ppal/cuda/driver"
	"ppal/cuda/nvidia"
	"ppal/internal/graphcases"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
	"ppal/trainer/session"
)

// A device reads the memory of another device if the driver allows it, also when it is asked again,
// and waits for the other's events. It records only its own events, on its own streams.
func TestPeers(t *testing.T) {
	t.Setenv("PPAL_STUB_DEVICES", "2")
	lines := logTo(t)
	first := open(t)
	second := must[driver.Driver](t)(nvidia.Open(1))
	t.Cleanup(func() { ok(t, second.Close()) })
	peers := first.(driver.Peers)
	t.Setenv("PPAL_STUB_PEERS", "0")
	if err := peers.EnablePeer(second); !errors.Is(err, driver.ErrNoPeer) {
		t.Errorf("error %v, want %v", err, driver.ErrNoPeer)
	}
	t.Setenv("PPAL_STUB_PEERS", "1")
	if peers.EnablePeer(first) == nil {
		t.Error("a device is its own peer")
	}
	again := must[driver.Driver](t)(nvidia.Open(0))
	ok(t, peers.EnablePeer(again)) // the same memory
	ok(t, again.Close())
	var failed *driver.Error
	for _, name := range []string{"cuDeviceCanAccessPeer", "cuCtxEnablePeerAccess"} {
		t.Setenv("PPAL_STUB_FAIL", name+"=700")
		if err := peers.EnablePeer(second); !errors.As(err, &failed) || failed.Code != 700 || errors.Is(err, driver.ErrNoPeer) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, code := range []string{"217", "711"} { // not supported, too many peers
		t.Setenv("PPAL_STUB_FAIL", "cuCtxEnablePeerAccess="+code)
		if err := peers.EnablePeer(second); !errors.Is(err, driver.ErrNoPeer) {
			t.Errorf("code %s: %v, want %v", code, err, driver.ErrNoPeer)
		}
	}
	t.Setenv("PPAL_STUB_FAIL", "")
	ok(t, peers.EnablePeer(second))
	ok(t, peers.EnablePeer(second))
	if !slices.Contains(lines(), "device 0 reads the memory of device 1") {
		t.Errorf("the log is %q", lines())
	}
	s, other := must[driver.Stream](t)(first.NewStream()), must[driver.Stream](t)(second.NewStream())
	e := must[driver.Event](t)(second.NewEvent())
	ok(t, second.Record(e, other))
	ok(t, first.Wait(s, e))
	if first.Record(e, s) == nil || second.Wait(s, e) == nil {
		t.Error("a device uses objects of another")
	}
	ok(t, errors.Join(second.FreeEvent(e), second.FreeStream(other), first.FreeStream(s)))
}

// Three devices of the driver share the rows, and end with the same bits in every way to add sums.
func TestSeveralDevices(t *testing.T) {
	t.Setenv("PPAL_STUB_DEVICES", "3")
	t.Setenv("PPAL_STUB_NAME", "Stub")
	c := graphcases.Expressions()[1]
	var want []float64
	for _, way := range []struct{ peers, nccl, path string }{
		{"1", stubFile, "reading each other's memory"}, {"0", stubFile, "with NCCL 2.21.5"},
		{"0", nvidia.NoNCCL, "through the host's memory (cuda: NCCL cannot join the GPUs: PPAL_NCCL is none)"},
	} {
		t.Setenv("PPAL_STUB_PEERS", way.peers)
		t.Setenv(nvidia.NCCLFile, way.nccl)
		s := must[*cuda.Several](t)(cuda.OpenSeveral([]int{2, 0, 1}, nvidia.Open, cuda.Options{}))
		p := must[*graph.Problem](t)(c.Problem(tensor.Float32, graph.On(s)))
		n, m := p.Dims()
		g, w, x, d := make([]float64, m), make([]float64, m+1), make([]float64, n), p.Space().New()
		w[0] = 1
		for range 5 {
			must[float64](t)(p.Forward(g))
			ok(t, p.Backward(w, d))
			p.Space().Descend(problem.Descent{Direction: d, Step: 0.1, Length: 0.1})
		}
		p.Space().Read(x, problem.Iterate)
		ok(t, p.Space().Err())
		ok(t, s.Close())
		if want == nil {
			want = x
		}
		if s.Path() != way.path || !slices.Equal(x, want) || x[0] == 0 {
			t.Errorf("%+v: added %s, the weights begin with %v, want %v", way, s.Path(), x[:3], want[:3])
		}
	}
}

// If the chosen way to add sums needs access to other GPUs' memory, and the driver does not allow
// this, the error names the setting and the two GPUs once.
func TestPeersRefused(t *testing.T) {
	t.Setenv("PPAL_STUB_DEVICES", "2")
	t.Setenv("PPAL_STUB_NAME", "Stub")
	t.Setenv("PPAL_STUB_PEERS", "0")
	_, err := cuda.OpenSeveral([]int{1, 0}, nvidia.Open, cuda.Options{GPUSums: cuda.PeerSums})
	if want := "PPAL_GPU_SUMS=peers: cuda:1 and cuda:0: no access to the memory of the other device"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// fewRows returns a table of 60 rows in two groups.
func fewRows(t *testing.T) session.Source {
	t.Helper()
	text := strings.Builder{}
	text.WriteString("x,z,g,y\n")
	for i := range 60 {
		fmt.Fprintf(&text, "%d.5,%d,%d,%d\n", i*7%31, i*5%17, i%2, (i*7%31+i%3)/17)
	}
	file := filepath.Join(t.TempDir(), "rows.csv")
	ok(t, os.WriteFile(file, []byte(text.String()), 0o600))
	return session.CSV(file, "y", "g=1")
}

// A list of one GPU, and all GPUs of a machine with one GPU, train as that GPU alone, also on
// mini-batches. On a machine with two GPUs, all GPUs share the rows.
func TestListsOfOneDevice(t *testing.T) {
	t.Setenv("PPAL_STUB_NAME", "Stub")
	run := func(devices string, batch int, d session.Device) (x []float64, device string) {
		t.Setenv("PPAL_STUB_DEVICES", devices)
		d.Kind = session.CUDA
		s := must[*session.Session](t)(session.New(t.Context(), session.Options{
			Data: fewRows(t), Task: session.DemographicParity{}, Model: &models.Spec{Hidden: []int{6}},
			Settings: trainer.Settings{Seed: 1, Iterations: 3}, BatchSize: batch, Device: d}))
		must[*trainer.Result](t)(s.Optimize(t.Context()))
		device = s.Describe().Device
		x = make([]float64, s.Problem().Space().Len())
		s.Problem().Space().Read(x, problem.Iterate)
		ok(t, errors.Join(s.Problem().Space().Err(), s.Close()))
		return x, device
	}
	for _, batch := range []int{0, 9} {
		want, one := run("1", batch, session.Device{})
		for _, d := range []session.Device{{GPUs: []int{0}}, {AllGPUs: true}} {
			if got, device := run("1", batch, d); !slices.Equal(got, want) || device != one || strings.Contains(one, "sums added") {
				t.Errorf("batches of %d, %v: on %s the weights begin with %v; on %s with %v", batch, d.GPUs, device, got[:3], one, want[:3])
			}
		}
		if _, device := run("2", batch, session.Device{AllGPUs: true}); !strings.HasPrefix(device, "cuda:0,1, Stub ") {
			t.Errorf("two GPUs train as %q", device)
		}
	}
}
