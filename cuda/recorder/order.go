package recorder

import (
	"slices"

	"ppal/cuda/driver"
)

// clock says for each stream up to which piece of its work something comes after.
type clock map[driver.Stream]uint64

// join lets c come after what d comes after.
func (c clock) join(d clock) {
	for s, n := range d {
		c[s] = max(c[s], n)
	}
}

func (c clock) clone() clock {
	d := clock{}
	d.join(c)
	return d
}

// use is the last work on some bytes.
type use struct {
	driver.Span
	stream driver.Stream
	number uint64
	write  bool
}

// tick starts a piece of work on a stream, and returns what it comes after.
func (r *Recorder) tick(s driver.Stream) clock {
	r.sequence++
	now := r.streams[s]
	now.join(r.host)
	now[s] = r.sequence
	return now
}

// race returns a use of bytes of s that may run at the same time as work that comes after now.
func (b *block) race(s driver.Span, write bool, now clock) (use, bool) {
	for _, u := range b.uses {
		if (write || u.write) && overlap(u.Span, s) && u.number > now[u.stream] {
			return u, true
		}
	}
	return use{}, false
}

// touch keeps a use in the place of those that it follows on its stream.
func (b *block) touch(s driver.Span, stream driver.Stream, number uint64, write bool) {
	b.uses = slices.DeleteFunc(b.uses, func(u use) bool {
		inside := s.At <= u.At && u.At.Offset(u.Bytes) <= s.At.Offset(s.Bytes)
		return u.stream == stream && inside && (write || !u.write)
	})
	b.uses = append(b.uses, use{s, stream, number, write})
}

// complete lets the host know that what now covers is done.
func (r *Recorder) complete(now clock) error {
	r.host.join(now)
	for b := range r.heap.busy {
		b.uses = slices.DeleteFunc(b.uses, func(u use) bool { return u.number <= r.host[u.stream] })
		if len(b.uses) == 0 {
			delete(r.heap.busy, b)
		}
	}
	var failed error
	r.pending = slices.DeleteFunc(r.pending, func(t transfer) bool {
		done := t.number <= r.host[t.stream]
		if done && !t.finish() && failed == nil {
			failed = r.violation("the host changed pinned memory while the upload of call %d from it could still run", t.call)
		}
		return done
	})
	return failed
}

func (r *Recorder) completeAll() {
	for s := range r.streams {
		_ = r.complete(r.streams[s]) // a violation is kept
	}
}

// NewStream implements driver.Driver.
func (r *Recorder) NewStream() (driver.Stream, error) {
	if err := r.begin(Call{Kind: "NewStream"}); err != nil {
		return 0, err
	}
	s := driver.Stream(r.handle())
	if r.options.Inner != nil {
		var err error
		if s, err = r.options.Inner.NewStream(); err != nil {
			return 0, err
		}
	}
	r.streams[s] = clock{}
	return s, nil
}

// FreeStream implements driver.Driver.
func (r *Recorder) FreeStream(s driver.Stream) error {
	if err := r.begin(Call{Kind: "FreeStream", Stream: s}); err != nil {
		return err
	}
	if err := r.known(s); err != nil {
		return err
	}
	if s == 0 {
		return r.violation("the default stream is the driver's")
	}
	if err := r.idle(); err != nil {
		return err
	}
	if err := r.complete(r.streams[s]); err != nil {
		return err
	}
	delete(r.streams, s)
	if r.options.Inner != nil {
		return r.options.Inner.FreeStream(s)
	}
	return nil
}

func (r *Recorder) known(s driver.Stream) error {
	if r.streams[s] == nil {
		return r.violation("there is no stream %d", s)
	}
	return nil
}

// Synchronize implements driver.Driver.
func (r *Recorder) Synchronize(s driver.Stream) error {
	if err := r.begin(Call{Kind: "Synchronize", Stream: s}); err != nil {
		return err
	}
	if err := r.known(s); err != nil {
		return err
	}
	if err := r.idle(); err != nil {
		return err
	}
	if r.options.Inner != nil {
		if err := r.options.Inner.Synchronize(s); err != nil {
			return err
		}
	}
	return r.complete(r.streams[s])
}

// NewEvent implements driver.Driver.
func (r *Recorder) NewEvent() (driver.Event, error) {
	if err := r.begin(Call{Kind: "NewEvent"}); err != nil {
		return 0, err
	}
	e := driver.Event(r.handle())
	if r.options.Inner != nil {
		var err error
		if e, err = r.options.Inner.NewEvent(); err != nil {
			return 0, err
		}
	}
	r.events[e] = clock{}
	return e, nil
}

// FreeEvent implements driver.Driver.
func (r *Recorder) FreeEvent(e driver.Event) error {
	if err := r.begin(Call{Kind: "FreeEvent"}); err != nil {
		return err
	}
	if r.events[e] == nil {
		return r.violation("there is no event %d", e)
	}
	delete(r.events, e)
	if r.options.Inner != nil {
		return r.options.Inner.FreeEvent(e)
	}
	return nil
}

// Record implements driver.Driver.
func (r *Recorder) Record(e driver.Event, s driver.Stream) error {
	if err := r.mark("Record", e, s); err != nil {
		return err
	}
	r.events[e] = r.streams[s].clone()
	if r.options.Inner != nil {
		return r.options.Inner.Record(e, s)
	}
	return nil
}

// Wait implements driver.Driver.
func (r *Recorder) Wait(s driver.Stream, e driver.Event) error {
	if err := r.mark("Wait", e, s); err != nil {
		return err
	}
	r.streams[s].join(r.events[e])
	if r.options.Inner != nil {
		return r.options.Inner.Wait(s, e)
	}
	return nil
}

// mark begins a call with an event. Captures span one stream here: an event in one is refused.
func (r *Recorder) mark(kind string, e driver.Event, s driver.Stream) error {
	if err := r.begin(Call{Kind: kind, Stream: s}); err != nil {
		return err
	}
	if err := r.known(s); err != nil {
		return err
	}
	if r.events[e] == nil {
		return r.violation("there is no event %d", e)
	}
	return r.idle()
}

// Elapsed implements driver.Driver. It is 0 where nothing runs.
func (r *Recorder) Elapsed(from, to driver.Event) (float64, error) {
	if err := r.begin(Call{Kind: "Elapsed"}); err != nil {
		return 0, err
	}
	if err := r.idle(); err != nil {
		return 0, err
	}
	for _, e := range []driver.Event{from, to} {
		for s, n := range r.events[e] {
			if n > r.host[s] {
				return 0, r.violation("event %d may not have been reached", e)
			}
		}
	}
	if r.options.Inner != nil {
		return r.options.Inner.Elapsed(from, to)
	}
	return 0, nil
}
