package build

import (
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/require"
)

// gather returns the listed rows in the order of the list.
func TestGather(t *testing.T) {
	data := &matrix.Dense{Rows: 3000, Cols: 2}
	for i := range 2 * data.Rows {
		data.Data = append(data.Data, float64(i)+0.25)
	}
	var list []int
	for i := range 2500 {
		list = append(list, i*1301%3000)
	}
	got := gather[float32](data, append(list, 7, 7))
	for i, row := range append(list, 7, 7) {
		if want := []float32{float32(2*row) + 0.25, float32(2*row) + 1.25}; !slices.Equal(got.data[2*i:2*i+2], want) {
			t.Fatalf("row %d is %v, want %v", i, got.data[2*i:2*i+2], want)
		}
	}
	wide := make([]float64, 4)
	got.Float64(wide, 1, 3)
	if want := []float64{2602.25, 2603.25, 5204.25, 5205.25}; !slices.Equal(wide, want) {
		t.Errorf("%v, want %v", wide, want)
	}
}

// The first batch packs several batches, as many as fit in a share of the bound.
func TestPackAhead(t *testing.T) {
	for memory, want := range map[int64]int{0: 1, 1 << 10: 1, 1 << 20: 4, 1 << 30: 21} {
		b, r := squares(t, 2100, 70)
		b.Devices.Memory = memory
		weights := start(t, b)
		all := require.Value(b.Problem(r, tensor.Float32, weights))(t)
		m, sampler, err := NewBatches(b, r, 100, 1, tensor.Float32, weights, all)
		require.NoError(t, err)
		m.From = 100
		require.NoError(t, sampler.Sample(0))
		packed := 0
		for _, p := range m.packed {
			if p != nil {
				packed++
			}
		}
		if packed != want || len(m.packed) != 21 {
			t.Errorf("memory %d: %d of %d batches are packed, want %d", memory, packed, len(m.packed), want)
		}
	}
}
