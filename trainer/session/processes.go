package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"ppal/internal/cpu/kernel"
	"ppal/internal/ranks"
	"ppal/internal/recordio"
	"ppal/trainer/session/internal/build"
)

// Processes joins the processes of a run, for example by MPI. The processes have the ranks 0, 1,
// ..., Size() - 1. All processes call Sum, SumFloat32, Broadcast and Barrier in the same order.
// Each of these calls waits until all processes make the call. After an error, the run cannot
// continue.
type Processes interface {
	// Rank returns the number of this process, from 0.
	Rank() int
	// Size returns the number of processes.
	Size() int
	// Sum replaces x by the sum of the x of all processes, which have the same length. Each element
	// is ((x_0 + x_1) + x_2) + ..., in the order of the ranks, so all processes get the same bits.
	Sum(x []float64) error
	// SumFloat32 is Sum for float32: it adds in float64 and rounds each sum once.
	SumFloat32(x []float32) error
	// Broadcast replaces the message by the message of rank 0, which has the same length.
	Broadcast(message []byte) error
	// Barrier waits until all processes call Barrier.
	Barrier() error
	// Abort ends the run of all processes, with the reason. Calls that wait return an error, or the
	// processes end. Only the first call counts.
	Abort(reason error)
}

var _ Processes = ranks.Collective(nil)

// severalProcesses reports whether several processes share the rows.
func (d Device) severalProcesses() bool { return d.Ranks != nil && d.Ranks.Size() > 1 }

// Serve takes part in the run of process 0, which calls New with the same options: it computes its
// share of the rows until process 0 closes its session. If this process has no options, failed says
// why; only o.Device.Ranks counts then. Serve returns the error of New; see Reported.
func Serve(ctx context.Context, o Options, failed error) error {
	a, err := o.prepare(ctx, failed)
	if err != nil {
		return err
	}
	err = a.devices.Team.Serve()
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
	a.devices.Served = c.Rank() == 0
	return a, nil
}

// checkShared refuses a table that only one process can read: standard input or another pipe.
func checkShared(data Source) error {
	t, _ := readFrom(data).(Table) // other sources have no paths
	for _, path := range t.OwnFiles() {
		info, err := os.Stat(path) // fails for no path
		if path == recordio.StandardInput || err == nil && !info.Mode().IsRegular() && !info.IsDir() {
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
	if known := new(build.KnownError); errors.As(err, known) { // the processes agreed while they read the rows
		all, first = err, known.First
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
	level, err := o.Device.resolved().Level()
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
	if err := a.devices.Team.Broadcast(ranks.Bytes(leader)); err != nil {
		return err
	}
	switch rank := a.devices.Team.Rank(); {
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
