package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

// starters are the programs that start the same command in several processes, with the environment
// variables that hold the number of processes and the number of this process. The first variable
// that is set decides: inside Slurm, mpirun starts its helpers by srun, so srun's variable counts
// the helpers. SLURM_STEP_NUM_TASKS is set inside srun only. SLURM_NTASKS is set in a script of
// sbatch too, which runs once.
var starters = []struct{ program, size, rank string }{
	{"mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"}, // Open MPI
	{"mpirun", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"},   // MVAPICH
	{"mpirun or srun", "PMI_SIZE", "PMI_RANK"},                 // MPICH, Intel MPI, srun --mpi=pmi2
	{"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
}

// repeatedWait is the time that the other processes leave to process 0 for its line. mpirun ends
// all processes when the first process fails.
const repeatedWait = time.Second

// repeated is the error of a program that a starter runs in several processes.
type repeated struct {
	program, size string // the starter, and its variable with the number of processes
	processes     int
	rank          int // of this process
}

func (e *repeated) Error() string {
	return fmt.Sprintf("%s started %d processes, and ppal trains in one process: each process would repeat the whole run; start ppal "+
		"without %[1]s, or with -n 1; for %[2]d separate runs, each with its own --out, unset %[3]s", e.program, e.processes, e.size)
}

// startedRepeatedly returns a *repeated if a starter runs this command in several processes.
func startedRepeatedly(getenv func(string) string) error {
	for _, s := range starters {
		n, err := strconv.Atoi(getenv(s.size))
		if err != nil || n < 1 {
			continue
		}
		if n == 1 {
			return nil
		}
		rank, _ := strconv.Atoi(getenv(s.rank)) // without a number, each process writes the line
		return &repeated{s.program, s.size, n, rank}
	}
	return nil
}

// silent reports whether process 0 writes the error in place of this process. silent waits, so that
// the end of this process does not end process 0 before its line.
func (e *repeated) silent(ctx context.Context) bool {
	if e.rank == 0 {
		return false
	}
	select {
	case <-ctx.Done():
	case <-time.After(repeatedWait):
	}
	return true
}

// once wraps the work of a command that trains. once refuses to start if the same command runs in
// several processes, which would train the same model and write the same files.
func (a *app) once(do func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return a.command(func(cmd *cobra.Command, args []string) error {
		if err := startedRepeatedly(a.getenv); err != nil {
			return usage{err}
		}
		return do(cmd, args)
	})
}
