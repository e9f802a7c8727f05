package cmd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"ppal/internal/ranks"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/trainer/session"
)

// inProcesses runs a command line in n processes, which are goroutines, and returns their outcomes.
func inProcesses(t *testing.T, n int, line string) []outcome {
	t.Helper()
	return joined(t, n, line, func(c ranks.Collective) ranks.Collective { return c })
}

// joined is inProcesses with a change of the processes' exchange.
func joined(t *testing.T, n int, line string, change func(c ranks.Collective) ranks.Collective) []outcome {
	t.Helper()
	all := make([]outcome, n)
	var group sync.WaitGroup
	for _, c := range ranks.Goroutines(n) {
		group.Go(func() {
			all[c.Rank()] = commandOn(t.Context(), func(a *app) {
				a.getenv = environment(fmt.Sprintf("OMPI_COMM_WORLD_SIZE=%d OMPI_COMM_WORLD_RANK=%d", n, c.Rank()))
				a.open = session.New
				a.join = func() (ranks.Collective, func() error, error) { return change(c), func() error { return nil }, nil }
			}, strings.Fields(line)...)
		})
	}
	group.Wait()
	return all
}

// Process 0 trains, prints and writes; the others share its rows in silence.
func TestTrainTogether(t *testing.T) {
	require.NoRace(t, "trainer/session runs the same goroutines")
	const line = "train --dataset synthetic-compas --problem dp --iterations 50 --threads 1 --dtype float64 --quiet --allow-violation --out "
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	if got := commandOn(t.Context(), func(a *app) { a.open = session.New }, strings.Fields(line+one)...); got.status != exitDone {
		t.Fatal(got)
	}
	for rank, got := range inProcesses(t, 2, line+two) {
		if got.status != exitDone || (got.stdout == "") != (rank > 0) || got.stderr != "" {
			t.Errorf("process %d: %+v", rank, got)
		}
	}
	var objectives []float64
	for _, out := range []string{one, two} {
		s := require.Value(rundir.ReadSummary(rundir.Dir(out).Summary()))(t)
		objectives = append(objectives, s.Objective)
	}
	if d := math.Abs(objectives[0] - objectives[1]); !(d < 1e-9) {
		t.Errorf("the objectives are %v", objectives)
	}
}

// Two processes choose settings by the values of one process, on validation rows and by folds.
func TestChooseTogether(t *testing.T) {
	require.NoRace(t, "trainer/session runs the same goroutines")
	line := "train --label y=true --ignore part --split-column part --dtype float64 --minimize loss --subject-to fpr<=0.4 --allow-violation --iterations 9 --threads 1 --file " +
		crowdedTable(t, false)
	for _, flags := range []string{"--regularizer-weight auto", "--choose hidden=0,3 --folds 2"} {
		var values [2][]float64
		for k := range values {
			out := filepath.Join(t.TempDir(), "run")
			for rank, got := range inProcesses(t, k+1, line+" "+flags+" --out "+out) {
				if got.status != exitDone || rank > 0 && got.stderr+got.stdout != "" {
					t.Fatalf("%s: process %d of %d: %+v", flags, rank, k+1, got)
				}
			}
			for _, c := range require.Value(readChoice(out))(t) {
				values[k] = append(values[k], c.Value, c.Spread, *c.Bounds[0].Value, float64(c.Gradients))
			}
		}
		if !slices.EqualFunc(values[0], values[1], func(a, b float64) bool { return math.Abs(a-b) < 1e-6 }) {
			t.Errorf("%s: %v by one process, %v by two", flags, values[0], values[1])
		}
	}
}

// An error of process 0 ends all processes with its status.
func TestTogetherFails(t *testing.T) {
	for line, want := range map[string]string{
		"train --file missing.csv --label y":                                      "no such file",
		"train --dataset synthetic-compas --problem dp --engine gorgonia --out x": "several processes",
	} {
		for rank, got := range inProcesses(t, 3, line) {
			if rank == 0 && (got.status != exitUsage || !strings.Contains(got.stderr, want)) || rank > 0 && got.stderr+got.stdout != "" {
				t.Errorf("%s: process %d: %+v", line, rank, got)
			}
		}
	}
}

// throwing is a process that panics at a sum.
type throwing struct {
	ranks.Collective
	left int // sums before the panic
}

func (c *throwing) Sum(x []float64) error {
	if c.left--; c.left < 0 {
		panic("a wrong index")
	}
	return c.Collective.Sum(x)
}

// A panic in one process ends all processes: while they build the run, and in an iteration.
func TestTogetherPanics(t *testing.T) {
	t.Setenv("GOTRACEBACK", "")
	const line = "train --dataset synthetic-compas --problem dp --iterations 50 --threads 1 --dtype float64 --quiet --out "
	for _, sums := range []int{0, 30} {
		for bad := range 3 {
			for rank, got := range joined(t, 3, line+filepath.Join(t.TempDir(), "run"), func(c ranks.Collective) ranks.Collective {
				if c.Rank() == bad {
					return &throwing{c, sums}
				}
				return c
			}) {
				switch {
				case rank == bad && (got.status != exitBug || !strings.Contains(got.stderr, "ppal: a bug: a wrong index")):
					t.Errorf("process %d panics after %d sums: %+v", bad, sums, got)
				case rank != bad && (got.status != exitFailed || !strings.Contains(got.stderr, fmt.Sprintf("process %d ended the run: a bug: a wrong index", bad))):
					t.Errorf("process %d panics after %d sums: process %d: %+v", bad, sums, rank, got)
				}
			}
		}
	}
}

// Processes that the MPI library does not join would each write the same files.
func TestProcessesThatAreNotJoined(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	for rank, got := range joined(t, 3, "train --dataset synthetic-compas --problem dp --iterations 5 --out "+out,
		func(ranks.Collective) ranks.Collective { return ranks.Goroutines(1)[0] }) {
		if got.status != exitUsage || (rank == 0) != strings.Contains(got.stderr, "mpirun started 3 processes, and MPI joined 1 of them") {
			t.Errorf("process %d: %+v", rank, got)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a process wrote the run")
	}
}

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
