//go:build gpu

package nvidia_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/nvidia"
	"ppal/internal/gpucheck"
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

// The error of a failed call has the operation, the call, the caller's place, and the driver's name
// and description.
func TestErrors(t *testing.T) {
	d := open(t)
	m := require.Value(d.Load(ptx))(t)
	f := require.Value(d.Function(m, "store"))(t)
	p := buffer(t, d, make([]byte, 64))
	s := require.Value(d.NewStream())(t)
	t.Cleanup(func() { require.NoError(t, d.FreeStream(s)) })
	launch := &driver.Launch{Function: f, Name: "store", Grid: [3]int{1, 1, 1}, Block: [3]int{64, 1, 1}, Args: make([]uint64, 4)}
	gemm := &driver.Gemm{Rows: 1, Cols: 1, Inner: 1, A: p, B: p, C: p, StrideA: 1, StrideB: 1, StrideC: 1}
	ignore := func(_ any, err error) error { return err }
	for _, c := range []struct {
		fail            string // name of the stub's call that fails
		operation, call string
		do              func() error
	}{
		{"cuMemAlloc_v2", "allocate 10 bytes", "cuMemAlloc(&p, 10)", func() error { return ignore(d.Allocate(10)) }},
		{"cuMemHostAlloc", "allocate 9 bytes of pinned memory", "cuMemHostAlloc(&p, 9, 0)", func() error { return ignore(d.Pinned(9)) }},
		{"cuMemHostGetDevicePointer_v2", "map pinned memory", "cuMemHostGetDevicePointer(&p, host, 0)", func() error { return ignore(d.Mapped(make([]byte, 8))) }},
		{"cuMemGetInfo_v2", "ask for the free memory", "cuMemGetInfo(", func() error { _, _, err := d.Memory(); return err }},
		{"cuMemFree_v2", "free 0 bytes", "cuMemFree(0x7)", func() error { return d.Free(7) }},
		{"cuMemcpyHtoDAsync_v2", "copy to the device", "cuMemcpyHtoDAsync(", func() error { return d.Upload(s, p, make([]byte, 3)) }},
		{"cuMemcpyDtoHAsync_v2", "copy from the device", "cuMemcpyDtoHAsync(", func() error { return d.Download(s, make([]byte, 3), p) }},
		{"cuMemcpyDtoDAsync_v2", "copy on the device", "cuMemcpyDtoDAsync(", func() error { return d.Copy(s, p, p, 3) }},
		{"cuMemsetD8Async", "clear memory", "cuMemsetD8Async(", func() error { return d.Clear(s, p, 3) }},
		{"cuStreamCreate", "make a stream", "cuStreamCreate(", func() error { return ignore(d.NewStream()) }},
		{"cuStreamSynchronize", "wait for a stream", "cuStreamSynchronize(", func() error { return d.Synchronize(s) }},
		{"cuEventCreate", "make an event", "cuEventCreate(", func() error { return ignore(d.NewEvent()) }},
		{"cuEventRecord", "record an event", "cuEventRecord(", func() error { return d.Record(0, s) }},
		{"cuStreamWaitEvent", "wait for an event", "cuStreamWaitEvent(", func() error { return d.Wait(s, 0) }},
		{"cuEventElapsedTime", "read a time", "cuEventElapsedTime(", func() error { return ignore(d.Elapsed(0, 0)) }},
		{"cuModuleLoadDataEx", "compile a module", "cuModuleLoadDataEx(&m, ", func() error { return ignore(d.Load(ptx)) }},
		{"cuModuleGetFunction", "find kernel add", "cuModuleGetFunction(", func() error { return ignore(d.Function(m, "add")) }},
		{"cuLaunchKernel", "launch store", "cuLaunchKernel(store, grid [1 1 1], block [64 1 1]", func() error { return d.Launch(s, launch) }},
		{"cuStreamBeginCapture_v2", "begin a capture", "cuStreamBeginCapture(", func() error { return d.BeginCapture(s) }},
		{"cuStreamEndCapture", "end a capture", "cuStreamEndCapture(", func() error { return ignore(d.EndCapture(s)) }},
		{"cuGraphLaunch", "launch a graph", "cuGraphLaunch(", func() error { return d.LaunchGraph(0, s) }},
		{"cublasGemmEx", "multiply 1 x 1 by 1 x 1", "cublasGemmEx(", func() error { return d.Multiply(s, gemm) }},
	} {
		t.Run(c.fail, func(t *testing.T) {
			t.Setenv("PPAL_STUB_FAIL", c.fail+"=700")
			err := c.do()
			t.Setenv("PPAL_STUB_FAIL", "")
			var e *driver.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want a *driver.Error", err)
			}
			if e.Operation != c.operation || !strings.HasPrefix(e.Call, c.call) || e.Code != 700 {
				t.Errorf("got %+v", e)
			}
			if filepath.Base(e.File) != "calls_test.go" || e.Line == 0 {
				t.Errorf("the place is %s:%d, want this file", e.File, e.Line)
			}
			if !strings.HasPrefix(c.fail, "cublas") && (e.Name != "CUDA_ERROR_ILLEGAL_ADDRESS" || e.Detail != "a sentence of the stub") {
				t.Errorf("got %+v", e)
			}
		})
	}
}

func TestInstantiateFails(t *testing.T) {
	d := open(t)
	s := require.Value(d.NewStream())(t)
	require.NoError(t, d.BeginCapture(s))
	t.Setenv("PPAL_STUB_FAIL", "cuGraphInstantiateWithFlags=2")
	_, err := d.EndCapture(s)
	t.Setenv("PPAL_STUB_FAIL", "")
	if err == nil || !strings.Contains(err.Error(), "cuGraphInstantiateWithFlags(") || !errors.Is(err, driver.ErrOutOfMemory) {
		t.Errorf("got %v", err)
	}
	require.NoError(t, d.FreeStream(s))
}

// A driver before CUDA 11.4 lacks cuGraphInstantiateWithFlags: the older function instantiates the
// graph. 34 is the shim's answer for a function that the driver lacks.
func TestInstantiateOld(t *testing.T) {
	lines := logTo(t)
	d := open(t)
	s := require.Value(d.NewStream())(t)
	require.NoError(t, d.BeginCapture(s))
	t.Setenv("PPAL_STUB_FAIL", "cuGraphInstantiateWithFlags=34")
	g := require.Value(d.EndCapture(s))(t)
	require.NoError(t, errors.Join(d.LaunchGraph(g, s), d.FreeGraph(g), d.FreeStream(s)))
	if !slices.Contains(lines(), "instantiate as before CUDA 11.4") {
		t.Error("the older function was not called")
	}
}

// An out-of-memory error of the driver and of cuBLAS is the same error.
func TestOutOfMemory(t *testing.T) {
	d := open(t)
	t.Setenv("PPAL_STUB_FAIL", "cuMemAlloc_v2=2")
	if _, err := d.Allocate(5); !errors.Is(err, driver.ErrOutOfMemory) || !strings.Contains(err.Error(), "CUDA_ERROR_OUT_OF_MEMORY (2, out of memory)") {
		t.Errorf("allocate: %v", err)
	}
	p := driver.Pointer(0)
	gemm := &driver.Gemm{Rows: 1, Cols: 1, Inner: 1, A: p, B: p, C: p, StrideA: 1, StrideB: 1, StrideC: 1}
	if err := d.Multiply(0, gemm); !errors.Is(err, driver.ErrOutOfMemory) || !strings.Contains(err.Error(), "workspace") {
		t.Errorf("multiply: %v", err)
	}
	t.Setenv("PPAL_STUB_FAIL", "cublasCreate_v2=3")
	if err := d.Multiply(0, gemm); !errors.Is(err, driver.ErrOutOfMemory) {
		t.Errorf("make a handle: %v", err)
	}
	t.Setenv("PPAL_STUB_FAIL", "")
}

// The error of a module that does not compile contains the compiler's message.
func TestCompilerSays(t *testing.T) {
	_, err := open(t).Load("no such text")
	if err == nil || !strings.Contains(err.Error(), "CUDA_ERROR_INVALID_PTX") || !strings.Contains(err.Error(), "fatal : Missing .version directive") {
		t.Errorf("got %v", err)
	}
}

// calls returns the calls of an iteration, by name.
func calls(t testing.TB, d driver.Driver) map[string]func() error {
	m := require.Value(d.Load(ptx))(t)
	add := require.Value(d.Function(m, "add"))(t)
	s := require.Value(d.NewStream())(t)
	p, host := buffer(t, d, make([]byte, 64)), require.Value(d.Pinned(64))(t)
	e := require.Value(d.NewEvent())(t)
	launch := &driver.Launch{Function: add, Name: "add", Grid: [3]int{1, 1, 1}, Block: [3]int{1, 1, 1}, Args: []uint64{uint64(p), 0}}
	gemm := &driver.Gemm{Rows: 1, Cols: 1, Inner: 1, Alpha: 1, A: p, B: p, C: p, StrideA: 1, StrideB: 1, StrideC: 1}
	require.NoError(t, d.BeginCapture(s))
	g := require.Value(d.EndCapture(s))(t)
	t.Cleanup(func() {
		require.NoError(t, d.FreeGraph(g))
		require.NoError(t, d.FreeEvent(e))
		require.NoError(t, d.FreePinned(host))
		require.NoError(t, d.FreeStream(s))
	})
	return map[string]func() error{
		"launch":       func() error { return d.Launch(s, launch) },
		"launch graph": func() error { return d.LaunchGraph(g, s) },
		"multiply":     func() error { return d.Multiply(s, gemm) },
		"upload":       func() error { return d.Upload(s, p, host) },
		"download":     func() error { return d.Download(s, host, p) },
		"copy":         func() error { return d.Copy(s, p, p.Offset(32), 8) },
		"clear":        func() error { return d.Clear(s, p, 8) },
		"record":       func() error { return d.Record(e, s) },
		"wait":         func() error { return d.Wait(s, e) },
		"synchronize":  func() error { return d.Synchronize(s) },
	}
}

func TestNoAllocations(t *testing.T) {
	for name, call := range calls(t, open(t)) {
		require.NoError(t, call())
		if n := testing.AllocsPerRun(100, func() { require.NoError(t, call()) }); n != 0 {
			t.Errorf("%s: %v allocations a call", name, n)
		}
	}
}

// BenchmarkCalls measures the host time of calls, with a driver that does nothing.
func BenchmarkCalls(b *testing.B) {
	for name, call := range calls(b, open(b)) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, call())
			}
		})
	}
}

// The small part of gpu-check passes on the stub: plans of every kind, kernel names from PTX,
// captured graphs, products in cuBLAS's order, and kernels compiled for the host. Both halves agree
// with the CPU device, and two runs agree to the bit.
func TestWhole(t *testing.T) {
	if testing.Short() {
		t.Skip("it does not depend on the version of the header")
	}
	parts := gpucheck.Parts()
	small := parts[slices.IndexFunc(parts, func(p gpucheck.Part) bool { return p.Name == "small" })]
	results := require.Value(small.Cases[0].Run(t.Context(), gpucheck.Options{
		Open: func() (driver.Driver, error) { return nvidia.Open(0) }, Log: t.Logf,
	}))(t)
	if len(results) == 0 {
		t.Error("nothing was checked")
	}
	for _, r := range results {
		if r.Status != gpucheck.Passed {
			t.Errorf("%+v", r)
		}
	}
}
