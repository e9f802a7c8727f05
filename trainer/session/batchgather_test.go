//go:build linux

package session

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/racing"
	"ppal/internal/rundir"
	"ppal/models"
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

// A run on mini-batches of rows in files equals a run in memory, bit by bit, if several batches are
// packed together, and after an interruption.
func TestBatchesInFiles(t *testing.T) {
	file, dir := wideTable(t, 1500), t.TempDir()
	for _, dtype := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		if racing.Detector && dtype == tensor.Float64 {
			continue // the same goroutines
		}
		options := func(memory int64) func(o *Options) {
			return func(o *Options) {
				o.Data, o.Task, o.Model = CSV(file, "y", "sex=m"), DemographicParity{Epsilon: []float64{0.05}}, &models.Spec{}
				o.BatchSize, o.Device.Dtype, o.Device.Memory, o.Device.MemoryDir = 100, dtype, memory, dir
				o.Settings.Iterations, o.Settings.RecordEvery = 140, 2 // automatic records depend on their time
			}
		}
		finish := func(s *Session) (*Result, []byte) {
			r, err := s.Train(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Save(""); err != nil {
				t.Fatal(err)
			}
			return r, bytesOf(t, rundir.Dir(s.Dir()).Model())
		}
		open := func(memory int64, dir string) *Session {
			s := own(t, options(memory))
			if err := s.Open(dir); err != nil {
				t.Fatal(err)
			}
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
		if _, err := s.Resume(torn); err != nil {
			t.Fatal(err)
		}
		got, other = finish(s)
		if diff := cmp.Diff(want.Certificate, got.Certificate); diff != "" || !slices.Equal(weights, other) {
			t.Errorf("%v: a run that continues differs: %s", dtype, diff)
		}
		if diff := cmp.Diff(recordsOf(t, whole), recordsOf(t, torn)); diff != "" {
			t.Errorf("%v: the records of a run that continues differ: %s", dtype, diff)
		}
	}
}

// The first batch packs several batches, as many as fit in a share of the bound.
func TestPackAhead(t *testing.T) {
	racing.Skip(t, "TestBatchesInFiles runs the same goroutines")
	file := wideTable(t, 3000)
	for memory, want := range map[int64]int{0: 1, 1 << 10: 1, 1 << 20: 4, 1 << 30: 21} {
		a := buildOptions(t, onTable(DemographicParity{Epsilon: []float64{0.05}}, CSV(file, "y", "sex=m"), func(o *Options) {
			o.BatchSize, o.Device.Memory, o.Settings.Iterations = 100, memory, 100
		}))
		if err := a.sampler.Sample(0); err != nil {
			t.Fatal(err)
		}
		packed := 0
		for _, p := range a.batches.packed {
			if p != nil {
				packed++
			}
		}
		if packed != want || len(a.batches.packed) != 21 {
			t.Errorf("memory %d: %d of %d batches are packed, want %d", memory, packed, len(a.batches.packed), want)
		}
	}
}
