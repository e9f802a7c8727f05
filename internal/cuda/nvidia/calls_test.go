//go:build gpu

package nvidia_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/cuda/driver"
	"ppal/internal/require"
)

const ptx = ".version 8.4\n.entry store(\n.entry add(\n"

func TestCopies(t *testing.T) {
	d := open(t)
	s := require.Value(d.NewStream())(t)
	t.Cleanup(func() { require.NoError(t, d.FreeStream(s)) })
	a, b := buffer(t, d, []byte("abcdefgh")), buffer(t, d, make([]byte, 8))
	require.NoError(t, d.Copy(s, b.Offset(2), a.Offset(1), 4))
	require.NoError(t, d.Clear(s, b.Offset(3), 2))
	pinned := require.Value(d.Pinned(8))(t)
	require.NoError(t, d.Download(s, pinned, b))
	require.NoError(t, d.Synchronize(s))
	if want := []byte("\x00\x00b\x00\x00e\x00\x00"); !bytes.Equal(pinned, want) {
		t.Errorf("got %q, want %q", pinned, want)
	}
	require.NoError(t, d.FreePinned(pinned))
	free, all, err := d.Memory()
	if free != 1000 || all != 1<<20 || err != nil {
		t.Errorf("memory: %d of %d, %v", free, all, err)
	}
}

// Empty calls do not reach the driver.
func TestNothing(t *testing.T) {
	d := open(t)
	require.NoError(t, errors.Join(d.Free(0), d.FreePinned(nil), d.Upload(0, 0, nil), d.Download(0, nil, 0), d.Copy(0, 0, 0, 0), d.Clear(0, 0, 0)))
	if b, err := d.Pinned(0); b != nil || err != nil {
		t.Errorf("no pinned memory: %v, %v", b, err)
	}
}

func TestEvents(t *testing.T) {
	d := open(t)
	from, to := require.Value(d.NewEvent())(t), require.Value(d.NewEvent())(t)
	require.NoError(t, errors.Join(d.Record(from, 0), d.Record(to, 0), d.Wait(0, to)))
	if ms := require.Value(d.Elapsed(from, to))(t); ms != 1 { // the stub's clock counts events
		t.Errorf("elapsed %v, want 1", ms)
	}
	require.NoError(t, errors.Join(d.FreeEvent(from), d.FreeEvent(to)))
}

// Every argument takes 8 bytes, whatever its type.
func TestLaunch(t *testing.T) {
	lines := logTo(t)
	d := open(t)
	m := require.Value(d.Load(ptx))(t)
	store := require.Value(d.Function(m, "store"))(t)
	p := buffer(t, d, make([]byte, 24))
	require.NoError(t, d.Launch(0, &driver.Launch{
		Function: store, Name: "store", Grid: [3]int{2, 3, 4}, Block: [3]int{32, 2, 1}, Shared: 48,
		Args: []uint64{uint64(p), uint64(math.Float32bits(1.5)), driver.IntArg(-7), driver.Float64Arg(math.Pi)},
	}))
	got := make([]byte, 24)
	require.NoError(t, d.Download(0, got, p))
	if x := math.Float32frombits(binary.LittleEndian.Uint32(got)); x != 1.5 {
		t.Errorf("float32: %v", x)
	}
	if n := int64(binary.LittleEndian.Uint64(got[8:])); n != -7 {
		t.Errorf("int: %v", n)
	}
	if x := math.Float64frombits(binary.LittleEndian.Uint64(got[16:])); x != math.Pi {
		t.Errorf("float64: %v", x)
	}
	if all := strings.Join(lines(), "\n"); !strings.Contains(all, "launch store grid 2 3 4 block 32 2 1 shared 48") {
		t.Errorf("the launch came as\n%s", all)
	}
}

// A kernel writes to pinned memory through its mapped address.
func TestMapped(t *testing.T) {
	d := open(t)
	host := require.Value(d.Pinned(32))(t)
	p := require.Value(d.Mapped(host))(t)
	store := require.Value(d.Function(require.Value(d.Load(ptx))(t), "store"))(t)
	require.NoError(t, d.Launch(0, &driver.Launch{Function: store, Name: "store", Grid: [3]int{1, 1, 1}, Block: [3]int{1, 1, 1}, Args: []uint64{uint64(p.Offset(8)), 3, 4, 5}}))
	require.NoError(t, d.Synchronize(0))
	for i, want := range []uint64{3, 4, 5} {
		if got := binary.LittleEndian.Uint64(host[8+8*i:]); got != want {
			t.Errorf("number %d is %d, want %d", i, got, want)
		}
	}
	require.NoError(t, d.FreePinned(host))
}

// A call makes the context current on the OS thread of its caller. The stub refuses calls without a
// context.
func TestAnyThread(t *testing.T) {
	d := open(t)
	for range 4 {
		done := make(chan error)
		go func() {
			runtime.LockOSThread() // not unlocked: the thread ends with the goroutine, and the next goroutine gets a new thread
			p, err := d.Allocate(8)
			done <- errors.Join(err, d.Upload(0, p, make([]byte, 8)), d.Synchronize(0), d.Free(p))
		}()
		require.NoError(t, <-done)
	}
}

// Captured work runs at each launch of the graph, and not before.
func TestCapture(t *testing.T) {
	lines := logTo(t)
	d := open(t)
	m := require.Value(d.Load(ptx))(t)
	add := require.Value(d.Function(m, "add"))(t)
	s := require.Value(d.NewStream())(t)
	p := buffer(t, d, make([]byte, 4))
	one := buffer(t, d, float32s(2))
	out := buffer(t, d, make([]byte, 4))
	require.NoError(t, d.BeginCapture(s))
	require.NoError(t, d.Launch(s, &driver.Launch{Function: add, Name: "add", Grid: [3]int{1, 1, 1}, Block: [3]int{1, 1, 1},
		Args: []uint64{uint64(p), uint64(math.Float32bits(3))}}))
	require.NoError(t, d.Multiply(s, &driver.Gemm{Rows: 1, Cols: 1, Inner: 1, Alpha: 1, A: p, B: one, C: out, StrideA: 1, StrideB: 1, StrideC: 1}))
	g := require.Value(d.EndCapture(s))(t)
	read := func() [2]float32 {
		b := make([]byte, 8)
		require.NoError(t, errors.Join(d.Download(s, b[:4], p), d.Download(s, b[4:], out), d.Synchronize(s)))
		return [2]float32{math.Float32frombits(binary.LittleEndian.Uint32(b)), math.Float32frombits(binary.LittleEndian.Uint32(b[4:]))}
	}
	if got := read(); got != [2]float32{0, 0} {
		t.Errorf("the capture has run: %v", got)
	}
	for i := range 3 {
		require.NoError(t, d.LaunchGraph(g, s))
		if want := float32(3 * (i + 1)); read() != [2]float32{want, 2 * want} {
			t.Errorf("launch %d: %v, want %v and twice that", i, read(), want)
		}
	}
	require.NoError(t, d.FreeGraph(g))
	require.NoError(t, d.FreeStream(s))
	var order []string
	for _, l := range lines() {
		if strings.Contains(l, "capture") || strings.Contains(l, "handle") || strings.Contains(l, "graph") || strings.Contains(l, "instance") {
			order = append(order, l)
		}
	}
	want := []string{"create handle", "begin capture", "end capture", "destroy graph", "destroy instance", "destroy handle"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("cuBLAS's handle must be there before the capture: %s", diff)
	}
}

func float32s(values ...float32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}
