package session

import (
	"context"
	"errors"

	"ppal/internal/ranks"
)

// severalProcesses reports whether several processes share the rows.
func (d Device) severalProcesses() bool { return d.Ranks != nil && d.Ranks.Size() > 1 }

// errProcesses refuses what only one process can do.
var errProcesses = &OptionError{Option: "device", Problem: "and --engine must be cpu and plan for a run of several processes: leave them out, or start one process"}

// Serve takes part in the run of process 0, which calls New with the same options: it computes its
// share of the rows until process 0 closes its session. If this process has no options, failed says
// why; only o.Device.Ranks counts then. Serve returns the error of New; see Reported.
func Serve(ctx context.Context, o Options, failed error) error {
	a, err := o.prepare(ctx, failed)
	if err != nil {
		return err
	}
	return errors.Join(a.devices.team.Serve(), a.Close())
}

// agree returns the assembly of this process if all processes have one. Else it closes the
// assembly. Only the first process that failed returns its own error, and process 0 returns an
// error too.
func agree(c ranks.Collective, a *assembly, err error) (*assembly, error) {
	all, first := ranks.NewTeam(c).Agree(err)
	if all == nil {
		a.devices.served = c.Rank() == 0
		return a, nil
	}
	if err == nil {
		all = errors.Join(all, a.Close())
	}
	if c.Rank() > 0 && !first {
		return nil, errQuiet{all}
	}
	return nil, all
}

// errQuiet is an error that another process reports.
type errQuiet struct{ error }

// Reported reports whether another process reports an error of Serve.
func Reported(err error) bool { return errors.As(err, new(errQuiet)) }

// processes returns the number of processes that share the rows.
func (d *devices) processes() int {
	if d.team == nil {
		return 1
	}
	return d.team.Size()
}

// everywhere returns a function that runs do in all processes that share the rows. All processes
// call everywhere in the same order.
func (d *devices) everywhere(do func(message []byte) error) ranks.Procedure {
	if d.team == nil {
		return do
	}
	return d.team.Register(do)
}

// share returns this process's range of n items.
func (d *devices) share(n int) (from, to int) {
	if d.team == nil {
		return 0, n
	}
	rank, size := d.team.Rank(), d.team.Size()
	return n * rank / size, n * (rank + 1) / size
}

// sum adds x over the processes.
func (d *devices) sum(x []float64) error {
	if d.team == nil {
		return nil
	}
	return d.team.Sum(x)
}
