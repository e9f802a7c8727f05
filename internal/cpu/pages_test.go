//go:build linux

package cpu_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/mapped"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/graph"
)

// Packed bytes, digits of bfloat16 and the copies of sparse entries lie in the device's pages. Rows
// as data, bound rows and kept rows have the bits of a device without pages, also when all pages
// are given back all the time.
func TestPackedRowsInPages(t *testing.T) {
	device := require.Value(cpu.New(kernel.Best(), 2))(t)
	album := pictures{network: network{spec: models.Spec{Inputs: 1500, Outputs: 4, Hidden: []int{3}}, counts: []int{301, 13, 190, 250}, seed: 70}}
	table, other := floats(2000, 100, 5), floats(2000, 100, 6)
	onTable := func(e graph.Engine) *graph.Problem {
		return compile(t, onFloats(models.Spec{Inputs: 100, Hidden: []int{8}}, table), tensor.Float32, e)
	}
	sparse := func(kind int) sparseNetwork {
		return sparseNetwork{rows: 20_000, cols: 80, outputs: 2, kind: kind, seed: 3}
	}
	onSparse := func(n sparseNetwork) func(e graph.Engine) *graph.Problem {
		return func(e graph.Engine) *graph.Problem { return n.must(t, tensor.Float32, e, n.data()) }
	}
	again := func(n sparseNetwork) matrix.Matrix {
		n.seed++
		return n.data()
	}
	for name, c := range map[string]struct {
		device *cpu.Device
		build  func(e graph.Engine) *graph.Problem
		other  matrix.Matrix
		least  int64 // bytes in files
	}{
		"bytes":        {cpu.Forced(device, plan.Int8x3), func(e graph.Engine) *graph.Problem { return album.problem(t, tensor.Float32, e) }, album.other(), 2 * 754 * 1500},
		"bfloat16":     {modelled(t, 2, plan.BF16x3), onTable, other, 12 * 2000 * 100},
		"entries":      {device, onSparse(sparse(2)), again(sparse(2)), 4 * 150_000},
		"equal values": {device, onSparse(sparse(0)), again(sparse(0)), 0},
	} {
		if require.Racing && name != "entries" {
			continue // the same goroutines
		}
		want := c.build(graph.On(c.device))
		useWant := require.Value(want.Keep(0, c.other))(t)
		pages := require.Value(mapped.New(t.TempDir(), 8<<20))(t) // below any resident memory
		got := c.build(graph.On(c.device.InPages(pages)))
		stored := pages.Bytes()
		use := require.Value(got.Keep(0, c.other))(t)
		if kept := pages.Bytes() - stored; stored < c.least || kept < c.least || kept == 0 {
			t.Errorf("%s: %d bytes in files for the rows, %d for kept rows, want at least %d", name, stored, kept, c.least)
		}
		for step, change := range []func(p *graph.Problem) error{
			func(*graph.Problem) error { return nil },
			func(p *graph.Problem) error { return map[bool]func() error{true: use, false: useWant}[p == got]() },
			func(p *graph.Problem) error { return p.Bind(0, c.other) },
		} {
			for _, p := range []*graph.Problem{want, got} {
				require.NoError(t, change(p))
			}
			if a, b := numbers(t, want), numbers(t, got); !reflect.DeepEqual(a, b) {
				t.Errorf("%s, step %d: %s", name, step, cmp.Diff(a, b))
			}
		}
		if err := pages.Close(); err != nil {
			t.Error(err)
		}
	}
}
