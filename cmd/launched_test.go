package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// environment returns the variable function of a fixed environment, "NAME=value NAME=value".
func environment(variables string) func(string) string {
	values := map[string]string{}
	for _, v := range strings.Fields(variables) {
		name, value, _ := strings.Cut(v, "=")
		values[name] = value
	}
	return func(name string) string { return values[name] }
}

// A program without MPI, and a command for one process, refuse to run in several processes, with
// one line of process 0, with status 2 and without files.
func TestStartedRepeatedly(t *testing.T) {
	const openMPI = "OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK="
	single := []string{"bench", "predict run --input new.csv", "evaluate run --input new.csv", "verify run", "export run", "report run", "reproduce suite"}
	for _, command := range append(single, "train", "compare", "sweep --over kappa=0.1,0.2", "reproduce table2") {
		out := filepath.Join(t.TempDir(), "run")
		if !slices.Contains(single, command) {
			command += " --out " + out
		}
		got := commandOn(t.Context(), func(a *app) { a.getenv = environment(openMPI + "0") }, strings.Fields(command)...)
		if got.status != exitUsage || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, "mpirun started 3 processes") {
			t.Errorf("%s: status %d, %q", command, got.status, got.stderr)
		}
		if slices.Contains(single, command) != strings.Contains(got.stderr, "this command works in one process") {
			t.Errorf("%s: another reason: %s", command, got.stderr)
		}
		if !slices.Contains(single, command) && (!strings.Contains(got.stderr, "bin/ppal-mpi (make mpi)") || !strings.Contains(got.stderr, "bin/ppal-mpi-gpu for GPUs (make mpi-gpu)")) {
			t.Errorf("%s: the line does not say how to get the other programs: %s", command, got.stderr)
		}
		if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: a directory was written", command)
		}
	}
	got := commandOn(t.Context(), func(a *app) { a.getenv = environment(openMPI + "2") }, "train")
	if got.status != exitUsage || got.stderr+got.stdout != "" {
		t.Errorf("process 2: status %d, %q %q, want status 2 without output", got.status, got.stdout, got.stderr)
	}
	if got := commandOn(t.Context(), func(a *app) { a.getenv = environment(openMPI + "0") }, "version"); got.status != exitDone {
		t.Errorf("version: status %d, %s", got.status, got.stderr)
	}
}

// Each process of a starter refuses wrong arguments, and process 0 alone says so.
func TestArgumentsOfSeveralProcesses(t *testing.T) {
	for rank, want := range []string{"unknown setting --kapa", ""} {
		variables := fmt.Sprintf("OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=%d", rank)
		got := commandOn(t.Context(), func(a *app) { a.getenv = environment(variables) }, "train", "--kapa", "2")
		if got.status != exitUsage || !strings.Contains(got.stderr, want) || (want == "") != (got.stderr == "") {
			t.Errorf("process %d: status %d, %q", rank, got.status, got.stderr)
		}
	}
}

// The variables of each starter give the number of processes and this process's number. One
// process may train. A script of sbatch runs once, and may train.
func TestStarters(t *testing.T) {
	for variables, want := range map[string]string{
		"":                                      "",
		"OMPI_COMM_WORLD_SIZE=1":                "",
		"SLURM_NTASKS=4 SLURM_PROCID=0":         "",
		"SLURM_STEP_NUM_TASKS=1 SLURM_NTASKS=4": "",
		"OMPI_COMM_WORLD_SIZE=none":             "",
		"OMPI_COMM_WORLD_SIZE=1 SLURM_STEP_NUM_TASKS=2":                                                  "",
		"OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1":                                                  "mpirun started 2 processes",
		"PMI_SIZE=4 PMI_RANK=1 SLURM_STEP_NUM_TASKS=1":                                                   "mpirun or srun started 4 processes",
		"MV2_COMM_WORLD_SIZE=5 MV2_COMM_WORLD_RANK=1":                                                    "unset MV2_COMM_WORLD_SIZE",
		"SLURM_STEP_NUM_TASKS=6 SLURM_PROCID=1":                                                          "srun started 6 processes",
		"OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1 SLURM_STEP_NUM_TASKS=7 PMI_SIZE=8 SLURM_PROCID=0": "mpirun started 2 processes",
	} {
		err := startedRepeatedly(environment(variables))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", variables, err, want)
		}
		if err != nil && err.rank != 1 {
			t.Errorf("%s: process %d, want 1", variables, err.rank)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if (&repeated{}).silent(ended) || !(&repeated{rank: 1}).silent(ended) {
		t.Error("process 0 alone writes the line")
	}
}
