package double_test

import (
	"errors"
	"strings"
	"testing"

	"ppal/internal/cuda/double"
	"ppal/internal/cuda/driver"
	"ppal/internal/require"
)

// rig holds a device with a stream, a kernel and some memory.
type rig struct {
	*double.Driver
	t      testing.TB
	stream driver.Stream
	kernel driver.Function
	a, b   driver.Pointer // 64 bytes each; the rig wrote a
	pinned []byte         // 64 bytes
}

const size = 64

func newRig(t testing.TB) *rig {
	r := &rig{Driver: double.New(double.Options{Memory: 4096}), t: t}
	r.stream = require.Value(r.NewStream())(t)
	r.kernel = require.Value(r.Function(require.Value(r.Load(".version"))(t), "add"))(t)
	r.a, r.b = require.Value(r.Allocate(size))(t), require.Value(r.Allocate(size))(t)
	r.pinned = require.Value(r.Pinned(size))(t)
	r.ok(r.Clear(r.stream, r.a, size))
	return r
}

func (r *rig) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// launch launches a kernel that reads and writes the given spans.
func (r *rig) launch(s driver.Stream, reads, writes driver.Span) error {
	l := &driver.Launch{Function: r.kernel, Name: "add", Grid: [3]int{1, 1, 1}, Block: [3]int{32, 1, 1}}
	if reads.Bytes > 0 {
		l.Reads = []driver.Span{reads}
	}
	if writes.Bytes > 0 {
		l.Writes = []driver.Span{writes}
	}
	return r.Launch(s, l)
}

func all(p driver.Pointer) driver.Span { return driver.Span{At: p, Bytes: size} }

var none driver.Span

// map64 returns the rig's pinned memory for kernels.
func (r *rig) map64() driver.Span { return all(require.Value(r.Mapped(r.pinned))(r.t)) }

// The double refuses every misuse that the package comment lists, with these words.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(r *rig) error
		want string
	}{
		"unwritten":          {func(r *rig) error { return r.launch(r.stream, all(r.b), none) }, "reads byte 0 of the 64"},
		"partly unwritten":   {func(r *rig) error { r.ok(r.Clear(r.stream, r.b, size-1)); return r.launch(r.stream, all(r.b), none) }, "byte 63 of the 64"},
		"past the end":       {func(r *rig) error { return r.launch(r.stream, none, driver.Span{At: r.a.Offset(8), Bytes: size}) }, "64 bytes from byte 8 of 64"},
		"no allocation":      {func(r *rig) error { return r.Clear(r.stream, 12, 4) }, "does not belong to an allocation"},
		"use after free":     {func(r *rig) error { r.ok(r.Free(r.a)); return r.Clear(r.stream, r.a, 4) }, "freed"},
		"double free":        {func(r *rig) error { r.ok(r.Free(r.a)); return r.Free(r.a) }, "not a live allocation"},
		"double free (host)": {func(r *rig) error { r.ok(r.FreePinned(r.pinned)); return r.FreePinned(r.pinned) }, "not a pinned allocation"},
		"product out of bounds": {func(r *rig) error {
			return r.Multiply(r.stream, &driver.Gemm{Rows: 4, Cols: 4, Inner: 4, A: r.a, B: r.a, C: r.b, StrideA: 4, StrideB: 4, StrideC: 5})
		}, "76 bytes from byte 0 of 64"},
		"product adds to nothing": {func(r *rig) error {
			return r.Multiply(r.stream, &driver.Gemm{Rows: 4, Cols: 4, Inner: 4, Beta: 1, A: r.a, B: r.a, C: r.b, StrideA: 4, StrideB: 4, StrideC: 4})
		}, "nothing wrote"},
		"race": {func(r *rig) error {
			s := require.Value(r.NewStream())(r.t)
			return r.launch(s, all(r.a), none)
		}, "no event between"},
		"allocation in a capture":      {func(r *rig) error { r.ok(r.BeginCapture(r.stream)); _, err := r.Allocate(4); return err }, "is captured"},
		"synchronisation in a capture": {func(r *rig) error { r.ok(r.BeginCapture(r.stream)); return r.Synchronize(r.stream) }, "is captured"},
		"pageable copy in a capture": {func(r *rig) error {
			r.ok(r.BeginCapture(r.stream))
			return r.Upload(r.stream, r.a, make([]byte, 8))
		}, "pageable"},
		"empty capture":       {func(r *rig) error { r.ok(r.BeginCapture(r.stream)); _, err := r.EndCapture(r.stream); return err }, "graph of nothing"},
		"no graph":            {func(r *rig) error { return r.LaunchGraph(77, r.stream) }, "no graph"},
		"no stream":           {func(r *rig) error { return r.Synchronize(77) }, "no stream"},
		"freed before replay": {func(r *rig) error { g := r.graph(all(r.a)); r.ok(r.Free(r.a)); return r.LaunchGraph(g, r.stream) }, "freed"},
		"unwritten at replay": {func(r *rig) error { return r.LaunchGraph(r.graph(all(r.b)), r.stream) }, "nothing wrote"},
		"pinned memory changed": {func(r *rig) error {
			r.ok(r.Upload(r.stream, r.a, r.pinned))
			r.pinned[3] = 9
			return r.Synchronize(r.stream)
		}, "changed pinned memory"},
		"pinned memory freed": {func(r *rig) error { r.ok(r.Upload(r.stream, r.a, r.pinned)); return r.FreePinned(r.pinned) }, "may still run"},
		"the host reads a download": {func(r *rig) error {
			r.ok(r.Download(r.stream, r.pinned, r.a))
			r.ok(r.HostReads(make([]byte, 8)))
			return r.HostReads(r.pinned[60:])
		}, "that call 7 may still write"},
		"the host reads what a kernel wrote": {func(r *rig) error {
			r.ok(r.launch(r.stream, none, r.map64()))
			return r.HostReads(r.pinned[:1])
		}, "not waited for"},
		"the host changes what a kernel reads": {func(r *rig) error {
			s := r.map64()
			clear(r.pinned)
			r.ok(r.launch(r.stream, s, none))
			r.pinned[63] = 1
			return r.Synchronize(r.stream)
		}, "changed pinned memory"},
		"mapped and unwritten": {func(r *rig) error {
			s := r.map64()
			clear(r.pinned[:56])
			return r.launch(r.stream, s, none)
		}, "reads byte 56 of the 64"},
		"mapped between streams": {func(r *rig) error {
			s, other := r.map64(), require.Value(r.NewStream())(r.t)
			r.ok(r.launch(r.stream, none, s))
			return r.launch(other, s, none)
		}, "no event between"},
		"mapped and freed": {func(r *rig) error {
			s := r.map64()
			r.ok(r.FreePinned(r.pinned))
			return r.launch(r.stream, none, s)
		}, "freed"},
		"mapped and freed too early": {func(r *rig) error {
			r.ok(r.launch(r.stream, none, r.map64()))
			return r.FreePinned(r.pinned)
		}, "may still run"},
		"mapped memory freed as the device's": {func(r *rig) error { return r.Free(r.map64().At) }, "FreePinned frees"},
		"pageable and mapped":                 {func(r *rig) error { _, err := r.Mapped(make([]byte, 8)); return err }, "not pinned"},
		"an unknown function": {func(r *rig) error {
			return r.Launch(r.stream, &driver.Launch{Grid: [3]int{1, 1, 1}, Block: [3]int{1, 1, 1}})
		}, "no function"},
		"a grid without width": {func(r *rig) error {
			return r.Launch(r.stream, &driver.Launch{Function: r.kernel, Block: [3]int{1, 1, 1}})
		}, "a grid of"},
		"a leak":        {func(r *rig) error { return r.Close() }, "64 bytes of call"},
		"after the end": {func(r *rig) error { _ = r.Close(); return r.Clear(r.stream, r.a, 4) }, "closed"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			err := c.do(r)
			var v *double.Violation
			if !errors.As(err, &v) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want a violation with %q", err, c.want)
			}
			if len(r.Violations()) == 0 {
				t.Error("the violation was not kept")
			}
		})
	}
}

// graph captures a launch that reads the given span.
func (r *rig) graph(reads driver.Span) driver.Graph {
	r.t.Helper()
	r.ok(r.BeginCapture(r.stream))
	r.ok(r.launch(r.stream, reads, none))
	return require.Value(r.EndCapture(r.stream))(r.t)
}

// The double accepts correct calls: events between streams, work after a synchronisation, replays,
// and the release of all objects.
func TestWhatIsInOrder(t *testing.T) {
	r := newRig(t)
	other, event := require.Value(r.NewStream())(t), require.Value(r.NewEvent())(t)
	r.ok(r.Record(event, r.stream))
	r.ok(r.Wait(other, event))
	r.ok(r.launch(other, all(r.a), all(r.b)))
	r.ok(r.Synchronize(other))
	r.ok(r.launch(r.stream, all(r.b), all(r.a)))
	g := r.graph(all(r.b))
	r.ok(r.LaunchGraph(g, r.stream))
	r.ok(r.LaunchGraph(g, r.stream))
	r.ok(r.Download(r.stream, r.pinned, r.b))
	if r.pinned[0] == 0 {
		t.Error("a download is seen before the stream was waited for")
	}
	r.ok(r.Synchronize(r.stream))
	if r.pinned[0] != 0 {
		t.Error("a download is not seen after the stream was waited for")
	}
	r.ok(r.HostReads(r.pinned))
	at := require.Value(r.Mapped(r.pinned))(t)
	if again := require.Value(r.Mapped(r.pinned[8:]))(t); again != at.Offset(8) {
		t.Errorf("mapped at %d, and 8 bytes further at %d", at, again)
	}
	r.pinned[9] = 9
	r.ok(r.launch(r.stream, all(at), none)) // the host wrote it
	r.ok(r.launch(r.stream, none, all(at)))
	r.ok(r.launch(r.stream, all(at), none)) // the device wrote it
	r.ok(r.Synchronize(r.stream))
	r.ok(r.HostReads(r.pinned))
	if r.pinned[9] != 0 {
		t.Error("what a kernel wrote is not seen after the stream was waited for")
	}
	r.ok(r.FreeGraph(g))
	for _, p := range []driver.Pointer{r.a, r.b} {
		r.ok(r.Free(p))
	}
	r.ok(r.FreePinned(r.pinned))
	r.ok(r.FreeEvent(event))
	for _, s := range []driver.Stream{r.stream, other} {
		r.ok(r.FreeStream(s))
	}
	r.ok(r.Close())
	if r.Violations() != nil || r.Held() != 0 {
		t.Errorf("violations %v, %d bytes held", r.Violations(), r.Held())
	}
}

func TestFailures(t *testing.T) {
	r := newRig(t)
	lost := errors.New("lost")
	r.FailAt("Launch", 2, lost)
	for k, want := range []error{nil, lost, nil} {
		if err := r.launch(r.stream, all(r.a), none); err != want {
			t.Errorf("launch %d: error %v, want %v", k+1, err, want)
		}
	}
	if _, err := r.Allocate(4096); !errors.Is(err, driver.ErrOutOfMemory) {
		t.Errorf("4096 of 3968 bytes: error %v", err)
	}
	if r.Violations() != nil {
		t.Error("failures count as violations")
	}
}
