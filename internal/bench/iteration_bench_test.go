package bench

import (
	"testing"

	"gorgonia.org/tensor"

	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
)

// BenchmarkIteration runs an iteration of every case on random rows, a tenth of the published
// number of rows. `ppal bench` uses all rows and also measures the floor.
func BenchmarkIteration(b *testing.B) {
	all := Cases(10)
	device, err := cpu.New(kernel.Best(), 0)
	if err != nil {
		b.Fatal(err)
	}
	Restrict(all, device, tensor.Float32)
	for _, c := range all {
		if c.Missing != "" {
			continue
		}
		b.Run(c.Name, func(b *testing.B) {
			w, err := c.prepare(b.Context(), Options{DataDir: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			if err := w.repeat(warmUps); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.iterate(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
