package double

import (
	"slices"

	"ppal/internal/cuda/driver"
)

// clock is a vector clock. For each stream it holds the number of the last piece of work that
// precedes an event or a piece of work.
type clock map[driver.Stream]uint64

// join adds the work that precedes other to the work that precedes c.
func (c clock) join(other clock) {
	for s, n := range other {
		c[s] = max(c[s], n)
	}
}

func (c clock) clone() clock {
	copied := clock{}
	copied.join(c)
	return copied
}

// use is a stream's last work on some bytes.
type use struct {
	driver.Span
	stream driver.Stream
	number uint64
	write  bool
}

// tick starts a piece of work on a stream, and returns the work that precedes it.
func (d *Driver) tick(s driver.Stream) clock {
	d.sequence++
	now := d.streams[s]
	now.join(d.host)
	now[s] = d.sequence
	return now
}

// race returns an earlier use of bytes of s that now does not include and that conflicts with a new
// access, so the two may run at the same time.
func (b *block) race(s driver.Span, write bool, now clock) (use, bool) {
	for _, u := range b.uses {
		if (write || u.write) && overlap(u.Span, s) && u.number > now[u.stream] {
			return u, true
		}
	}
	return use{}, false
}

// touch records a use, which replaces the earlier uses that it follows on its stream.
func (b *block) touch(s driver.Span, stream driver.Stream, number uint64, write bool) {
	b.uses = slices.DeleteFunc(b.uses, func(u use) bool {
		inside := s.At <= u.At && u.At.Offset(u.Bytes) <= s.At.Offset(s.Bytes)
		return u.stream == stream && inside && (write || !u.write)
	})
	b.uses = append(b.uses, use{s, stream, number, write})
}

// complete tells the host that the work before now is done: downloads arrive, and uploads no longer
// need their host memory.
func (d *Driver) complete(now clock) error {
	d.host.join(now)
	for b := range d.heap.busy {
		b.uses = slices.DeleteFunc(b.uses, func(u use) bool { return u.number <= d.host[u.stream] })
		if len(b.uses) == 0 {
			delete(d.heap.busy, b)
		}
	}
	var failed error
	d.pending = slices.DeleteFunc(d.pending, func(t transfer) bool {
		done := t.number <= d.host[t.stream]
		if done && !t.finish() && failed == nil {
			failed = d.violation("the host changed pinned memory while the upload of call %d from it could still run", t.call)
		}
		return done
	})
	return failed
}

func (d *Driver) completeAll() {
	for s := range d.streams {
		_ = d.complete(d.streams[s]) // the driver records the violation
	}
}

// NewStream implements driver.Driver.
func (d *Driver) NewStream() (driver.Stream, error) {
	if err := d.begin(Call{Kind: "NewStream"}); err != nil {
		return 0, err
	}
	s := driver.Stream(d.handle())
	d.streams[s] = clock{}
	return s, nil
}

// FreeStream implements driver.Driver.
func (d *Driver) FreeStream(s driver.Stream) error {
	if err := d.begin(Call{Kind: "FreeStream", Stream: s}); err != nil {
		return err
	}
	if err := d.known(s); err != nil {
		return err
	}
	if s == 0 {
		return d.violation("the default stream is the driver's")
	}
	if err := d.idle(); err != nil {
		return err
	}
	if err := d.complete(d.streams[s]); err != nil {
		return err
	}
	delete(d.streams, s)
	return nil
}

func (d *Driver) known(s driver.Stream) error {
	if d.streams[s] == nil {
		return d.violation("there is no stream %d", s)
	}
	return nil
}

// Synchronize implements driver.Driver.
func (d *Driver) Synchronize(s driver.Stream) error {
	if err := d.begin(Call{Kind: "Synchronize", Stream: s}); err != nil {
		return err
	}
	if err := d.known(s); err != nil {
		return err
	}
	if err := d.idle(); err != nil {
		return err
	}
	return d.complete(d.streams[s])
}

// NewEvent implements driver.Driver.
func (d *Driver) NewEvent() (driver.Event, error) {
	if err := d.begin(Call{Kind: "NewEvent"}); err != nil {
		return 0, err
	}
	e := driver.Event(d.handle())
	d.events[e] = clock{}
	return e, nil
}

// FreeEvent implements driver.Driver.
func (d *Driver) FreeEvent(e driver.Event) error {
	if err := d.begin(Call{Kind: "FreeEvent"}); err != nil {
		return err
	}
	if d.events[e] == nil {
		return d.violation("there is no event %d", e)
	}
	delete(d.events, e)
	return nil
}

// Record implements driver.Driver.
func (d *Driver) Record(e driver.Event, s driver.Stream) error {
	if err := d.mark("Record", e, s); err != nil {
		return err
	}
	d.events[e] = d.streams[s].clone()
	return nil
}

// Wait implements driver.Driver.
func (d *Driver) Wait(s driver.Stream, e driver.Event) error {
	if err := d.mark("Wait", e, s); err != nil {
		return err
	}
	d.streams[s].join(d.events[e])
	return nil
}

// mark begins a call with an event. A capture has one stream, so events are refused while a stream
// is captured.
func (d *Driver) mark(kind string, e driver.Event, s driver.Stream) error {
	if err := d.begin(Call{Kind: kind, Stream: s}); err != nil {
		return err
	}
	if err := d.known(s); err != nil {
		return err
	}
	if d.events[e] == nil {
		return d.violation("there is no event %d", e)
	}
	return d.idle()
}

// Elapsed implements driver.Driver. No time passes.
func (d *Driver) Elapsed(from, to driver.Event) (float64, error) {
	if err := d.begin(Call{Kind: "Elapsed"}); err != nil {
		return 0, err
	}
	if err := d.idle(); err != nil {
		return 0, err
	}
	for _, e := range []driver.Event{from, to} {
		for s, n := range d.events[e] {
			if n > d.host[s] {
				return 0, d.violation("event %d may not have been reached", e)
			}
		}
	}
	return 0, nil
}
