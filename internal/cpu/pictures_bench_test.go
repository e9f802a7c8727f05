//go:build unix

package cpu_test

import (
	"syscall"
	"testing"
	"time"

	"gorgonia.org/tensor"

	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/graph"
)

// BenchmarkConvolution takes the CPU time of a forward and a backward pass of 128 pictures on one
// thread. internal/peers/convolutions.py runs it in turns with PyTorch.
func BenchmarkConvolution(b *testing.B) {
	for name, c := range map[string]models.Conv{
		"16-32":     {Picture: models.Picture{Channels: 1, Height: 28, Width: 28}, Channels: []int{16, 32}},
		"32-64-128": {Picture: models.Picture{Channels: 3, Height: 32, Width: 32}, Channels: []int{32, 64, 128}},
	} {
		b.Run(name, func(b *testing.B) {
			device := require.Value(cpu.New(kernel.Best(), 1))(b)
			data := newImages(128, c.Picture.Pixels())
			model := require.Value(models.Sized(c, data.cols, 4))(b)
			run := iteration(b, classifier(b, model, data, tensor.Float32, graph.On(device)))
			run()
			b.ResetTimer()
			began := cpuSeconds(b)
			for range b.N {
				run()
			}
			b.ReportMetric(1e3*(cpuSeconds(b)-began)/float64(b.N*data.rows), "cpu-ms/picture")
		})
	}
}

// cpuSeconds returns the CPU time of this process.
func cpuSeconds(b *testing.B) float64 {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}
