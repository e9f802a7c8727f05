package double

import (
	"fmt"
	"hash/maphash"
	"slices"

	"ppal/internal/cuda/driver"
)

// action is a piece of work on a stream, done now or by every run of the graph that captured the
// work.
type action struct {
	call int // the number of the call that asked for the work
	Call
	upload   []byte       // pinned or pageable host memory that is read
	download []byte       // host memory that is written
	do       func() error // the work of a computing device, except for downloads
	refuse   string       // why the work cannot be done
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

// finish writes a download's contents, and reports whether nobody changed an upload's bytes.
func (t *transfer) finish() bool {
	if t.upload {
		return maphash.Bytes(seed, t.host) == t.sum
	}
	copy(t.host, t.contents)
	return true
}

// capture holds the work that was captured so far.
type capture struct {
	stream  driver.Stream
	actions []action
}

// work begins a call that the device captures or runs.
func (d *Driver) work(a action) error {
	a.Captured = d.capture != nil
	if err := d.begin(a.Call); err != nil {
		return err
	}
	a.call = len(d.calls) - 1
	if err := d.known(a.Stream); err != nil {
		return err
	}
	if a.refuse != "" {
		return d.violation("%s", a.refuse)
	}
	if !a.Captured {
		return d.run(a)
	}
	if d.capture.stream != a.Stream {
		return d.violation("work on stream %d while stream %d is captured", a.Stream, d.capture.stream)
	}
	for _, host := range [][]byte{a.upload, a.download} {
		if host != nil && !d.isPinned(host) {
			return d.violation("a copy with pageable host memory while stream %d is captured", a.Stream)
		}
	}
	for _, s := range slices.Concat(a.Reads, a.Writes) {
		if _, err := d.heap.find(s); err != nil {
			return d.violation("%v", err)
		}
	}
	d.capture.actions = append(d.capture.actions, a)
	return nil
}

// run does the work.
func (d *Driver) run(a action) error {
	d.fetchMapped(a)
	if err := d.account(a); err != nil {
		return err
	}
	if d.processor != nil && a.do != nil {
		if err := a.do(); err != nil {
			return d.violation("%s: %v", a.title(), err)
		}
	}
	d.storeMapped(a)
	return d.transferred(a)
}

// eachMapped calls do with the spans that lie in mapped memory, and the host's memory of each.
func (d *Driver) eachMapped(spans []driver.Span, do func(b *block, s driver.Span, host []byte)) {
	for _, s := range spans {
		if b, err := d.heap.find(s); err == nil && b.host != nil && s.Bytes > 0 {
			do(b, s, b.host[int(s.At-b.At):][:s.Bytes])
		}
	}
}

// writes returns the number of a call that may still write host memory, or -1.
func (d *Driver) writes(host []byte) int {
	for _, t := range d.pending {
		if !t.upload && shares(t.host, host) {
			return t.call
		}
	}
	return -1
}

// fetchMapped copies what the host wrote to mapped memory, before work that reads it. Numbers of 8
// bytes that still have their first contents count as not written.
func (d *Driver) fetchMapped(a action) {
	d.eachMapped(a.Reads, func(b *block, s driver.Span, host []byte) {
		const number = 8
		if d.writes(host) >= 0 {
			return // the device wrote it, and the host has not seen that yet
		}
		for i := 0; i < len(host); i += number {
			if part := host[i:min(i+number, len(host))]; !all(part, poison) {
				b.mark(driver.Span{At: s.At.Offset(i), Bytes: len(part)})
			}
		}
		if d.processor != nil {
			copy(d.heap.contents(s), host)
		}
	})
}

// storeMapped records the reads and writes of mapped memory as copies that may still run.
func (d *Driver) storeMapped(a action) {
	add := func(t transfer) {
		t.call, t.stream, t.number = a.call, a.Stream, d.sequence
		d.pending = append(d.pending, t)
	}
	d.eachMapped(a.Reads, func(_ *block, _ driver.Span, host []byte) {
		if d.writes(host) < 0 {
			add(transfer{host: host, upload: true, sum: maphash.Bytes(seed, host)})
		}
	})
	d.eachMapped(a.Writes, func(_ *block, s driver.Span, host []byte) {
		contents := make([]byte, len(host))
		if d.processor != nil {
			copy(contents, d.heap.contents(s))
		}
		d.pending = slices.DeleteFunc(d.pending, func(t transfer) bool { return t.upload && shares(t.host, host) })
		fill(host, poison)
		add(transfer{host: host, contents: contents})
	})
}

// account checks and records the memory that the work reads and writes.
func (d *Driver) account(a action) error {
	now := d.tick(a.Stream)
	for _, s := range a.Reads {
		if err := d.access(a, s, false, now); err != nil {
			return err
		}
	}
	for _, s := range a.Writes {
		if err := d.access(a, s, true, now); err != nil {
			return err
		}
	}
	return nil
}

func (d *Driver) access(a action, s driver.Span, write bool, now clock) error {
	if s.Bytes == 0 {
		return nil
	}
	if s.Bytes < 0 {
		return d.violation("a span of %d bytes", s.Bytes)
	}
	b, err := d.heap.find(s)
	if err != nil {
		return d.violation("%s: %v", a.title(), err)
	}
	if !write {
		if at := b.unwritten(s); at >= 0 {
			return d.violation("%s reads byte %d of the %d of call %d, which nothing wrote", a.title(), at, b.Bytes, b.call)
		}
	}
	if u, racing := b.race(s, write, now); racing {
		return d.violation("%s touches memory that stream %d uses, with no event between", a.title(), u.stream)
	}
	b.touch(s, a.Stream, d.sequence, write)
	d.heap.busy[b] = true
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

// transferred ends a copy with the host. A copy with pageable memory is done immediately. A copy
// with pinned memory is done when the stream has reached it.
func (d *Driver) transferred(a action) error {
	host, contents := a.upload, []byte(nil)
	if a.download != nil {
		host, contents = a.download, make([]byte, len(a.download))
		if d.processor != nil {
			copy(contents, d.heap.contents(a.Reads[0]))
		}
	}
	switch {
	case host == nil:
		return nil
	case !d.isPinned(host) && a.download != nil:
		copy(host, contents)
		return d.complete(d.streams[a.Stream])
	case !d.isPinned(host):
		return nil
	}
	t := transfer{call: a.call, host: host, stream: a.Stream, number: d.sequence, upload: a.upload != nil, contents: contents}
	if t.upload {
		t.sum = maphash.Bytes(seed, host)
	} else {
		fill(host, poison)
	}
	d.pending = append(d.pending, t)
	return nil
}

// Upload implements driver.Driver.
func (d *Driver) Upload(s driver.Stream, to driver.Pointer, host []byte) error {
	writes := driver.Span{At: to, Bytes: len(host)}
	return d.work(action{Call: Call{Kind: "Upload", Stream: s, Bytes: len(host), Writes: []driver.Span{writes}}, upload: host,
		do: func() error { copy(d.heap.contents(writes), host); return nil }})
}

// Download implements driver.Driver.
func (d *Driver) Download(s driver.Stream, host []byte, from driver.Pointer) error {
	return d.work(action{Call: Call{Kind: "Download", Stream: s, Bytes: len(host), Reads: []driver.Span{{At: from, Bytes: len(host)}}},
		download: host})
}

// Copy implements driver.Driver.
func (d *Driver) Copy(s driver.Stream, to, from driver.Pointer, bytes int) error {
	reads, writes := driver.Span{At: from, Bytes: bytes}, driver.Span{At: to, Bytes: bytes}
	return d.work(action{Call: Call{Kind: "Copy", Stream: s, Bytes: bytes, Reads: []driver.Span{reads}, Writes: []driver.Span{writes}},
		do: func() error { copy(d.heap.contents(writes), d.heap.contents(reads)); return nil }})
}

// Clear implements driver.Driver.
func (d *Driver) Clear(s driver.Stream, p driver.Pointer, bytes int) error {
	writes := driver.Span{At: p, Bytes: bytes}
	return d.work(action{Call: Call{Kind: "Clear", Stream: s, Bytes: bytes, Writes: []driver.Span{writes}},
		do: func() error { clear(d.heap.contents(writes)); return nil }})
}

// Launch implements driver.Driver.
func (d *Driver) Launch(s driver.Stream, l *driver.Launch) error {
	kept := *l
	kept.Args, kept.Reads, kept.Writes = slices.Clone(l.Args), slices.Clone(l.Reads), slices.Clone(l.Writes)
	return d.work(action{Call: Call{Kind: "Launch", Name: l.Name, Stream: s, Reads: kept.Reads, Writes: kept.Writes},
		do: func() error { return d.compute(&kept) }, refuse: d.refused(&kept)})
}

// refused returns the reason why a CUDA device does not run a launch, or "" if it does.
func (d *Driver) refused(l *driver.Launch) string {
	const mostThreads, maxBlockZ, mostShared, mostHigh = 1024, 64, 48 << 10, 65535
	sizes := slices.Concat(l.Grid[:], l.Block[:])
	name := d.names[l.Function]
	switch {
	case name == "":
		return fmt.Sprintf("there is no function %d", l.Function)
	case slices.Min(sizes) < 1 || max(l.Grid[1], l.Grid[2]) > mostHigh:
		return fmt.Sprintf("a grid of %v blocks of %v threads", l.Grid, l.Block)
	case l.Block[0]*l.Block[1]*l.Block[2] > mostThreads || l.Block[2] > maxBlockZ:
		return fmt.Sprintf("%v threads in a block", l.Block)
	case l.Shared > mostShared:
		return fmt.Sprintf("%d bytes of shared memory", l.Shared)
	case d.processor != nil:
		if err := d.processor.check(name, l); err != nil {
			return err.Error()
		}
	}
	return ""
}

// Multiply implements driver.Driver.
func (d *Driver) Multiply(s driver.Stream, g *driver.Gemm) error {
	kept, refuse := *g, ""
	if err := g.Check(); err != nil {
		refuse = err.Error()
	} else if min(g.Rows, g.Cols, g.Inner) == 0 {
		refuse = fmt.Sprintf("%d x %d, sums over %d", g.Rows, g.Cols, g.Inner)
	}
	reads, writes := kept.Spans()
	return d.work(action{Call: Call{Kind: "Multiply", Stream: s, Reads: reads, Writes: writes},
		do: func() error { return d.processor.multiply(&kept) }, refuse: refuse})
}

// BeginCapture implements driver.Driver.
func (d *Driver) BeginCapture(s driver.Stream) error {
	if err := d.begin(Call{Kind: "BeginCapture", Stream: s}); err != nil {
		return err
	}
	if err := d.known(s); err != nil {
		return err
	}
	if s == 0 {
		return d.violation("the default stream cannot be captured")
	}
	if err := d.idle(); err != nil {
		return err
	}
	d.capture = &capture{stream: s}
	return nil
}

// EndCapture implements driver.Driver.
func (d *Driver) EndCapture(s driver.Stream) (driver.Graph, error) {
	if err := d.begin(Call{Kind: "EndCapture", Stream: s}); err != nil {
		return 0, err
	}
	if d.capture == nil || d.capture.stream != s {
		return 0, d.violation("stream %d is not captured", s)
	}
	actions := d.capture.actions
	d.capture = nil
	if len(actions) == 0 {
		return 0, d.violation("a graph of nothing")
	}
	g := driver.Graph(d.handle())
	d.graphs[g] = actions
	return g, nil
}

// LaunchGraph implements driver.Driver.
func (d *Driver) LaunchGraph(g driver.Graph, s driver.Stream) error {
	if err := d.begin(Call{Kind: "LaunchGraph", Stream: s}); err != nil {
		return err
	}
	if err := d.known(s); err != nil {
		return err
	}
	if err := d.idle(); err != nil {
		return err
	}
	actions, ok := d.graphs[g]
	if !ok {
		return d.violation("there is no graph %d", g)
	}
	for _, a := range actions {
		a.Stream = s
		if err := d.run(a); err != nil {
			return err
		}
	}
	return nil
}

// FreeGraph implements driver.Driver.
func (d *Driver) FreeGraph(g driver.Graph) error {
	if err := d.begin(Call{Kind: "FreeGraph"}); err != nil {
		return err
	}
	if err := d.idle(); err != nil {
		return err
	}
	if _, ok := d.graphs[g]; !ok {
		return d.violation("there is no graph %d", g)
	}
	delete(d.graphs, g)
	return nil
}
