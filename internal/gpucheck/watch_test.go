package gpucheck

import (
	"math"
	"testing"
	"time"

	"ppal/internal/cuda/driver"
	"ppal/internal/require"
)

// clockwork is a driver with scripted times. The k-th recorded event happens at the k-th time, in
// milliseconds.
type clockwork struct {
	driver.Driver
	times  []float64
	events []float64
	held   int
}

func (c *clockwork) NewEvent() (driver.Event, error) {
	c.held++
	c.events = append(c.events, 0)
	return driver.Event(len(c.events)), nil
}
func (c *clockwork) FreeEvent(driver.Event) error { c.held--; return nil }
func (c *clockwork) Record(e driver.Event, _ driver.Stream) error {
	c.events[e-1] = c.times[0]
	c.times = c.times[1:]
	return nil
}
func (c *clockwork) Elapsed(from, to driver.Event) (float64, error) {
	return c.events[to-1] - c.events[from-1], nil
}
func (c *clockwork) Synchronize(driver.Stream) error               { return nil }
func (c *clockwork) Launch(driver.Stream, *driver.Launch) error    { return nil }
func (c *clockwork) LaunchGraph(driver.Graph, driver.Stream) error { return nil }

// The script has two iterations: forward 10 ms, a gap of 2 ms, backward 20 ms, and immediately
// after it a step of 5 ms.
func TestWatch(t *testing.T) {
	c := &clockwork{times: []float64{0, 10, 12, 32, 32, 37, 37, 47, 51, 71, 71, 76}}
	w := &watch{Driver: c}
	if err := w.LaunchGraph(1, 0); err != nil || len(w.spans) != 0 {
		t.Fatal("watched before it was armed")
	}
	w.arm()
	for range 2 {
		for _, err := range []error{w.LaunchGraph(1, 0), w.Synchronize(0), w.LaunchGraph(2, 0), w.Launch(0, &driver.Launch{})} {
			require.NoError(t, err)
		}
	}
	for i := range w.spans {
		w.spans[i].call = time.Millisecond
	}
	u := require.Value(w.disarm(0))(t)
	// A call of 1 ms launches each backward graph on an idle device. The device is busy for 19 of
	// the 20 ms, and the gap grows by 1 ms.
	if want := (10 + 19 + 5 + 10 + 19 + 5) / 76.0; math.Abs(u.busy-want) > 1e-12 {
		t.Errorf("busy %v, want %v", u.busy, want)
	}
	if want := (3.0 + 5) / 2; u.gap != want {
		t.Errorf("gap %v ms, want %v", u.gap, want)
	}
	if c.held != 0 {
		t.Errorf("%d events are held", c.held)
	}
}

// Launches without graphs are named, with their bytes and times.
func TestTook(t *testing.T) {
	c := &clockwork{times: []float64{0, 10, 12, 14}}
	w := &watch{Driver: c}
	w.arm()
	spans := []driver.Span{{At: 8, Bytes: 100}}
	require.NoError(t, w.Launch(3, &driver.Launch{Name: "pack_f32", Reads: spans, Writes: spans}))
	require.NoError(t, w.Launch(3, &driver.Launch{Name: "copy_f32"}))
	took, err := w.took()
	if err != nil || len(took) != 2 || took[0] != 10 || took[1] != 2 || w.stream != 3 {
		t.Errorf("%v, %v, stream %d", took, err, w.stream)
	}
	if want := (launch{name: "pack_f32", bytes: 200}); w.spans[0].launch != want || c.held != 0 {
		t.Errorf("%+v, want %+v; %d events are held", w.spans[0].launch, want, c.held)
	}
	g := productLaunch(&driver.Gemm{Precision: driver.Int8, Rows: 4, Cols: 8, Inner: 16, TransB: true, StrideA: 16, StrideB: 16, StrideC: 8,
		Batch: 3, StepA: 64, StepB: 128, StepC: 32})
	// Three products: 64 + 128 bytes and 32 sums of 4 bytes each, with 1,024 multiplications and
	// additions.
	if want := (launch{"product int8 4 x 8 x 16, 3 at once", 3 * (64 + 128 + 128), 3 * 1024}); g != want {
		t.Errorf("%+v, want %+v", g, want)
	}
}
