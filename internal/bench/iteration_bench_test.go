package bench

import "testing"

// BenchmarkIteration is an iteration of every case on a tenth of its rows, random ones; `ppal bench` takes them all, beside their floor.
func BenchmarkIteration(b *testing.B) {
	for _, c := range Cases(10) {
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
