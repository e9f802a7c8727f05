//go:build mpi

package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/internal/safetensors"
	"ppal/trainer/session/results"
)

// mpirun returns the command that runs ppal in n processes. `make mpi-test` sets MPIRUN.
func mpirun(t *testing.T, n int, args ...string) *exec.Cmd {
	t.Helper()
	starter := strings.Fields(os.Getenv("MPIRUN"))
	if len(starter) == 0 {
		t.Fatal("MPIRUN is not set: start the tests by `make mpi-test`")
	}
	starter = append(starter, "-n", strconv.Itoa(n), os.Args[0])
	cmd := exec.Command(starter[0], append(starter[1:], args...)...)
	cmd.Env = append(os.Environ(), processVariable+"=1")
	return cmd
}

// trainedOver trains in n processes, or without MPI for n = 0, and returns the run.
func trainedOver(t *testing.T, n int, args ...string) (results.Summary, []float64) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "run")
	args = append([]string{"train", "--quiet", "--allow-violation", "--threads", "1", "--out", out}, args...)
	cmd := process(args...)
	if n > 0 {
		cmd = mpirun(t, n, args...)
	}
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%d processes: %v: %s", n, err, text)
	}
	return finishedRun(t, out)
}

// finishedRun returns the summary and the weights of a run.
func finishedRun(t *testing.T, out string) (results.Summary, []float64) {
	t.Helper()
	s := require.Value(rundir.ReadSummary(rundir.Dir(out).Summary()))(t)
	f := require.Value(os.Open(rundir.Dir(out).Model()))(t)
	defer f.Close()
	m := require.Value(safetensors.Read(f))(t)
	var x []float64
	for _, tensor := range m.Tensors {
		x = append(x, tensor.Float64s()...)
	}
	return s, x
}

// apart returns the largest difference of two vectors, in units of 1 + |number|.
func apart(a, b []float64) (worst float64) {
	if len(a) != len(b) || len(a) == 0 {
		return math.Inf(1)
	}
	for i, v := range a {
		worst = max(worst, math.Abs(v-b[i])/(1+math.Abs(v)))
	}
	return worst
}

// parityOn are the arguments of a training with demographic parity on real data, else on built-in
// data.
func parityOn(more ...string) []string {
	dataset := "adult"
	if os.Getenv("PPAL_DATA") == "" {
		dataset = "synthetic-adult"
	}
	return append([]string{"--dataset", dataset, "--problem", "dp"}, more...)
}

var fixedSteps = []string{"--primal", "gradient", "--eta", "0.5", "--eta-scale", "fixed", "--dtype", "float64"}

// Three processes train as one does: 200 iterations with fixed steps to 1e-12, and with automatic
// steps to a few digits. A second run has the same bits.
func TestMPITrain(t *testing.T) {
	args := parityOn(append(fixedSteps, "--iterations", "200")...)
	one, x := trainedOver(t, 0, args...)
	three, y := trainedOver(t, 3, args...)
	if d := max(apart(x, y), apart([]float64{one.Objective}, []float64{three.Objective}), apart(one.Constraints, three.Constraints)); !(d <= 1e-12) {
		t.Errorf("three processes differ from one by %g, want at most 1e-12", d)
	}
	if _, again := trainedOver(t, 3, args...); !slices.Equal(y, again) {
		t.Error("a second run has other bits")
	}
	args = parityOn("--iterations", "300")
	one, _ = trainedOver(t, 0, args...)
	two, _ := trainedOver(t, 2, args...)
	if d := apart([]float64{one.Objective}, []float64{two.Objective}); !(d <= 1e-3) || !(two.Certificate.Epsilon <= 1e-2) {
		t.Errorf("automatic steps: two processes differ from one by %g, epsilon %g", d, two.Certificate.Epsilon)
	}
}

// Three processes, each with its own rows of a LIBSVM file, train as one does.
func TestMPIEntries(t *testing.T) {
	file := filepath.Join(os.Getenv("PPAL_DATA"), "adult", "a9a")
	if os.Getenv("PPAL_DATA") == "" {
		var text strings.Builder
		for i := range 1000 {
			fmt.Fprintf(&text, "%+d %d:1 %d:1 %d:1\n", 2*(i*i%7%2)-1, 1+i%5, 6+i%11, 17+i%13)
		}
		file = filepath.Join(t.TempDir(), "entries")
		require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o644))
	}
	args := append([]string{"--dataset", "libsvm", "--file", file, "--group", "3", "--problem", "dp", "--iterations", "100"}, fixedSteps...)
	one, x := trainedOver(t, 0, args...)
	three, y := trainedOver(t, 3, args...)
	if d := max(apart(x, y), apart([]float64{one.Objective}, []float64{three.Objective}), apart(one.Constraints, three.Constraints)); !(d <= 1e-12) {
		t.Errorf("three processes differ from one by %g, want at most 1e-12", d)
	}
}

// A killed process ends all processes within 30 seconds, and mpirun names it. The run continues
// with another number of processes, and ends as a run without an interruption.
func TestMPIKilled(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	args := parityOn(append(fixedSteps, "--iterations", "6000", "--tolerance", "0", "--record-every", "100")...)
	train := append([]string{"train", "--quiet", "--allow-violation", "--checkpoint-every", "100ms", "--out", out}, args...)
	cmd := mpirun(t, 3, train...)
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	start(t, cmd)
	for range 1000 {
		if _, err := os.Stat(filepath.Join(out, "checkpoint")); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	require.NoError(t, syscall.Kill(processOf(t, out, 1), syscall.SIGKILL))
	killed := time.Now()
	err := cmd.Wait()
	if took := time.Since(killed); took > 30*time.Second || err == nil || !strings.Contains(text.String(), "rank 1") {
		t.Errorf("the end took %v: %v: %s", took, err, text.String())
	}
	resume := []string{"train", "--quiet", "--allow-violation", "--resume", out}
	if text, err := mpirun(t, 2, resume...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	_, x := finishedRun(t, out)
	if _, want := trainedOver(t, 0, args...); !(apart(want, x) <= 1e-9) {
		t.Errorf("the run that continued differs by %g", apart(want, x))
	}
}

// Two processes extend a finished run to the bits of an uninterrupted run.
func TestMPIExtend(t *testing.T) {
	args := parityOn(append(fixedSteps, "--tolerance", "0", "--record-every", "10")...)
	out := filepath.Join(t.TempDir(), "run")
	train := append([]string{"train", "--quiet", "--allow-violation", "--threads", "1", "--iterations", "43", "--out", out}, args...)
	for _, args := range [][]string{train, {"train", "--quiet", "--allow-violation", "--resume", out, "--iterations", "80"}} {
		if text, err := mpirun(t, 2, args...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", args, err, text)
		}
	}
	s, x := finishedRun(t, out)
	if _, want := trainedOver(t, 2, append(args, "--iterations", "80")...); s.Iterations != 80 || !slices.Equal(x, want) {
		t.Errorf("%d iterations; the extended run differs by %g", s.Iterations, apart(want, x))
	}
}

// processOf returns the number of the system's process with a rank whose arguments have a text.
func processOf(t *testing.T, text string, rank int) int {
	t.Helper()
	all := require.Value(filepath.Glob("/proc/[0-9]*/cmdline"))(t)
	for _, path := range all {
		arguments, _ := os.ReadFile(path)
		environment, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "environ"))
		for _, name := range []string{"OMPI_COMM_WORLD_RANK", "PMI_RANK"} {
			if bytes.Contains(arguments, []byte(text)) && slices.Contains(strings.Split(string(environment), "\x00"), fmt.Sprintf("%s=%d", name, rank)) {
				n, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
				return n
			}
		}
	}
	t.Fatalf("no process of rank %d", rank)
	return 0
}

// Process 0 alone reports, in one line: wrong arguments, a directory in use, and a run whose
// weights cannot be written, which it keeps elsewhere.
func TestMPIReports(t *testing.T) {
	used := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(used, "file"), nil, 0o644))
	for _, c := range []struct{ args, want string }{
		{"train --kapa 2", "unknown setting --kapa"},
		{"train --out " + used, "not empty"},
		{"train --batch-size 100 --engine gorgonia", "several processes"},
		{"bench", "this command works in one process"},
	} {
		text, err := mpirun(t, 2, strings.Fields(c.args)...).CombinedOutput()
		if err == nil || strings.Count(string(text), "ppal: ") != 1 || !strings.Contains(string(text), c.want) {
			t.Errorf("%s: %v: %s", c.args, err, text)
		}
	}
	out, cache := filepath.Join(t.TempDir(), "run"), t.TempDir()
	cmd := mpirun(t, 2, append([]string{"train", "--quiet", "--iterations", "3000", "--tolerance", "0", "--out", out}, parityOn(fixedSteps...)...)...)
	cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+cache)
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	start(t, cmd)
	records(t, out, 2)
	require.NoError(t, os.MkdirAll(filepath.Join(rundir.Dir(out).Model(), "in the way"), 0o755))
	if err := cmd.Wait(); err == nil || strings.Count(text.String(), "the weights are in "+cache) != 1 {
		t.Errorf("%v: %s", err, text.String())
	}
}

// A comparison and a sweep run over processes.
func TestMPICompare(t *testing.T) {
	out := t.TempDir()
	for name, args := range map[string]string{
		"compare": "--problem dp --methods ppala,gdpa --seeds 1",
		"sweep":   "--over gap(positive_rate,sex) --values 0.2,0.1",
	} {
		args := append([]string{name, "--dataset", "synthetic-adult", "--iterations", "30", "--out", filepath.Join(out, name)}, strings.Fields(args)...)
		text, err := mpirun(t, 2, args...).CombinedOutput()
		if status := exitStatus(err); status != exitDone && status != exitUnmet || !strings.Contains(string(text), "report.html") {
			t.Errorf("%s: %v: %s", name, err, text)
		}
	}
}

// An experiment runs over processes, with the records of one process up to rounding, and goes on
// after an interruption. A run of it is short, but it has about 80.
func TestMPIReproduce(t *testing.T) {
	data := os.Getenv("PPAL_DATA")
	if data == "" {
		t.Skip("PPAL_DATA is not set")
	}
	// reproduce runs the experiment until some runs are done, and returns the records of these runs at
	// an early iteration.
	type record struct {
		Iteration   int
		Objective   float64
		Constraints []float64
	}
	reproduce := func(n, done int, out string) map[string]record {
		t.Helper()
		args := []string{"reproduce", "dp-compas", "--seeds", "1", "--data-dir", data, "--out", out}
		cmd := process(append(args, "--parallel", "1")...)
		if n > 0 {
			cmd = mpirun(t, n, args...)
		}
		var text bytes.Buffer
		cmd.Stdout, cmd.Stderr = &text, &text
		start(t, cmd)
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		var finished []string
		for limit := time.After(2 * time.Minute); len(finished) < done; {
			select {
			case err := <-ended:
				t.Fatalf("ended with %d runs done, %v: %s", len(finished), err, text.String())
			case <-limit:
				t.Fatalf("%d runs done", len(finished))
			case <-time.After(20 * time.Millisecond):
			}
			var err error
			if finished, err = filepath.Glob(filepath.Join(out, "published", "runs", "*.done")); err != nil {
				t.Fatal(err)
			}
		}
		require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
		<-ended // with the status of an interruption
		found := map[string]record{}
		for _, file := range finished {
			lines := require.Value(os.ReadFile(strings.TrimSuffix(file, ".done") + ".jsonl"))(t)
			for line := range bytes.Lines(lines) {
				var r record
				require.NoError(t, json.Unmarshal(line, &r))
				if r.Iteration <= 90 {
					found[filepath.Base(file)] = r
				}
			}
		}
		return found
	}
	out := t.TempDir()
	reproduce(2, 1, out)
	over, alone := reproduce(2, 2, out), reproduce(0, 2, t.TempDir())
	same := 0
	for name, want := range alone {
		got, ok := over[name]
		if !ok {
			continue
		}
		same++
		if got.Iteration != want.Iteration || math.Abs(got.Objective-want.Objective) > 1e-5 || apart(got.Constraints, want.Constraints) > 1e-5 {
			t.Errorf("%s: %v %v %v by two processes, want %v %v %v", name, got.Iteration, got.Objective, got.Constraints, want.Iteration,
				want.Objective, want.Constraints)
		}
	}
	if same < 2 {
		t.Errorf("%d runs of both: %v, %v", same, over, alone)
	}
}
