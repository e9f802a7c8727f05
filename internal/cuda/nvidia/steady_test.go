//go:build gpu

package nvidia_test

import (
	"testing"

	"ppal/internal/cuda/driver"
	"ppal/internal/require"
)

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
