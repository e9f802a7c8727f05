package cpu_test

import (
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"
	"gorgonia.org/tensor"

	"ppal/internal/cpu/kernel"
	"ppal/models"
)

// BenchmarkGrowth measures how the time of an iteration grows with the number of rows, from 1,000
// to 60,000. It fits a straight line to the medians and reports R2 and the slope.
func BenchmarkGrowth(b *testing.B) {
	sizes := []int{1000, 2000, 5000, 10000, 20000, 30000, 45000, 60000}
	all := newImages(sizes[len(sizes)-1], 784)
	iterations, times := make([]func(), len(sizes)), make([][]float64, len(sizes))
	for i, n := range sizes {
		data := images{n, all.cols, all.pixels[:n*all.cols]}
		p := classifier(b, models.Spec{Inputs: data.cols, Hidden: []int{64}, Outputs: 4}, data, tensor.Float32, engine(b, kernel.Best(), 0))
		iterations[i] = iteration(b, p)
		iterations[i]()
	}
	for b.Loop() {
		for i, run := range iterations {
			start := time.Now()
			run()
			times[i] = append(times[i], time.Since(start).Seconds())
		}
	}
	var rows, medians []float64
	for i, n := range sizes {
		slices.Sort(times[i])
		rows, medians = append(rows, float64(n)), append(medians, times[i][len(times[i])/2])
	}
	start, slope := stat.LinearRegression(rows, medians, nil, false)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(stat.RSquared(rows, medians, nil, start, slope), "R2")
	b.ReportMetric(1e9*slope, "ns/row")
}
