//go:build mpi

package cmd

import (
	"os/signal"

	"ppal/internal/ranks"
)

// joinProcesses starts MPI. Signals that stop the program are for process 0, which stops the
// others.
func joinProcesses() (ranks.Collective, func() error, error) {
	c, end, err := ranks.MPI()
	if err == nil && c.Rank() > 0 {
		signal.Ignore(stopSignals()...)
	}
	return c, end, err
}
