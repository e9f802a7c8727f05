package session

import (
	"errors"
	"fmt"
	"os"

	"ppal/internal/ranks"
	"ppal/trainer/graph"
)

// SharedGPUSetting is the environment variable that allows several processes to use one GPU, if its
// value is SharedGPU. Otherwise such a run is refused, because it needs more time than one process.
const (
	SharedGPUSetting = "PPAL_SHARED_GPU"
	SharedGPU        = "yes"
)

// joinGPUs makes this process's GPUs share the rows with the GPUs of the other processes. opened is
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
	several, ok := d.gpu.(sharedGPUs)
	if opened == nil && !ok {
		opened = errors.New("session: this GPU cannot share rows with other processes")
	}
	own := 0.0
	if opened == nil {
		own = float64(1 + len(gpusOf(d.gpu)))
	}
	counts, err := d.team.Tell(own)
	if err != nil {
		return errKnown{error: err}
	}
	d.allGPUs = 0
	var owners []int // of the GPUs: the ranks
	for rank, n := range counts {
		if n == 0 {
			return errors.Join(opened, fmt.Errorf("process %d has no GPU", rank))
		}
		if rank == d.team.Rank() {
			d.firstGPU = len(owners)
		}
		for range int(n) - 1 {
			owners = append(owners, rank)
		}
	}
	d.allGPUs = len(owners)
	if err := d.checkOwners(owners); err != nil {
		return err
	}
	if err := several.Among(d.team, d.firstGPU, d.allGPUs); err != nil {
		return err
	}
	d.train = graph.On(ranks.Device(d.gpu, d.team))
	return nil
}

// checkOwners returns an error, the same in all processes, if two processes have the same GPU.
func (d *devices) checkOwners(owners []int) error {
	const numbers = 2 // of a GPU: a checksum of its identity, and its ordinal
	all := make([]float64, numbers*len(owners))
	for k, i := range gpusOf(d.gpu) {
		host, _ := os.Hostname()
		identity := fmt.Sprint(i.UUID)
		if i.UUID == "" {
			identity = fmt.Sprint(host, " ", i.Ordinal)
		}
		if os.Getenv(SharedGPUSetting) == SharedGPU {
			identity += fmt.Sprint(" ", d.team.Rank())
		}
		all[numbers*(d.firstGPU+k)], all[numbers*(d.firstGPU+k)+1] = digest([]byte(identity)), float64(i.Ordinal)
	}
	if err := d.team.Sum(all); err != nil {
		return errKnown{error: err}
	}
	seen := map[float64]int{}
	for k, owner := range owners {
		if other, twice := seen[all[numbers*k]]; twice {
			problem := fmt.Sprintf("gives the processes %d and %d the same GPU, their cuda:%.0f: start at most one process for each GPU of a machine; %s=%s allows it",
				other, owner, all[numbers*k+1], SharedGPUSetting, SharedGPU)
			if d.options.Kind == "" { // the CPU trains
				return errors.New(problem)
			}
			return &OptionError{Option: "device", Problem: problem}
		}
		seen[all[numbers*k]] = owner
	}
	return nil
}
