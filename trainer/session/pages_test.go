//go:build linux

package session

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/internal/mapped"
	"ppal/internal/ranks"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/session/internal/load"
)

// wideTable writes a CSV file with 70 numbers, a category and a label in each row.
func wideTable(t *testing.T, rows int) string {
	t.Helper()
	var b strings.Builder
	for j := range 70 {
		fmt.Fprintf(&b, "x%d,", j)
	}
	b.WriteString("sex,y\n")
	rng := rand.New(rand.NewPCG(1, 2))
	for range rows {
		sum := 0.0
		for range 70 {
			x := rng.NormFloat64()
			sum += x
			fmt.Fprintf(&b, "%.3f,", x)
		}
		sex := rng.IntN(2)
		fmt.Fprintf(&b, "%c,%t\n", 'f'+7*rune(sex), sum+4*float64(sex) > 2)
	}
	path := filepath.Join(t.TempDir(), "wide.csv")
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	return path
}

// recordedMeasures keeps the measures of the records.
type recordedMeasures []map[string]float64

func (m *recordedMeasures) Record(r *trainer.Record) error {
	*m = append(*m, r.Measures)
	return nil
}

// A run with its rows in files ends with the same bits as a run with its rows in memory, for
// features that products read as they are and for packed features.
func TestRowsInFiles(t *testing.T) {
	const rows = 2000
	file := wideTable(t, rows)
	for _, hidden := range [][]int{nil, {12}} {
		if require.Racing && hidden == nil {
			continue // the same goroutines
		}
		dirs := map[bool]string{false: t.TempDir(), true: t.TempDir()}
		finish := func(memory int64) (*Result, recordedMeasures) {
			var measures recordedMeasures
			dir := dirs[memory > 0]
			a := buildOptions(t, onTable(DemographicParity{Epsilon: []float64{0.05}}, CSV(file, "y", "sex=m"), func(o *Options) {
				o.Model = &models.Spec{Hidden: hidden}
				o.Device.Memory, o.Device.MemoryDir, o.Device.KeptDir = memory, dir, filepath.Join(dir, "kept")
			}))
			if stored := a.devices.Pages.Bytes(); (stored > 70*rows*8) != (memory > 0) {
				t.Errorf("%d bytes in files", stored)
			}
			r := require.Value(a.Optimize(t.Context(), trainer.Settings{Iterations: 12, RecordEvery: 3, Recorder: &measures}))(t)
			final := require.Value(a.Certify(r))(t)
			list, err := os.ReadDir(dir)
			if names := len(list) == 1 && list[0].Name() == "kept"; err != nil || names != (memory > 0) {
				t.Errorf("files with names: %v, %v", list, err)
			}
			final.Training, final.Certifying = nil, 0 // measured times
			return final, measures
		}
		want, records := finish(0)
		for _, run := range []string{"first", "second"} { // the second reads the kept rows
			got, fromFiles := finish(64 << 20)
			if diff := cmp.Diff(want, got) + cmp.Diff(records, fromFiles); diff != "" || len(records) < 2 {
				t.Errorf("%v hidden units, the %s run, %d records: %s", hidden, run, len(records), diff)
			}
		}
	}
}

// A second session reads the rows that the first session kept, until the table changes. Without a
// directory, no rows stay.
func TestKeptRows(t *testing.T) {
	file, dir := wideTable(t, 300), t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	open := func(dir string) (remarks string) {
		a := buildOptions(t, onTable(DemographicParity{Epsilon: []float64{0.05}}, CSV(file, "y", "sex=m"), func(o *Options) {
			o.Device.Memory, o.Device.KeptDir = 64<<20, dir
		}))
		return strings.Join(slices.Concat(a.data.Description.Notes, a.data.Description.Warnings), " ")
	}
	for i, want := range []string{"kept for later runs", "The kept rows of", "has changed"} {
		if i == 2 {
			text := require.Value(os.ReadFile(file))(t)
			text = []byte(strings.Replace(string(text), ".1", ".2", 1))
			require.NoError(t, os.WriteFile(file, text, 0o600))
		}
		if got := open(dir); !strings.Contains(got, want) {
			t.Errorf("run %d: %s, want %q", i, got, want)
		}
	}
	if got := open(""); strings.Contains(got, "kept") {
		t.Error(got)
	}
	if list, err := os.ReadDir(os.TempDir()); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// The rows of a published or built-in table, which stay in memory, beyond the bound are a warning.
func TestRowsBeyondTheBound(t *testing.T) {
	require.NoRace(t, "TestRowsInFiles runs the same goroutines")
	for _, memory := range []int64{0, 1 << 10, 1 << 30} {
		l := require.Value(Table{Dataset: "synthetic-adult"}.Load(t.Context(), Request{load.Request{Memory: memory, Dtype: tensor.Float64, Seed: 1}}))(t)
		if warned := strings.Contains(strings.Join(l.rows.Description.Warnings, " "), "keeps the rows of published and built-in tables in memory"); warned != (memory == 1<<10) {
			t.Errorf("memory %d: %q", memory, l.rows.Description.Warnings)
		}
	}
}

// Kept rows that another program changes while a run uses them are an error at the run's end.
func TestKeptRowsChange(t *testing.T) {
	file := wideTable(t, 500)
	for _, change := range []bool{false, true} {
		dir := t.TempDir()
		o := onTable(DemographicParity{Epsilon: []float64{0.05}}, CSV(file, "y", "sex=m"), func(o *Options) {
			o.Device.Memory, o.Device.MemoryDir, o.Device.KeptDir = 64<<20, dir, filepath.Join(dir, "kept")
			o.Settings.Iterations = 2
		})
		s := require.Value(New(t.Context(), o))(t)
		defer s.Close()
		require.Value(s.Optimize(t.Context()))(t)
		files, err := filepath.Glob(filepath.Join(dir, "kept", "*"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%v, %v", files, err)
		}
		if change {
			require.NoError(t, os.Chmod(files[0], 0o600))
			f := require.Value(os.OpenFile(files[0], os.O_WRONLY, 0))(t)
			require.Value(f.WriteAt(make([]byte, 4096), 4096))(t)
			f.Close()
		}
		if r, err := s.Certify(); errors.Is(err, mapped.ErrDamaged) != change || (r == nil) != change {
			t.Errorf("change %v: %v", change, err)
		}
	}
}

// If the kept rows of one process change, process 0 refuses the result, and that process names the
// file.
func TestKeptRowsOfProcesses(t *testing.T) {
	file := wideTable(t, 300)
	for changing := range 2 {
		folders := [2]string{t.TempDir(), t.TempDir()}
		var all sync.WaitGroup
		for _, c := range ranks.Goroutines(2) {
			own := onTable(DemographicParity{Epsilon: []float64{0.05}}, CSV(file, "y", "sex=m"), nil)
			own.Device.Ranks, own.Device.Threads, own.Device.Memory, own.Device.KeptDir = c, 1, 64<<20, folders[c.Rank()]
			own.Settings.Iterations = 3
			all.Go(func() {
				if c.Rank() > 0 {
					err := Serve(t.Context(), own, nil)
					if reports := err != nil && !Reported(err) && strings.Contains(err.Error(), "changed while"); reports != (changing == 1) {
						t.Errorf("process 1: %v", err)
					}
					return
				}
				s, err := New(t.Context(), own)
				if err != nil {
					t.Error(err)
					return
				}
				_, err = s.Optimize(t.Context())
				if err != nil {
					t.Error(err)
				}
				files, err := filepath.Glob(filepath.Join(folders[changing], "*.rows"))
				if err != nil || len(files) != 1 {
					t.Errorf("process %d keeps %v, %v", changing, files, err)
				}
				for _, f := range files {
					flip(t, f)
				}
				_, err = s.Certify()
				if err == nil || !strings.Contains(err.Error(), "changed") || !strings.Contains(err.Error(), "train again") {
					t.Errorf("process 0: %v", err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
}

// flip inverts a byte of the data of a kept file, which its index follows.
func flip(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		data[len(data)/8] ^= 0xff
		err = os.Chmod(path, 0o600)
	}
	f, opened := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil || opened != nil {
		t.Error(err, opened)
		return
	}
	defer f.Close()
	if _, err := f.WriteAt(data, 0); err != nil {
		t.Error(err)
	}
}

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
