package recorder

import (
	"fmt"
	"hash/maphash"
	"slices"

	"ppal/cuda/driver"
)

// action is a piece of work on a stream, done now or by every launch of the graph it was captured into.
type action struct {
	call int // where it was asked for
	Call
	upload   []byte // pinned or pageable host memory that is read
	download []byte // that is written
	do       func(d driver.Driver) error
	refuse   string // why it cannot be done
}

// transfer is a copy with pinned memory that may still run.
type transfer struct {
	call     int
	host     []byte
	stream   driver.Stream
	number   uint64
	upload   bool
	sum      uint64 // of an upload's bytes
	contents []byte // of a download
}

var seed = maphash.MakeSeed()

// poison is what a download's bytes are until it is done: floating-point numbers made of them are no numbers.
const poison = 0xff

// finish gives a download its contents, and reports whether an upload's bytes were left alone.
func (t *transfer) finish() bool {
	if t.upload {
		return maphash.Bytes(seed, t.host) == t.sum
	}
	copy(t.host, t.contents)
	return true
}

// capture is what has been taken into a graph so far.
type capture struct {
	stream  driver.Stream
	actions []action
}

// work begins a call that is captured or done.
func (r *Recorder) work(a action) error {
	captured := r.capture != nil
	a.Captured = captured
	if err := r.begin(a.Call); err != nil {
		return err
	}
	a.call = len(r.calls) - 1
	if err := r.known(a.Stream); err != nil {
		return err
	}
	if a.refuse != "" {
		return r.violation("%s", a.refuse)
	}
	if !captured {
		return r.run(a)
	}
	if r.capture.stream != a.Stream {
		return r.violation("work on stream %d while stream %d is captured", a.Stream, r.capture.stream)
	}
	for _, host := range [][]byte{a.upload, a.download} {
		if host != nil && !r.isPinned(host) {
			return r.violation("a copy with pageable host memory while stream %d is captured", a.Stream)
		}
	}
	for _, s := range slices.Concat(a.Reads, a.Writes) {
		if _, err := r.heap.find(s); err != nil {
			return r.violation("%v", err)
		}
	}
	r.capture.actions = append(r.capture.actions, a)
	if r.options.Inner != nil {
		return a.do(r.options.Inner)
	}
	return nil
}

// run does the work: on the paper, and by the other driver.
func (r *Recorder) run(a action) error {
	if err := r.account(a); err != nil {
		return err
	}
	if r.options.Inner != nil {
		if err := a.do(r.options.Inner); err != nil {
			return err
		}
	}
	return r.transferred(a)
}

// account checks and keeps what the work reads and writes.
func (r *Recorder) account(a action) error {
	now := r.tick(a.Stream)
	for _, s := range a.Reads {
		if err := r.access(a, s, false, now); err != nil {
			return err
		}
	}
	for _, s := range a.Writes {
		if err := r.access(a, s, true, now); err != nil {
			return err
		}
	}
	return nil
}

func (r *Recorder) access(a action, s driver.Span, write bool, now clock) error {
	if s.Bytes == 0 {
		return nil
	}
	if s.Bytes < 0 {
		return r.violation("a span of %d bytes", s.Bytes)
	}
	b, err := r.heap.find(s)
	if err != nil {
		return r.violation("%s: %v", a.title(), err)
	}
	if !write {
		if at := b.unwritten(s); at >= 0 {
			return r.violation("%s reads byte %d of the %d of call %d, which nothing wrote", a.title(), at, b.bytes, b.call)
		}
	}
	if u, racing := b.race(s, write, now); racing {
		return r.violation("%s touches memory that stream %d uses, with no event between", a.title(), u.stream)
	}
	b.touch(s, a.Stream, r.sequence, write)
	r.heap.busy[b] = true
	if write {
		b.mark(s)
	}
	return nil
}

func (a *action) title() string {
	if a.Name != "" {
		return a.Name
	}
	return a.Kind
}

// transferred keeps what a copy with the host leaves to be seen: pageable memory is done with, pinned not before the stream is.
func (r *Recorder) transferred(a action) error {
	host := a.upload
	if host == nil {
		host = a.download
	}
	if host == nil {
		return nil
	}
	if a.download != nil && r.options.Inner == nil {
		clear(host)
	}
	if !r.isPinned(host) {
		if a.download != nil {
			return r.complete(r.streams[a.Stream])
		}
		return nil
	}
	t := transfer{call: a.call, host: host, stream: a.Stream, number: r.sequence, upload: a.upload != nil}
	switch {
	case t.upload:
		t.sum = maphash.Bytes(seed, host)
	case r.options.Inner == nil: // another driver says itself when a download is done
		t.contents = slices.Clone(host)
		for i := range host {
			host[i] = poison
		}
	}
	r.pending = append(r.pending, t)
	return nil
}

// Upload implements driver.Driver.
func (r *Recorder) Upload(s driver.Stream, to driver.Pointer, host []byte) error {
	return r.work(action{Call: Call{Kind: "Upload", Stream: s, Bytes: len(host), Writes: []driver.Span{{At: to, Bytes: len(host)}}}, upload: host,
		do: func(d driver.Driver) error { return d.Upload(s, to, host) }})
}

// Download implements driver.Driver.
func (r *Recorder) Download(s driver.Stream, host []byte, from driver.Pointer) error {
	return r.work(action{Call: Call{Kind: "Download", Stream: s, Bytes: len(host), Reads: []driver.Span{{At: from, Bytes: len(host)}}}, download: host,
		do: func(d driver.Driver) error { return d.Download(s, host, from) }})
}

// Copy implements driver.Driver.
func (r *Recorder) Copy(s driver.Stream, to, from driver.Pointer, bytes int) error {
	return r.work(action{Call: Call{Kind: "Copy", Stream: s, Bytes: bytes, Reads: []driver.Span{{At: from, Bytes: bytes}},
		Writes: []driver.Span{{At: to, Bytes: bytes}}}, do: func(d driver.Driver) error { return d.Copy(s, to, from, bytes) }})
}

// Clear implements driver.Driver.
func (r *Recorder) Clear(s driver.Stream, p driver.Pointer, bytes int) error {
	return r.work(action{Call: Call{Kind: "Clear", Stream: s, Bytes: bytes, Writes: []driver.Span{{At: p, Bytes: bytes}}},
		do: func(d driver.Driver) error { return d.Clear(s, p, bytes) }})
}

// Launch implements driver.Driver.
func (r *Recorder) Launch(s driver.Stream, l *driver.Launch) error {
	kept := *l
	kept.Args, kept.Reads, kept.Writes = slices.Clone(l.Args), slices.Clone(l.Reads), slices.Clone(l.Writes)
	return r.work(action{Call: Call{Kind: "Launch", Name: l.Name, Stream: s, Reads: kept.Reads, Writes: kept.Writes},
		do: func(d driver.Driver) error { return d.Launch(s, &kept) }, refuse: r.refused(&kept)})
}

// refused says why no device of CUDA runs a launch, "" where one does.
func (r *Recorder) refused(l *driver.Launch) string {
	const mostThreads, mostShared, mostHigh = 1024, 48 << 10, 65535
	sizes := slices.Concat(l.Grid[:], l.Block[:])
	switch {
	case r.names[l.Function] == "":
		return fmt.Sprintf("there is no function %d", l.Function)
	case slices.Min(sizes) < 1 || max(l.Grid[1], l.Grid[2]) > mostHigh:
		return fmt.Sprintf("a grid of %v blocks of %v threads", l.Grid, l.Block)
	case l.Block[0]*l.Block[1]*l.Block[2] > mostThreads:
		return fmt.Sprintf("%v threads in a block", l.Block)
	case l.Shared > mostShared:
		return fmt.Sprintf("%d bytes of shared memory", l.Shared)
	}
	return ""
}

// Multiply implements driver.Driver.
func (r *Recorder) Multiply(s driver.Stream, g *driver.Gemm) error {
	kept := *g
	reads, writes := kept.Spans()
	return r.work(action{Call: Call{Kind: "Multiply", Stream: s, Reads: reads, Writes: writes},
		do: func(d driver.Driver) error { return d.Multiply(s, &kept) }})
}

// BeginCapture implements driver.Driver.
func (r *Recorder) BeginCapture(s driver.Stream) error {
	if err := r.begin(Call{Kind: "BeginCapture", Stream: s}); err != nil {
		return err
	}
	if err := r.known(s); err != nil {
		return err
	}
	if s == 0 {
		return r.violation("the default stream cannot be captured")
	}
	if err := r.idle(); err != nil {
		return err
	}
	r.capture = &capture{stream: s}
	if r.options.Inner != nil {
		return r.options.Inner.BeginCapture(s)
	}
	return nil
}

// EndCapture implements driver.Driver.
func (r *Recorder) EndCapture(s driver.Stream) (driver.Graph, error) {
	if err := r.begin(Call{Kind: "EndCapture", Stream: s}); err != nil {
		return 0, err
	}
	if r.capture == nil || r.capture.stream != s {
		return 0, r.violation("stream %d is not captured", s)
	}
	actions := r.capture.actions
	r.capture = nil
	g := driver.Graph(r.handle())
	if r.options.Inner != nil {
		var err error
		if g, err = r.options.Inner.EndCapture(s); err != nil {
			return 0, err
		}
	}
	if len(actions) == 0 {
		return 0, r.violation("a graph of nothing")
	}
	r.graphs[g] = actions
	return g, nil
}

// LaunchGraph implements driver.Driver.
func (r *Recorder) LaunchGraph(g driver.Graph, s driver.Stream) error {
	if err := r.begin(Call{Kind: "LaunchGraph", Stream: s}); err != nil {
		return err
	}
	if err := r.known(s); err != nil {
		return err
	}
	if err := r.idle(); err != nil {
		return err
	}
	actions, ok := r.graphs[g]
	if !ok {
		return r.violation("there is no graph %d", g)
	}
	for _, a := range actions {
		a.Stream = s
		if err := r.account(a); err != nil {
			return err
		}
	}
	if r.options.Inner != nil {
		if err := r.options.Inner.LaunchGraph(g, s); err != nil {
			return err
		}
	}
	for _, a := range actions {
		a.Stream = s
		if err := r.transferred(a); err != nil {
			return err
		}
	}
	return nil
}

// FreeGraph implements driver.Driver.
func (r *Recorder) FreeGraph(g driver.Graph) error {
	if err := r.begin(Call{Kind: "FreeGraph"}); err != nil {
		return err
	}
	if err := r.idle(); err != nil {
		return err
	}
	if _, ok := r.graphs[g]; !ok {
		return r.violation("there is no graph %d", g)
	}
	delete(r.graphs, g)
	if r.options.Inner != nil {
		return r.options.Inner.FreeGraph(g)
	}
	return nil
}
