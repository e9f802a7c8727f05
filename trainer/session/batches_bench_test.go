package session

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// BenchmarkEpoch times a pass over the rows, in full batch and in batches of 512 and 2048, with
// momentum. The metric least-us is the least wall time of a pass, which other programs on the
// machine disturb least; cpu-us is the user CPU time of the process for a pass.
func BenchmarkEpoch(b *testing.B) {
	dir := os.Getenv("PPAL_DATA")
	if dir == "" {
		b.Skip("no PPAL_DATA")
	}
	ppala := func() *method.PPALA { return &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}} }
	adult := func(hidden ...int) Options {
		o := Options{Data: Table{Dataset: "adult", Dir: dir}, Task: DemographicParity{}, Method: ppala()}
		if len(hidden) > 0 {
			o.Model = &models.Spec{Hidden: hidden}
		}
		return o
	}
	for _, run := range []struct {
		name    string
		options func() Options
	}{
		{"adult/linear", func() Options { return adult() }},
		{"adult/mlp16", func() Options { return adult(16) }},
		{"adult/mlp64", func() Options { return adult(64) }},
		{"fashion-mnist", func() Options {
			return Options{Data: Images{Dataset: "fashion-mnist", Dir: dir, Classes: []int{0, 1, 2, 3}}, Task: NeymanPearson{Kappa: []float64{0.2}},
				Model: &models.Spec{Hidden: []int{256}}, Method: ppala()}
		}},
	} {
		for _, threads := range []int{1, 2} {
			for _, size := range []int{0, 512, 2048} {
				b.Run(fmt.Sprintf("%s/threads=%d/batch=%d", run.name, threads, size), func(b *testing.B) {
					o := run.options()
					o.Settings.Seed, o.BatchSize, o.Device = 1, size, Device{Kind: CPU, Threads: threads}
					o.Settings.Iterations = 1 << 30 // the last iterations, on all rows, are far
					o = require.Value(o.withDefaults())(b)
					a := require.Value(assemble(b.Context(), o))(b)
					defer a.Close()
					epoch(b, a)
				})
			}
		}
	}
}

// epoch times passes of the run's method, after a first pass, which packs the batches.
func epoch(b *testing.B, a *assembly) {
	p, m, iterations := a.Problem(), a.options.Method, 1.0
	if a.sampler != nil {
		iterations = a.sampler.PerPass()
	}
	at := problem.NewPoint(p)
	p.Space().Project()
	require.NoError(b, at.SampleAndForward(p, 0))
	require.NoError(b, m.Init(p, &at))
	passes := 0
	pass := func() time.Duration {
		began := time.Now()
		for passes++; float64(at.Iteration) < float64(passes)*iterations; at.Iteration++ {
			require.NoError(b, m.Iterate(p, &at))
		}
		return time.Since(began)
	}
	least := pass()
	b.ReportAllocs()
	began := userTime(b)
	b.ResetTimer()
	for b.Loop() {
		least = min(least, pass())
	}
	b.ReportMetric(float64((userTime(b)-began).Microseconds())/float64(b.N), "cpu-us/op")
	b.ReportMetric(float64(least.Nanoseconds())/1e3, "least-us")
	b.ReportMetric(iterations, "batches")
}

// userTime returns the user CPU time of the process so far.
func userTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano())
}
