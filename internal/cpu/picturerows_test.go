package cpu_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/models"
	"ppal/trainer/graph"
)

// A network on 8-bit pictures has the bits of the network on the same floats, and no floats of all
// rows. It reads bytes and floats that are bound later, of which it keeps a copy, and takes memory
// again after a rest.
func TestPictureRows(t *testing.T) {
	const rows, cols = 90, 784
	model, err := models.Sized(models.Conv{Picture: models.Picture{Channels: 1, Height: 28, Width: 28}, Channels: []int{4}}, cols, 4)
	if err != nil {
		t.Fatal(err)
	}
	pictures := func(seed uint64, scale float64) *matrix.Bytes {
		rng, x := rand.New(rand.NewPCG(seed, 1)), matrix.NewBytes(rows, cols, scale)
		for i := range x.Data {
			x.Data[i] = uint8(rng.Uint32())
		}
		return x
	}
	wide := func(x *matrix.Bytes) *matrix.Dense {
		d := &matrix.Dense{Rows: rows, Cols: cols, Data: make([]float64, rows*cols)}
		x.Float64(d.Data, 0, rows)
		return d
	}
	class := func(i int) int { return i * 4 / rows }
	for _, dtype := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		var needs [2]uint64
		compile := func(i int, data matrix.Matrix) *graph.Problem {
			d, err := cpu.New(kernel.Best(), 2)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { d.Close() })
			return labelled(t, model, data, class, dtype, graph.On(d.Checked(func(bytes uint64) error { needs[i] = bytes; return nil })))
		}
		first, second := pictures(1, 1./255), pictures(2, 0.01)
		p, q := compile(0, first), compile(1, wide(first))
		same := func(what string) {
			t.Helper()
			if diff := cmp.Diff(numbers(t, q), numbers(t, p)); diff != "" {
				t.Errorf("%v, %s: %s", dtype, what, diff)
			}
		}
		bind := func(p *graph.Problem, m matrix.Matrix) {
			if err := p.Bind(0, m); err != nil {
				t.Fatal(err)
			}
		}
		same("at first")
		if floats := rows * cols * uint64(dtype.Size()); needs[0]+floats > needs[1] {
			t.Errorf("%v: %d bytes, and %d with floats of the rows", dtype, needs[0], needs[1])
		}
		bind(q, wide(second))
		copied := *second
		copied.Data = slices.Clone(second.Data)
		bind(p, &copied)
		clear(copied.Data)
		same("bytes bound")
		stored := p.Stored(0)
		bind(p, first)
		if got := stored.ByteRow(7, make([]uint8, cols)); !slices.Equal(got, second.ByteRow(7, nil)) || stored.ByteScale() != second.Scale {
			t.Errorf("%v: a later Bind changed stored rows", dtype)
		}
		p.Rest()
		bind(p, wide(second))
		same("floats bound")
		bind(p, second)
		p.Rest()
		same("bytes bound after floats")
	}
}
