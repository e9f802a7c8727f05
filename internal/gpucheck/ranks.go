package gpucheck

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"ppal/internal/rundir"
)

// ranks is the case that trains in one process for each GPU under mpirun, with the program of `make
// mpi-gpu`, whose file lies beside this program, and compares f with that of one process.
const (
	ranks      = "one process for each GPU, under mpirun"
	rankedFile = "ppal-mpi-gpu"
	rankedGap  = 1e-3 // the largest difference of f after the iterations of the first command
)

// ranked runs the case with the command.
func (c command) ranked(ctx context.Context, o Options) ([]Result, error) {
	program := filepath.Join(filepath.Dir(o.Self), rankedFile)
	mpirun, missing := exec.LookPath("mpirun")
	switch _, absent := os.Stat(program); {
	case o.Data == "":
		return []Result{Skipped(ranks, "the training files are missing")}, nil
	case absent != nil:
		return []Result{Skipped(ranks, rankedFile+" is not beside this program: make mpi-gpu")}, nil
	case missing != nil:
		return []Result{Skipped(ranks, "mpirun is not installed")}, nil
	}
	dir, err := os.MkdirTemp("", "ppal-gpu-check")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	args := []string{"-n", strconv.Itoa(max(1, o.GPUs)), program, "train", "--out", filepath.Join(dir, "run")}
	for name, value := range c.values(o) {
		args = append(args, "--"+name, value)
	}
	cmd := exec.CommandContext(ctx, mpirun, args...)
	cmd.WaitDelay = waitDelay
	cmd.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	out, failure := cmd.CombinedOutput()
	several, err := rundir.ReadSummary(rundir.Dir(filepath.Join(dir, "run")).Summary())
	if err != nil { // a bound that is not met has an exit status, too
		return []Result{{Name: ranks, Status: Failed, Detail: fmt.Sprintf("%v: %.500s", failure, out)}}, nil
	}
	one, err := c.run(ctx, o)
	if err != nil {
		return nil, err
	}
	return append(command{name: ranks}.results(several), AtMost(ranks+": difference of f", math.Abs(several.Objective-one.Objective), rankedGap, "")), nil
}
