package cmd

import (
	"encoding/json"
	"errors"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/disk"
	"ppal/internal/require"
	"ppal/internal/rundir"
)

// tortureVariable is the number of kills of each run in TestKilledRunsResume. `make torture` sets
// the variable.
const tortureVariable = "PPAL_TORTURE"

// killed are the runs that TestKilledRunsResume kills: every method, and the settings that keep
// state of their own.
var killed = map[string][]string{
	"ppala":           {"--method", "ppala"},
	"plada":           {"--method", "plada"},
	"gdpa":            {"--method", "gdpa"},
	"ssg":             {"--method", "ssg"},
	"ipp-ssg":         {"--method", "ipp-ssg"},
	"ipp-conex":       {"--method", "ipp-conex"},
	"penalty":         {"--method", "penalty"},
	"gda":             {"--method", "gda"},
	"alm":             {"--method", "alm"},
	"unconstrained":   {"--method", "unconstrained"},
	"adam":            {"--method", "ppala", "--primal", "adam"},
	"lbfgs":           {"--method", "alm"},
	"random output":   {"--method", "ppala", "--output", "random"},
	"best validation": {"--method", "ppala", "--select", "best-validation"},
	"decisions":       {"--method", "ppala", "--bounds-on", "decisions"},
	"confidence":      {"--method", "ppala", "--bounds-on", "decisions", "--confidence", "0.6"},
}

// killedSlowly are the runs of methods that need another problem. Their data take seconds to make,
// and only `make torture` kills them.
var killedSlowly = map[string][]string{
	"nl-iapial": {"train", "--method", "nl-iapial", "--problem", "mnpc", "--model", "linear", "--phi", "logistic", "--rows-per-class", "30"},
	"multiplier-model": {"train", "--method", "multiplier-model", "--problem", "if", "--if-form", "sampled", "--dataset", "synthetic-communities",
		"--model", "linear"},
}

// Real processes that are killed with SIGKILL at random moments, and then continue, give the
// weights, the records and the summary of a run that was not interrupted, to the bit.
func TestKilledRunsResume(t *testing.T) {
	require.NoRace(t, "it runs many processes")
	kills, err := strconv.Atoi(os.Getenv(tortureVariable))
	torture := err == nil
	if !torture {
		kills = 1
	}
	for n, name := range slices.Sorted(maps.Keys(killed)) {
		flags := killed[name]
		for k, batch := range []string{"0", "16"} {
			full := name == "lbfgs" // needs all rows in each step
			if !torture && !full && n%2 != k || full && k > 0 {
				continue // in short: each run once, half of the methods on mini-batches
			}
			t.Run(name+" batch "+batch, func(t *testing.T) {
				args := tiny(t, "", 4000, append([]string{"--record-every", "100", "--tolerance", "0", "--batch-size", batch}, flags...)...)
				killAndResume(t, kills, args[:len(args):len(args)])
			})
		}
	}
	if torture {
		for name, args := range killedSlowly {
			t.Run(name, func(t *testing.T) { killAndResume(t, kills, append(args, "--iterations", "2000")) })
		}
	}
}

// killAndResume runs the arguments once without an interruption, and once with kills.
func killAndResume(t *testing.T, kills int, args []string) {
	t.Parallel()
	dir := t.TempDir()
	whole, torn := filepath.Join(dir, "whole"), filepath.Join(dir, "torn")
	began := time.Now()
	if text, err := process(append(args, "--out", whole, "--checkpoint-every", "0")...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	length := time.Since(began)
	h := fnv.New64a()
	h.Write([]byte(t.Name()))
	rng := rand.New(rand.NewPCG(h.Sum64(), 1))
	// next returns the run, or its continuation once the run has its settings.
	next := func() *exec.Cmd {
		if _, err := os.Stat(rundir.Dir(torn).Config()); err == nil {
			return process("train", "--resume", torn, "--checkpoint-every", "1ms", "--allow-violation")
		}
		require.NoError(t, os.RemoveAll(torn))
		return process(append(args, "--out", torn, "--checkpoint-every", "1ms")...)
	}
	// end checks a finished run. The kill may have come between the summary and the removal of the
	// checkpoint; a continuation removes the checkpoint then.
	end := func() {
		t.Helper()
		if text, err := next().CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		sameRun(t, whole, torn)
	}
	resumed, runs := 0, 1
	for killed := 0; killed < kills && !t.Failed(); {
		if finished(torn) != "" {
			end()
			require.NoError(t, os.RemoveAll(torn))
			runs++
		}
		cmd := next()
		start(t, cmd)
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		awaitCheckpoint(torn, length)
		select {
		case <-done:
			if kills == 1 {
				killed++ // the run was too fast: the long drill kills the others
			}
		case <-time.After(time.Duration(rng.Float64() * float64(length/4))):
			killed++
			_ = cmd.Process.Kill()
			<-done
		}
		if _, err := rundir.ReadCheckpoint(torn); err == nil {
			resumed++
		}
	}
	end()
	t.Logf("%d kills in %d runs, %d left a checkpoint", kills, runs, resumed)
}

// awaitCheckpoint waits until the run has written a checkpoint, but for a limited time. A run that
// continues has the checkpoint of the run before.
func awaitCheckpoint(dir string, length time.Duration) {
	info := func() time.Time {
		f, err := os.Stat(filepath.Join(dir, rundir.CheckpointName))
		if err != nil {
			return time.Time{}
		}
		return f.ModTime()
	}
	first := info()
	for range int(length/time.Millisecond) + 1 {
		if now := info(); !now.IsZero() && now != first {
			return
		}
		if finished(dir) != "" {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// sameRun compares the files of two runs, except the times, the memory and the checksums of these.
func sameRun(t *testing.T, whole, torn string) {
	t.Helper()
	for _, path := range []func(d rundir.Dir) string{rundir.Dir.Model, rundir.Dir.Best, rundir.Dir.Metrics, rundir.Dir.Summary} {
		name := filepath.Base(path(rundir.Dir(whole)))
		if diff := cmp.Diff(timeless(t, path(rundir.Dir(whole))), timeless(t, path(rundir.Dir(torn)))); diff != "" {
			t.Errorf("%s differs (-whole +resumed):\n%.2000s", name, diff)
		}
	}
	if _, err := os.Stat(filepath.Join(torn, disk.LockName)); err == nil {
		t.Error("the finished run still has its lock")
	}
}

// timeless returns the contents of a file of a run without the times, the memory and the checksums:
// a list of JSON objects, or the text; nil if a run without a feasible record has no such file.
func timeless(t *testing.T, path string) any {
	t.Helper()
	data, err := os.ReadFile(path)
	if path == rundir.Dir(filepath.Dir(path)).Best() && errors.Is(err, os.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	var list []map[string]any
	for d := json.NewDecoder(strings.NewReader(string(data))); d.More(); {
		var object map[string]any
		if err := d.Decode(&object); err != nil {
			return string(data)
		}
		for key := range object {
			if strings.HasPrefix(key, "seconds") || key == "peak_bytes" || key == "checksum" || key == "files" {
				delete(object, key)
			}
		}
		list = append(list, object)
	}
	return list
}
