//go:build mpi && gpu

package cmd

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ppal/internal/cuda/double"
	"ppal/internal/require"
)

// stubLibrary is a driver without a GPU.
var stubLibrary string

// Processes with GPUs, on a driver without a GPU.
func TestMPIGPU(t *testing.T) {
	var err error
	if stubLibrary, err = double.Library(); err != nil {
		t.Fatal(err)
	}
	t.Run("train", trainOnGPUs)
	t.Run("fail", failOnGPUs)
	t.Run("share", shareGPU)
}

// onStub returns the command that trains in n processes with the stub's GPUs. set are environment
// variables of all processes, and failing are variables of process 1.
func onStub(t *testing.T, n int, set, failing []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := mpirun(t, n, append([]string{"train", "--device", "cuda", "--quiet", "--allow-violation", "--threads", "1"}, args...)...)
	if failing != nil {
		script := `if [ "$OMPI_COMM_WORLD_RANK$PMI_RANK" = 1 ]; then export ` + strings.Join(failing, " ") + `; fi; exec "$@"`
		at := slices.Index(cmd.Args, os.Args[0])
		cmd.Args = slices.Insert(cmd.Args, at, "sh", "-c", script, "sh")
	}
	cmd.Env = append(append(cmd.Env, "PPAL_CUDA_DRIVER="+stubLibrary, "PPAL_CUBLAS="+stubLibrary, "PPAL_STUB_DEVICES=3", "PPAL_STUB_NAME=Stub",
		"TMPDIR="+t.TempDir()), set...)
	return cmd
}

// runOnStub trains in n processes with the stub's GPUs, and returns the device and the weights.
func runOnStub(t *testing.T, n int, set []string, args ...string) (device string, x []float64) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "run")
	if text, err := onStub(t, n, set, nil, append(args, "--out", out)...).CombinedOutput(); err != nil {
		t.Fatalf("%q: %v: %s", set, err, text)
	}
	s, x := finishedRun(t, out)
	return s.Device, x
}

var onStandIn = append([]string{"--dataset", "synthetic-compas", "--problem", "dp", "--iterations", "30"}, fixedSteps...)

// Processes with one GPU each train as one process on the CPU does, to rounding.
func trainOnGPUs(t *testing.T) {
	_, want := trainedOver(t, 0, append([]string{"--device", "cpu"}, onStandIn...)...)
	device, x := runOnStub(t, 3, nil, onStandIn...)
	if !strings.HasPrefix(device, "cuda:0, Stub") || !strings.Contains(device, ", 3 processes with 3 GPUs") {
		t.Errorf("the device is %s", device)
	}
	if d := apart(x, want); !(d <= 1e-12) {
		t.Errorf("GPUs differ from the CPU by %g", d)
	}
}

// A GPU that fails in one process, and a killed process, end all processes, and are named.
func failOnGPUs(t *testing.T) {
	endless := append([]string{"--dataset", "synthetic-compas", "--problem", "dp", "--iterations", "1000000", "--tolerance", "0", "--record-every", "10"}, fixedSteps...)
	text, err := onStub(t, 3, nil, []string{"PPAL_STUB_FAIL=cuStreamSynchronize=700", "PPAL_STUB_AFTER=100"},
		append(endless, "--out", filepath.Join(t.TempDir(), "run"))...).CombinedOutput()
	if got := string(text); err == nil || strings.Count(got, "ppal: ") != 1 || !strings.Contains(got, "ppal: process 1 of 3 ends the run: ") ||
		!strings.Contains(got, "cuda:1: ") || !strings.Contains(got, "CUDA_ERROR_ILLEGAL_ADDRESS") {
		t.Errorf("%v: %s", err, got)
	}
	out := filepath.Join(t.TempDir(), "run")
	cmd := onStub(t, 3, nil, nil, append(endless, "--out", out)...)
	var killed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &killed, &killed
	start(t, cmd)
	records(t, out, 2)
	require.NoError(t, syscall.Kill(processOf(t, out, 1), syscall.SIGKILL))
	if err := cmd.Wait(); err == nil || !strings.Contains(killed.String(), "rank 1") {
		t.Errorf("a killed process: %v: %s", err, killed.String())
	}
}

// Two processes with one GPU are refused in one line, unless the user allows it.
func shareGPU(t *testing.T) {
	args := append(onStandIn, "--out", filepath.Join(t.TempDir(), "run"))
	two := []string{"PPAL_STUB_DEVICES=2"}
	text, err := onStub(t, 3, two, nil, args...).CombinedOutput()
	if got := string(text); err == nil || strings.Count(got, "ppal: ") != 1 ||
		!strings.Contains(got, "ppal: --device gives the processes 0 and 2 the same GPU, their cuda:0: start at most one process for each GPU of a machine") {
		t.Errorf("%v: %s", err, got)
	}
	if text, err := onStub(t, 3, append(two, "PPAL_SHARED_GPU=yes"), nil, args...).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, text)
	}
}
