package gpucheck

import (
	"math"
	"slices"
	"time"

	"ppal/internal/cuda/driver"
)

// watch is a driver that, while armed, records an event before and after every launch.
type watch struct {
	driver.Driver
	armed  bool
	synced bool          // since the last launch
	stream driver.Stream // of the last launch
	spans  []span
	events []driver.Event
}

// span is one launch.
type span struct {
	launch   // what was launched; empty for graphs
	from, to driver.Event
	graph    bool
	idle     bool          // the device was idle before the launch
	call     time.Duration // time of the launching call
}

// arm starts the recording.
func (w *watch) arm() { w.armed, w.synced, w.spans = true, false, nil }

// Synchronize implements driver.Driver.
func (w *watch) Synchronize(s driver.Stream) error {
	w.synced = true
	return w.Driver.Synchronize(s)
}

// Launch implements driver.Driver.
func (w *watch) Launch(s driver.Stream, l *driver.Launch) error {
	return w.around(s, func() launch { return kernelLaunch(l) }, func() error { return w.Driver.Launch(s, l) })
}

// Multiply implements driver.Driver.
func (w *watch) Multiply(s driver.Stream, g *driver.Gemm) error {
	return w.around(s, func() launch { return productLaunch(g) }, func() error { return w.Driver.Multiply(s, g) })
}

// LaunchGraph implements driver.Driver.
func (w *watch) LaunchGraph(g driver.Graph, s driver.Stream) error {
	return w.around(s, nil, func() error { return w.Driver.LaunchGraph(g, s) })
}

// around launches between two events. A nil description stands for a graph.
func (w *watch) around(s driver.Stream, describe func() launch, run func() error) error {
	if !w.armed {
		return run()
	}
	from, err := w.record(s)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := run(); err != nil {
		return err
	}
	call := time.Since(began)
	to, err := w.record(s)
	at := span{from: from, to: to, graph: describe == nil, idle: w.synced, call: call}
	if describe != nil {
		at.launch = describe()
	}
	w.spans, w.stream = append(w.spans, at), s
	w.synced = false
	return err
}

// record adds a new event to the stream.
func (w *watch) record(s driver.Stream) (driver.Event, error) {
	e, err := w.NewEvent()
	if err != nil {
		return 0, err
	}
	w.events = append(w.events, e)
	return e, w.Record(e, s)
}

// usage summarises a recording.
type usage struct {
	// share of the time, from the first launch to the end of the last, in which the device worked
	busy float64
	// median milliseconds from the end of a forward pass to the beginning of the backward pass
	gap float64
}

// disarm ends the recording and returns its summary. A launch on an idle device counts as work
// only after the launching call has returned; the latency from the host to the device is part of
// the gap.
func (w *watch) disarm(s driver.Stream) (usage, error) {
	w.armed = false
	if err := w.Driver.Synchronize(s); err != nil {
		return usage{}, err
	}
	var busy float64
	var gaps []float64
	for i, at := range w.spans {
		took, err := w.Elapsed(at.from, at.to)
		if err != nil {
			return usage{}, err
		}
		if at.idle {
			took = max(took-at.call.Seconds()*1e3, 0)
		}
		busy += took
		if i == 0 || !at.idle || !at.graph || !w.spans[i-1].graph {
			continue
		}
		gap, err := w.Elapsed(w.spans[i-1].to, at.from)
		if err != nil {
			return usage{}, err
		}
		gaps = append(gaps, gap+at.call.Seconds()*1e3)
	}
	if len(w.spans) == 0 {
		return usage{}, nil
	}
	whole, err := w.Elapsed(w.spans[0].from, w.spans[len(w.spans)-1].to)
	if err != nil {
		return usage{}, err
	}
	if err := w.forget(); err != nil {
		return usage{}, err
	}
	return usage{busy: busy / whole, gap: median(gaps)}, nil
}

// took waits for the last launch, ends the recording and returns the milliseconds of each span.
func (w *watch) took() ([]float64, error) {
	w.armed = false
	if err := w.Driver.Synchronize(w.stream); err != nil {
		return nil, err
	}
	var list []float64
	for _, at := range w.spans {
		ms, err := w.Elapsed(at.from, at.to)
		if err != nil {
			return nil, err
		}
		list = append(list, ms)
	}
	return list, w.forget()
}

// forget frees the events.
func (w *watch) forget() error {
	for _, e := range w.events {
		if err := w.FreeEvent(e); err != nil {
			return err
		}
	}
	w.events = nil
	return nil
}

// median returns the median of the values, or NaN if there are none.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
