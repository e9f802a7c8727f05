package bench

import (
	"testing"

	"gorgonia.org/tensor"

	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/require"
)

// BenchmarkIteration runs an iteration of every case on random rows, a tenth of the published
// number of rows. `ppal bench` uses all rows and also measures the floor.
func BenchmarkIteration(b *testing.B) {
	all := Cases(10)
	device := require.Value(cpu.New(kernel.Best(), 0))(b)
	Restrict(all, device, tensor.Float32)
	for _, c := range all {
		if c.Missing != "" {
			continue
		}
		b.Run(c.Name, func(b *testing.B) {
			w := require.Value(c.prepare(b.Context(), Options{DataDir: b.TempDir()}))(b)
			require.NoError(b, w.repeat(warmUps))
			b.ReportAllocs()
			for b.Loop() {
				require.Value(w.iterate())(b)
			}
		})
	}
}
