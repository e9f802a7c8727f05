//go:build gpu

package emulator

import "ppal/cuda/driver"

// handle returns a number that no other has.
func (d *Driver) handle() uint64 {
	d.handles++
	return d.handles
}

// enqueue takes something that a stream is to do: into the graph that is being captured, to be done later, or at once.
func (d *Driver) enqueue(s driver.Stream, operation string, do func() error) error {
	captured, ok := d.streams[s]
	switch {
	case !ok:
		return failed(operation, invalidHandle, "no stream %d", s)
	case captured != nil:
		*captured = append(*captured, do)
		return nil
	case d.set.Lazy:
		d.pending = append(d.pending, do)
		return nil
	}
	return do()
}

// flush does what is queued.
func (d *Driver) flush() error {
	for len(d.pending) > 0 {
		do := d.pending[0]
		d.pending = d.pending[1:]
		if err := do(); err != nil {
			d.pending = nil
			return err
		}
	}
	return nil
}

// NewStream implements driver.Driver.
func (d *Driver) NewStream() (driver.Stream, error) {
	s := driver.Stream(d.handle())
	d.streams[s] = nil
	return s, nil
}

// FreeStream implements driver.Driver.
func (d *Driver) FreeStream(s driver.Stream) error {
	if _, ok := d.streams[s]; !ok || s == 0 {
		return failed("free stream", invalidHandle, "no stream %d", s)
	}
	delete(d.streams, s)
	return d.flush()
}

// Synchronize implements driver.Driver.
func (d *Driver) Synchronize(s driver.Stream) error {
	captured, ok := d.streams[s]
	if !ok {
		return failed("synchronize", invalidHandle, "no stream %d", s)
	}
	if captured != nil {
		return failed("synchronize", captureUnsupported, "the stream is being captured")
	}
	return d.flush()
}

// NewEvent implements driver.Driver.
func (d *Driver) NewEvent() (driver.Event, error) {
	e := driver.Event(d.handle())
	d.events[e] = false
	return e, nil
}

// FreeEvent implements driver.Driver.
func (d *Driver) FreeEvent(e driver.Event) error {
	if _, ok := d.events[e]; !ok {
		return failed("free event", invalidHandle, "no event %d", e)
	}
	delete(d.events, e)
	return nil
}

// Record implements driver.Driver.
func (d *Driver) Record(e driver.Event, s driver.Stream) error {
	if _, ok := d.events[e]; !ok {
		return failed("record", invalidHandle, "no event %d", e)
	}
	d.events[e] = true
	return d.enqueue(s, "record", func() error { return nil })
}

// Wait implements driver.Driver. What is queued runs in the order of the calls anyway.
func (d *Driver) Wait(s driver.Stream, e driver.Event) error {
	if _, ok := d.events[e]; !ok {
		return failed("wait", invalidHandle, "no event %d", e)
	}
	return d.enqueue(s, "wait", func() error { return nil })
}

// Elapsed implements driver.Driver. Nothing takes time here.
func (d *Driver) Elapsed(from, to driver.Event) (float64, error) {
	if !d.events[from] || !d.events[to] {
		return 0, failed("elapsed", invalidHandle, "an event that was not recorded")
	}
	return 0, d.flush()
}

// Upload implements driver.Driver.
func (d *Driver) Upload(s driver.Stream, to driver.Pointer, host []byte) error {
	return d.transfer(s, "upload", host, func() error {
		b, err := d.heap.bytes("upload", to, len(host))
		copy(b, host)
		return err
	})
}

// Download implements driver.Driver.
func (d *Driver) Download(s driver.Stream, host []byte, from driver.Pointer) error {
	return d.transfer(s, "download", host, func() error {
		b, err := d.heap.bytes("download", from, len(host))
		copy(host, b)
		return err
	})
}

// transfer is a copy between host and device; from or to memory that is not pinned it has run when it returns.
func (d *Driver) transfer(s driver.Stream, operation string, host []byte, do func() error) error {
	pinned := d.isPinned(host)
	if d.streams[s] != nil && !pinned {
		return failed(operation, captureUnsupported, "a graph's copies need pinned memory")
	}
	if err := d.enqueue(s, operation, do); err != nil || pinned {
		return err
	}
	return d.flush()
}

// Copy implements driver.Driver.
func (d *Driver) Copy(s driver.Stream, to, from driver.Pointer, bytes int) error {
	return d.enqueue(s, "copy", func() error {
		b, err := d.heap.bytes("copy", from, bytes)
		if err != nil {
			return err
		}
		c, err := d.heap.bytes("copy", to, bytes)
		copy(c, b)
		return err
	})
}

// Clear implements driver.Driver.
func (d *Driver) Clear(s driver.Stream, p driver.Pointer, bytes int) error {
	return d.enqueue(s, "clear", func() error {
		b, err := d.heap.bytes("clear", p, bytes)
		clear(b)
		return err
	})
}

// BeginCapture implements driver.Driver.
func (d *Driver) BeginCapture(s driver.Stream) error {
	captured, ok := d.streams[s]
	if !ok || s == 0 || captured != nil {
		return failed("begin capture", invalidHandle, "stream %d: no such stream, the default one, or one that is being captured", s)
	}
	d.streams[s] = new([]func() error)
	return nil
}

// EndCapture implements driver.Driver.
func (d *Driver) EndCapture(s driver.Stream) (driver.Graph, error) {
	captured := d.streams[s]
	if captured == nil {
		return 0, failed("end capture", invalidHandle, "stream %d is not being captured", s)
	}
	d.streams[s] = nil
	g := driver.Graph(d.handle())
	d.graphs[g] = *captured
	return g, nil
}

// LaunchGraph implements driver.Driver.
func (d *Driver) LaunchGraph(g driver.Graph, s driver.Stream) error {
	list, ok := d.graphs[g]
	if !ok {
		return failed("launch graph", invalidHandle, "no graph %d", g)
	}
	return d.enqueue(s, "launch graph", func() error {
		for _, do := range list {
			if err := do(); err != nil {
				return err
			}
		}
		return nil
	})
}

// FreeGraph implements driver.Driver.
func (d *Driver) FreeGraph(g driver.Graph) error {
	if _, ok := d.graphs[g]; !ok {
		return failed("free graph", invalidHandle, "no graph %d", g)
	}
	delete(d.graphs, g)
	return d.flush()
}
