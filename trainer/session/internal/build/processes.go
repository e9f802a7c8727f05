package build

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"ppal/datasets/tabular"
	"ppal/internal/cpu"
	"ppal/internal/plan"
	"ppal/internal/ranks"
	"ppal/trainer/graph"
)

// sharedGPUSetting is the environment variable that allows several processes to use one GPU, with
// the value sharedGPU. The default is an error, because such a run takes more time than one
// process.
const (
	sharedGPUSetting = "PPAL_SHARED_GPU"
	sharedGPU        = "yes"
)

// joinGPUs makes the GPU of this process share the rows with the GPUs of the other processes.
// opened is the error of openGPU. With an automatic device, all processes use their GPUs, or no
// process does.
func (d *Devices) joinGPUs(opened error) (err error) {
	automatic := d.Options.Kind == ""
	if d.Team == nil || opened != nil && !automatic {
		return opened
	}
	defer func() {
		if err != nil && d.GPU != nil {
			err = errors.Join(err, d.GPU.Close())
			d.GPU = nil
		}
	}()
	own := 0.0
	if opened == nil {
		own = 2 // not 1, which means a failure
	}
	opens, err := d.Team.Tell(own)
	if err != nil {
		return KnownError{error: err}
	}
	if rank := slices.Index(opens, 0); rank >= 0 {
		return errors.Join(opened, fmt.Errorf("process %d has no GPU", rank))
	}
	if err := d.checkOwners(); err != nil {
		return err
	}
	d.Train = graph.On(ranks.Device(d.GPU.Among(d.Team), d.Team))
	return nil
}

// checkOwners returns an error if two processes use the same GPU. All processes return the same
// error.
func (d *Devices) checkOwners() error {
	const numbers = 2 // of a GPU: a checksum of its identity, and its ordinal
	all := make([]float64, numbers*d.Team.Size())
	host, _ := os.Hostname()
	i, rank := d.GPU.Info(), d.Team.Rank()
	identity := fmt.Sprint(i.UUID)
	if i.UUID == "" {
		identity = fmt.Sprint(host, " ", i.Ordinal)
	}
	if os.Getenv(sharedGPUSetting) == sharedGPU {
		identity += fmt.Sprint(" ", rank)
	}
	all[numbers*rank], all[numbers*rank+1] = ranks.Digest([]byte(identity)), float64(i.Ordinal)
	if err := d.Team.Sum(all); err != nil {
		return KnownError{error: err}
	}
	seen := map[float64]int{}
	for owner := range d.Team.Size() {
		if other, twice := seen[all[numbers*owner]]; twice {
			problem := fmt.Sprintf("gives the processes %d and %d the same GPU, their cuda:%.0f: start at most one process for each GPU of a machine; %s=%s allows several",
				other, owner, all[numbers*owner+1], sharedGPUSetting, sharedGPU)
			if d.Options.Kind == "" { // the CPU trains
				return errors.New(problem)
			}
			return d.Options.Refuse("device", problem)
		}
		seen[all[numbers*owner]] = owner
	}
	return nil
}

// Share returns the range of n rows that this process computes.
func (d *Devices) Share(n int) (from, to int) {
	switch {
	case d.Team == nil:
		return 0, n
	case d.GPU != nil:
		return plan.PartOf(n, d.Team.Rank(), d.Team.Size())
	}
	return cpu.OwnRows(n, d.Team.Rank(), d.Team.Size())
}

// TableShare returns the division of a table's rows among the processes; nil: this process has all
// rows.
func (d *Devices) TableShare() tabular.Share {
	if d.Team == nil {
		return nil
	}
	return tableShare{d}
}

// tableShare makes the processes of a team share the rows of a table.
type tableShare struct{ d *Devices }

var _ tabular.Share = tableShare{}

// Rank implements tabular.Share.
func (s tableShare) Rank() int { return s.d.Team.Rank() }

// Size implements tabular.Share.
func (s tableShare) Size() int { return s.d.Team.Size() }

// Sum implements tabular.Share.
func (s tableShare) Sum(x []float64) error { return s.d.Team.Sum(x) }

// Rows implements tabular.Share.
func (s tableShare) Rows(n int) (from, to int) { return s.d.Share(n) }

// Agree implements tabular.Share.
func (s tableShare) Agree(err error) error {
	all, first := s.d.Team.Agree(err)
	if all == nil {
		return nil
	}
	return KnownError{all, first}
}

// Vote implements tabular.Share.
func (s tableShare) Vote(own bool) (bool, error) {
	any, err := s.d.Team.Vote(own)
	if err != nil {
		err = KnownError{error: err}
	}
	return any, err
}

// KnownError is an error that all processes know: see ranks.Team.Agree. First is true in the
// first process that failed, which reports the error.
type KnownError struct {
	error
	First bool
}

func (e KnownError) Unwrap() error { return e.error }
