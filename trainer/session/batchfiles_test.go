//go:build linux

package session

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/models"
)

// A run on mini-batches of rows in files equals a run in memory, bit by bit, if several batches are
// packed together, and after an interruption.
func TestBatchesInFiles(t *testing.T) {
	file, dir := wideTable(t, 600), t.TempDir()
	for _, dtype := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		if require.Racing && dtype == tensor.Float64 {
			continue // the same goroutines
		}
		options := func(memory int64) func(o *Options) {
			return func(o *Options) {
				o.Data, o.Task, o.Model = CSV(file, "y", "sex=m"), DemographicParity{Epsilon: []float64{0.05}}, &models.Spec{}
				o.BatchSize, o.Device.Dtype, o.Device.Memory, o.Device.MemoryDir = 100, dtype, memory, dir
				o.Settings.Iterations, o.Settings.RecordEvery = 20, 2 // automatic records depend on their time
			}
		}
		finish := func(s *Session) (*Result, []byte) {
			r := require.Value(s.Train(t.Context()))(t)
			require.NoError(t, s.Save(""))
			return r, bytesOf(t, rundir.Dir(s.Dir()).Model())
		}
		open := func(memory int64, dir string) *Session {
			s := own(t, options(memory))
			require.NoError(t, s.Open(dir))
			return s
		}
		whole, torn := t.TempDir()+"/whole", t.TempDir()+"/torn"
		const memory = 1 << 20 // four batches together in float32, two in float64
		want, weights := finish(open(0, t.TempDir()+"/memory"))
		got, other := finish(open(memory, whole))
		if diff := cmp.Diff(want.Certificate, got.Certificate); diff != "" || !slices.Equal(weights, other) {
			t.Errorf("%v: a run in files differs: %s", dtype, diff)
		}
		interrupt(t, torn, options(memory))
		s := own(t, options(memory))
		require.Value(s.Resume(torn))(t)
		got, other = finish(s)
		if diff := cmp.Diff(want.Certificate, got.Certificate); diff != "" || !slices.Equal(weights, other) {
			t.Errorf("%v: a run that continues differs: %s", dtype, diff)
		}
		if diff := cmp.Diff(recordsOf(t, whole), recordsOf(t, torn)); diff != "" {
			t.Errorf("%v: the records of a run that continues differ: %s", dtype, diff)
		}
	}
}
