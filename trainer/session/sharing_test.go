package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/mapped"
	"ppal/internal/ranks"
	"ppal/internal/recordio"
	"ppal/internal/require"
	"ppal/trainer/session/internal/build"
	"ppal/trainer/session/internal/load"
)

// Only several processes share the rows.
func TestSeveralProcesses(t *testing.T) {
	for size, want := range []bool{false, false, true, true} {
		d := Device{}
		if size > 0 {
			d.Ranks = ranks.Goroutines(size)[0]
		}
		if d.severalProcesses() != want {
			t.Errorf("%d processes: several %t", size, !want)
		}
	}
}

// watched is a process whose sums may fail. It says when it waits for calls.
type watched struct {
	ranks.Collective
	sums   error
	serves chan struct{} // closed by the first broadcast of a call
}

func (w *watched) Sum(x []float64) error {
	if w.sums != nil {
		return w.sums
	}
	return w.Collective.Sum(x)
}

func (w *watched) Broadcast(message []byte) error {
	if len(message) > 100 && w.serves != nil { // other broadcasts are shorter
		close(w.serves)
		w.serves = nil
	}
	return w.Collective.Broadcast(message)
}

// A process without options is the one that fails, although its options could be completed. An
// error of the processes ends Serve.
func TestServeFails(t *testing.T) {
	broken := errors.New("broken")
	for name, failed := range map[string]error{"no options": broken, "the run ends": nil} {
		all, serves := ranks.Goroutines(2), make(chan struct{})
		all[1] = &watched{Collective: all[1], serves: serves}
		done := make(chan error, 1)
		options := func(rank int) Options {
			o := onTable(DemographicParity{}, Table{Dataset: "synthetic-compas"}, nil)
			o.Device.Ranks, o.Device.Threads = all[rank], 1
			return o
		}
		go func() { done <- Serve(context.Background(), options(1), failed) }()
		s, err := New(t.Context(), options(0))
		if failed != nil {
			if !errors.Is(err, ranks.ErrElsewhere) {
				t.Errorf("%s: process 0: %v", name, err)
			}
		} else if err != nil {
			t.Fatal(err)
		} else {
			<-serves
			all[0].Abort(broken)
			defer s.Close()
		}
		if err := <-done; !errors.Is(err, broken) || Reported(err) {
			t.Errorf("%s: process 1: %v", name, err)
		}
	}
}

// Folders, and files that are missing, are not pipes.
func TestCheckShared(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "rows.csv")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	for path, ok := range map[string]bool{"": true, file: true, dir: true, filepath.Join(dir, "none"): true, os.DevNull: false, recordio.StandardInput: false} {
		if err := checkShared(Table{Dataset: "csv", TableOptions: tabular.TableOptions{File: path}}); (err == nil) != ok {
			t.Errorf("%q: %v", path, err)
		}
	}
	if err := checkShared(Images{}); err != nil {
		t.Error(err)
	}
}

// A process closes what it has opened if another process fails.
func TestAgreeCloses(t *testing.T) {
	pages := require.Value(mapped.New(t.TempDir(), 1<<40))(t)
	if _, err := mapped.Make[byte](pages, 9000); err != nil || pages.Bytes() == 0 {
		t.Fatalf("%d bytes of pages, %v", pages.Bytes(), err)
	}
	broken := errors.New("broken")
	if a, err := agree(ranks.Goroutines(1)[0], &assembly{devices: &build.Devices{Pages: pages}}, broken); a != nil || !errors.Is(err, broken) || pages.Bytes() != 0 {
		t.Errorf("%d bytes of pages, %v", pages.Bytes(), err)
	}
}

// An error of an exchange is an error of a sum, of a vote, and of reading a row.
func TestSharingFails(t *testing.T) {
	broken := errors.New("broken")
	c := &watched{Collective: ranks.Goroutines(1)[0]}
	d := &build.Devices{Team: ranks.NewTeam(c)}
	if err := d.TableShare().Agree(nil); err != nil {
		t.Error(err)
	}
	known := new(build.KnownError)
	if err := d.TableShare().Agree(broken); !errors.Is(err, broken) || !errors.As(err, known) || !known.First {
		t.Errorf("an error of this process: %v", err)
	}
	part := &split{Split: &load.Split{Rows: load.Rows{Data: &matrix.Part{Rows: 9, From: 2, Own: &matrix.Dense{Rows: 1, Cols: 2, Data: []float64{5, 6}}}}}}
	part.divide(d)
	row := make([]float64, 2)
	if err := part.readRow(row, 2); err != nil || row[0] != 5 || row[1] != 6 {
		t.Errorf("row 2: %v, %v", row, err)
	}
	if err := part.readRow(row, 3); err != nil || row[0] != 0 || row[1] != 0 {
		t.Errorf("row 3, which no process has: %v, %v", row, err)
	}
	c.sums = broken
	if err := d.Team.Sum(row); !errors.Is(err, broken) {
		t.Errorf("a sum: %v", err)
	}
	if err := part.readRow(row, 2); !errors.Is(err, broken) {
		t.Errorf("a row: %v", err)
	}
	if _, err := d.TableShare().Vote(true); !errors.As(err, known) {
		t.Errorf("a vote: %v", err)
	}
}

// counted counts the readings of a source.
type counted struct {
	Source
	times *atomic.Int32
}

func (c counted) Load(ctx context.Context, on Request) (*Data, error) {
	c.times.Add(1)
	return c.Source.Load(ctx, on)
}

// On a machine without a GPU, each process reads its rows once. The processes wait for each other
// in a reading, and a Cached source of process 0 does not read again.
func TestProcessesReadOnce(t *testing.T) {
	var times atomic.Int32
	o := onTable(DemographicParity{}, Table{Dataset: "synthetic-compas"}, nil)
	o.Data, o.Device.Kind = counted{o.Data, &times}, ""
	onEach(t, o, 2, func(_ ranks.Collective, a *assembly) {
		a.devices.Served = false
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	if n := times.Load(); n != 2 {
		t.Errorf("two processes read their rows %d times, want once each", n)
	}
}

// A Cached source reads its rows once, but for each session of several processes, which read rows
// together.
func TestCachedReads(t *testing.T) {
	team := &build.Devices{Team: ranks.NewTeam(ranks.Goroutines(2)[0])}
	for k, share := range []tabular.Share{nil, team.TableShare()} {
		var times atomic.Int32
		source := Cached(counted{Matrices{Train: &Matrix{Features: matrix.NewSingles(2, 1), Labels: []int{1, -1}}}, &times})
		for range 2 {
			require.Value(source.Load(t.Context(), Request{load.Request{Share: share}}))(t)
		}
		if got := int(times.Load()); got != k+1 {
			t.Errorf("%d readings for two sessions, want %d", got, k+1)
		}
	}
}
