package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/inputfile"
	"ppal/internal/plan"
	"ppal/internal/ranks"
)

// severalProcesses reports whether several processes share the rows.
func (d Device) severalProcesses() bool { return d.Ranks != nil && d.Ranks.Size() > 1 }

// errProcesses refuses what only one process can do.
var errProcesses = &OptionError{Option: "engine", Problem: "must be plan for a run of several processes: leave it out, or start one process"}

// Serve takes part in the run of process 0, which calls New with the same options: it computes its
// share of the rows until process 0 closes its session. If this process has no options, failed says
// why; only o.Device.Ranks counts then. Serve returns the error of New; see Reported.
func Serve(ctx context.Context, o Options, failed error) error {
	a, err := o.prepare(ctx, failed)
	if err != nil {
		return err
	}
	err = a.devices.team.Serve()
	return errors.Join(err, a.changed, a.Close())
}

// prepareShared is prepare for several processes.
func (o Options) prepareShared(ctx context.Context, err error) (a *assembly, _ error) {
	c := o.Device.Ranks
	place, neighbours, failed := ranks.Neighbours(c)
	if failed != nil {
		return nil, failed
	}
	o.Device.place, o.Device.neighbours = place, neighbours
	if err == nil {
		o, err = o.withDefaults()
	}
	if _, err = agree(c, nil, err); err != nil {
		return nil, err
	}
	if _, err = agree(c, nil, o.sameProgram()); err != nil {
		return nil, err
	}
	if err = checkShared(o.Data); err == nil {
		a, err = assemble(ctx, o)
	}
	if a, err = agree(c, a, err); err != nil {
		return nil, err
	}
	if a, err = agree(c, a, a.sameAsLeader()); err != nil {
		return nil, err
	}
	if a, err = agree(c, a, a.setScales()); err != nil {
		return nil, err
	}
	a.devices.served = c.Rank() == 0
	return a, nil
}

// checkShared refuses a table that only one process can read: standard input or another pipe.
func checkShared(data Source) error {
	t, _ := data.(Table) // other sources have no paths
	for _, path := range t.OwnFiles() {
		info, err := os.Stat(path) // fails for no path
		if path == inputfile.StandardInput || err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return &OptionError{Option: "file", Problem: "is a pipe, which only one process can read: write the table to a file, because this run has several processes"}
		}
	}
	return nil
}

// agree returns the assembly of this process if no process has an error. Else it closes the
// assembly, if there is one. Only the first process that failed returns its own error, and process
// 0 returns an error too.
func agree(c ranks.Collective, a *assembly, err error) (*assembly, error) {
	var all error
	var first bool
	if known := new(errKnown); errors.As(err, known) { // the processes agreed while they read the rows
		all, first = err, known.first
	} else {
		all, first = ranks.NewTeam(c).Agree(err)
	}
	if all == nil {
		return a, nil
	}
	if a != nil {
		all = errors.Join(all, a.Close())
	}
	if c.Rank() > 0 && !first {
		return nil, errQuiet{all}
	}
	return nil, all
}

// sameProgram returns an error if this process is of another version than process 0, or if only one
// of the two has vector kernels. The blocks of the sums over the rows would then differ. AVX2 and
// AVX-512 have the same blocks.
func (o Options) sameProgram() error {
	level, err := o.Device.level()
	portable := 0.0
	if level == kernel.Go {
		portable = 1
	}
	own := []float64{ranks.Digest([]byte(o.Files.Version)), portable}
	leader := slices.Clone(own)
	if failed := o.Device.Ranks.Broadcast(ranks.Bytes(leader)); failed != nil {
		return failed
	}
	switch rank := o.Device.Ranks.Rank(); {
	case err != nil:
		return err
	case own[0] != leader[0]:
		return fmt.Errorf("session: process %d runs version %s of ppal and process 0 another one: start the same program on all machines", rank, o.Files.Version)
	case own[1] != leader[1]:
		return &OptionError{Option: "simd", Problem: fmt.Sprintf("gives %v kernels in process %d and others in process 0, and their sums differ: give --simd go to all", level, rank)}
	}
	return nil
}

// sameAsLeader returns an error if this process has other rows than process 0, or other products.
// The sums over the rows would then be wrong.
func (a *assembly) sameAsLeader() error {
	own := []float64{a.data.Fingerprint(), ranks.Digest([]byte(a.products))}
	leader := slices.Clone(own)
	if err := a.devices.team.Broadcast(ranks.Bytes(leader)); err != nil {
		return err
	}
	switch rank := a.devices.team.Rank(); {
	case own[0] != leader[0]:
		return fmt.Errorf("session: process %d reads other rows of %s than process 0: give all processes the same files", rank, a.data.Name())
	case own[1] != leader[1]:
		return &OptionError{Option: "products", Problem: fmt.Sprintf("are %s in process %d but differ in process 0: choose the same --products for all machines, such as float32", a.products, rank)}
	}
	return nil
}

// errQuiet is an error that another process reports.
type errQuiet struct{ error }

// Reported reports whether another process reports an error of Serve.
func Reported(err error) bool { return errors.As(err, new(errQuiet)) }

// divide sets the split's fetch if other processes have the features of some rows.
func (s *split) divide(d *devices) {
	part, ok := s.Data.(interface {
		matrix.Matrix
		Has(i int) bool
	})
	if !ok {
		return
	}
	s.fetch = d.team.Register(func(message []byte) error {
		i := int(ranks.Numbers[float64](message)[0])
		if d.team.Rank() > 0 {
			s.room = make([]float64, s.Features())
		}
		if clear(s.room); part.Has(i) {
			part.Float64(s.room, i, i+1)
		}
		return d.team.Sum(s.room)
	})
}

// readRow writes the features of row i.
func (s *split) readRow(features []float64, i int) error {
	if s.fetch == nil {
		s.Data.Float64(features, i, i+1)
		return nil
	}
	s.room = features
	return s.fetch(ranks.Bytes([]float64{float64(i)}))
}

// share returns this process's range of n rows: the rows that the training device takes.
func (d *devices) share(n int) (from, to int) {
	switch {
	case d.team == nil:
		return 0, n
	case d.gpu != nil:
		return plan.PartOf(n, d.team.Rank(), d.team.Size())
	}
	return cpu.OwnRows(n, d.team.Rank(), d.team.Size())
}

// tableShare makes the processes of a team share the rows of a table.
type tableShare struct{ d *devices }

var _ tabular.Share = tableShare{}

// Rank implements tabular.Share.
func (s tableShare) Rank() int { return s.d.team.Rank() }

// Size implements tabular.Share.
func (s tableShare) Size() int { return s.d.team.Size() }

// Sum implements tabular.Share.
func (s tableShare) Sum(x []float64) error { return s.d.team.Sum(x) }

// Rows implements tabular.Share.
func (s tableShare) Rows(n int) (from, to int) { return s.d.share(n) }

// Agree implements tabular.Share.
func (s tableShare) Agree(err error) error {
	all, first := s.d.team.Agree(err)
	if all == nil {
		return nil
	}
	return errKnown{all, first}
}

// Vote implements tabular.Share.
func (s tableShare) Vote(own bool) (bool, error) {
	any, err := s.d.team.Vote(own)
	if err != nil {
		err = errKnown{error: err}
	}
	return any, err
}

// errKnown is an error that all processes know: see ranks.Team.Agree.
type errKnown struct {
	error
	first bool
}

func (e errKnown) Unwrap() error { return e.error }
