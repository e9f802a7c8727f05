package gpucheck

import (
	"math"
	"testing"
	"time"

	"ppal/cuda/driver"
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
		for _, err := range []error{w.LaunchGraph(1, 0), w.Synchronize(0), w.LaunchGraph(2, 0), w.Launch(0, nil)} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range w.spans {
		w.spans[i].call = time.Millisecond
	}
	u, err := w.disarm(0)
	if err != nil {
		t.Fatal(err)
	}
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
