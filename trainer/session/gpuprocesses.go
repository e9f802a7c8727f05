package session

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"ppal/internal/ranks"
	"ppal/trainer/graph"
)

// SharedGPUSetting is the environment variable that allows several processes to use one GPU, if its
// value is SharedGPU. Otherwise such a run is refused, because it needs more time than one process.
const (
	SharedGPUSetting = "PPAL_SHARED_GPU"
	SharedGPU        = "yes"
)

// joinGPUs makes this process's GPU share the rows with the GPUs of the other processes. opened is
// the error of openGPU. If the device is automatic, all processes use their GPUs or none does.
func (d *devices) joinGPUs(opened error) (err error) {
	automatic := d.options.Kind == ""
	if d.team == nil || opened != nil && !automatic {
		return opened
	}
	defer func() {
		if err != nil && d.gpu != nil {
			err = errors.Join(err, d.gpu.Close())
			d.gpu = nil
		}
	}()
	own := 0.0
	if opened == nil {
		own = 2 // not 1, which tells a failure
	}
	opens, err := d.team.Tell(own)
	if err != nil {
		return errKnown{error: err}
	}
	if rank := slices.Index(opens, 0); rank >= 0 {
		return errors.Join(opened, fmt.Errorf("process %d has no GPU", rank))
	}
	if err := d.checkOwners(); err != nil {
		return err
	}
	d.train = graph.On(ranks.Device(d.gpu.Among(d.team), d.team))
	return nil
}

// checkOwners returns an error, the same in all processes, if two processes have the same GPU.
func (d *devices) checkOwners() error {
	const numbers = 2 // of a GPU: a checksum of its identity, and its ordinal
	all := make([]float64, numbers*d.team.Size())
	host, _ := os.Hostname()
	i, rank := d.gpu.Info(), d.team.Rank()
	identity := fmt.Sprint(i.UUID)
	if i.UUID == "" {
		identity = fmt.Sprint(host, " ", i.Ordinal)
	}
	if os.Getenv(SharedGPUSetting) == SharedGPU {
		identity += fmt.Sprint(" ", rank)
	}
	all[numbers*rank], all[numbers*rank+1] = ranks.Digest([]byte(identity)), float64(i.Ordinal)
	if err := d.team.Sum(all); err != nil {
		return errKnown{error: err}
	}
	seen := map[float64]int{}
	for owner := range d.team.Size() {
		if other, twice := seen[all[numbers*owner]]; twice {
			problem := fmt.Sprintf("gives the processes %d and %d the same GPU, their cuda:%.0f: start at most one process for each GPU of a machine; %s=%s allows it",
				other, owner, all[numbers*owner+1], SharedGPUSetting, SharedGPU)
			if d.options.Kind == "" { // the CPU trains
				return errors.New(problem)
			}
			return &OptionError{Option: "device", Problem: problem}
		}
		seen[all[numbers*owner]] = owner
	}
	return nil
}
