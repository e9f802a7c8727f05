package bench

import (
	"math/rand/v2"
	"testing"

	"ppal/datasets/matrix"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/require"
)

// TestSparse checks that the products count the operations of the entries.
func TestSparse(t *testing.T) {
	data := draw(rand.New(rand.NewPCG(1, 1)), 500, 12)
	for _, level := range kernel.Levels() {
		d := require.Value(cpu.New(level, 2))(t)
		defer d.Close()
		p := require.Value(Sparse[float32](d, data, 3))(t)
		if took := p.Run(); took <= 0 || p.FLOPs() != float64(12*len(data.Columns)) {
			t.Errorf("%v for %v FLOPs of %d entries", took, p.FLOPs(), len(data.Columns))
		}
		if _, err := Sparse[float32](d, data, 0); err == nil {
			t.Error("width 0 gave no error")
		}
	}
}

// draw returns a matrix in which about a third of the elements are entries.
func draw(rng *rand.Rand, rows, cols int) *matrix.CSR {
	x := &matrix.CSR{Cols: cols, Starts: []int{0}}
	for range rows {
		for c := range cols {
			if rng.IntN(3) == 0 {
				x.Columns = append(x.Columns, int32(c))
				x.Values = append(x.Values, rng.NormFloat64())
			}
		}
		x.Starts = append(x.Starts, len(x.Columns))
	}
	return x
}
