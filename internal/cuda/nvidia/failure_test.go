//go:build gpu

package nvidia_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppal/internal/cuda/driver"
	"ppal/internal/require"
)

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
			if filepath.Base(e.File) != "failure_test.go" || e.Line == 0 {
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
