package cmd

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ppal/internal/require"
	"ppal/internal/rundir"
)

// processVariable makes this test program the program ppal, for tests with real processes.
const processVariable = "PPAL_TEST_PROCESS"

func TestMain(m *testing.M) {
	if os.Getenv(processVariable) != "" {
		Main()
	}
	os.Exit(m.Run())
}

// process returns the command that runs ppal in a process of its own.
func process(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), processVariable+"=1")
	return cmd
}

// start starts a program. The end of the test kills it. The program has the default action of
// SIGHUP, also if the test runs under nohup: a signal that this process catches has its default
// there.
func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
}

// exitStatus returns the exit status of a finished process, or -1 if a signal ended the process.
func exitStatus(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

// tiny writes a table of 80 rows and returns the arguments of a training on the table. An iteration
// takes some microseconds.
func tiny(t *testing.T, dir string, iterations int, more ...string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rows.csv")
	require.NoError(t, os.WriteFile(file, []byte("x,z,g,y\n"+strings.Repeat("1,3,a,0\n2,1,b,1\n3,2,a,1\n4,0,b,0\n", 20)), 0o644))
	args := []string{"train", "--file", file, "--label", "y=1", "--subject-to", "gap(positive_rate, g) <= 0.2", "--split", "60/40/0",
		"--threads", "1", "--allow-violation", "--iterations", strconv.Itoa(iterations)}
	if dir != "" {
		args = append(args, "--out", dir)
	}
	if !slices.Contains(more, "--bounds-on") {
		args = append(args, "--bounds-on", "surrogate")
	}
	return append(args, more...)
}

// endless are the arguments of a small training that a signal must stop.
func endless(t *testing.T, dir string) []string {
	return tiny(t, dir, 1_000_000_000, "--record-every", "5000", "--tolerance", "0", "--primal", "nesterov") // quasi-Newton steps come to rest
}

// records waits until the run has n lines of records.
func records(t *testing.T, dir string, n int) {
	t.Helper()
	for range 2000 {
		data, _ := os.ReadFile(rundir.Dir(dir).Metrics())
		if bytes.Count(data, []byte("\n")) >= n {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%s has no %d records after 10 s", dir, n)
}

// If the directory of an interrupted run refuses the weights, the message says that, and names the
// directory with the weights.
func TestInterruptedWithoutWeights(t *testing.T) {
	dir, cache := filepath.Join(t.TempDir(), "run"), t.TempDir()
	cmd := process(endless(t, dir)...)
	cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+cache)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	start(t, cmd)
	records(t, dir, 2)
	require.NoError(t, os.MkdirAll(filepath.Join(rundir.Dir(dir).Model(), "in the way"), 0o755))
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	if status := exitStatus(cmd.Wait()); status != exitInterrupted || !strings.Contains(stderr.String(), "the weights are in "+cache) {
		t.Errorf("status %d, want %d with %s: %s", status, exitInterrupted, cache, stderr.String())
	}
	if found, err := filepath.Glob(filepath.Join(cache, "ppal", "rescued", "*", "model.safetensors")); err != nil || len(found) != 1 {
		t.Errorf("rescued weights: %q, %v", found, err)
	}
}

// Each stop signal ends a training with the status of an interrupt, the weights and the summary.
func TestSignalsStopATraining(t *testing.T) {
	for _, stop := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		dir := filepath.Join(t.TempDir(), "run")
		cmd := process(endless(t, dir)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		start(t, cmd)
		records(t, dir, 2)
		require.NoError(t, cmd.Process.Signal(stop))
		if status := exitStatus(cmd.Wait()); status != exitInterrupted {
			t.Errorf("%v: status %d, want %d: %s", stop, status, exitInterrupted, stderr.String())
		}
		summary, err := os.ReadFile(rundir.Dir(dir).Summary())
		if err != nil || !strings.Contains(string(summary), `"status": "interrupted"`) {
			t.Errorf("%v: the summary: %v\n%.200s", stop, err, summary)
		}
		if _, err := os.Stat(rundir.Dir(dir).Model()); err != nil {
			t.Errorf("%v: no weights: %v", stop, err)
		}
	}
}

// A program that nohup starts goes on when its terminal ends.
func TestNohup(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	inner := process(endless(t, dir)...)
	cmd := exec.Command("sh", append([]string{"-c", `trap "" HUP; exec "$@"`, "sh", inner.Path}, inner.Args[1:]...)...)
	cmd.Env = inner.Env
	start(t, cmd)
	records(t, dir, 2)
	for _, stop := range []syscall.Signal{syscall.SIGHUP, syscall.SIGHUP} {
		require.NoError(t, cmd.Process.Signal(stop))
	}
	data := require.Value(os.ReadFile(rundir.Dir(dir).Metrics()))(t)
	records(t, dir, bytes.Count(data, []byte("\n"))+10)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	if status := exitStatus(cmd.Wait()); status != exitInterrupted {
		t.Errorf("status %d, want %d", status, exitInterrupted)
	}
}

// The second signal ends the program at once, without a summary.
func TestSecondSignal(t *testing.T) {
	ready, signals := make(chan int), make(chan int)
	defer close(signals)
	// The context of onSignals is cancelled by the first signal; the second calls stopNow.
	ctx := onSignals(func() { ready <- exitInterrupted; <-signals })
	self := require.Value(os.FindProcess(os.Getpid()))(t)
	for n := range 2 {
		require.NoError(t, self.Signal(syscall.SIGTERM))
		if n == 0 {
			<-ctx.Done()
		}
	}
	if status := <-ready; status != exitInterrupted {
		t.Errorf("status %d", status)
	}
}

// A training survives the end of the programs that read its log and its table.
func TestClosedPipes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	cmd := process(tiny(t, dir, 50_000)...)
	stdout := require.Value(cmd.StdoutPipe())(t)
	stderr := require.Value(cmd.StderrPipe())(t)
	start(t, cmd)
	if _, err := bufio.NewReader(stderr).ReadString('\n'); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	_, _ = stdout.Close(), stderr.Close()
	if status := exitStatus(cmd.Wait()); status != exitPipe {
		t.Errorf("status %d, want %d: the table has no reader", status, exitPipe)
	}
	if _, err := os.Stat(rundir.Dir(dir).Summary()); err != nil {
		t.Error(err)
	}
}
