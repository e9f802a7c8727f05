//go:build unix

package cmd

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ppal/internal/datatest"
	"ppal/internal/require"
)

// Every command that reads a run refuses a damaged file, a pipe, a device and a file that is too
// large in one line that names the file, and does not wait.
func TestSealedRun(t *testing.T) {
	run := membersRun(t)
	table := filepath.Join(t.TempDir(), "members.csv")
	require.NoError(t, os.WriteFile(table, []byte(members(60)), 0o644))
	predict, evaluate := []string{"predict", run, "--input", table}, []string{"evaluate", run, "--input", table}
	export, report := []string{"export", run, "--onnx", "-"}, []string{"report", run}
	best := func(command []string) []string {
		return append(command[:len(command):len(command)], "--weights", "best")
	}
	verify, files := []string{"verify", run}, []string{"verify", "--files", run}
	for _, args := range [][]string{predict, evaluate, export, best(predict), best(evaluate), best(export), report, verify, files} {
		if got := with("", args...); got.status != exitDone || strings.Contains(got.stderr, "note") {
			t.Fatalf("%q: %+v", args, got)
		}
	}
	for name, readers := range map[string][][]string{
		"model.json":        {predict, evaluate, export, best(predict), best(evaluate), best(export), report, verify, files},
		"model.safetensors": {predict, evaluate, export, report, verify, files},
		"best.safetensors":  {best(predict), best(evaluate), best(export), verify, files},
		"preparation.yaml":  {predict, evaluate, export, best(predict), report, verify, files},
		"summary.json":      {best(predict), report, verify, files},
		"metrics.jsonl":     {report, verify, files},
		"config.yaml":       {report, verify, files},
		"details.json":      {report, verify, files},
		"rows.csv":          {verify, files},
	} {
		path := filepath.Join(run, name)
		whole := require.Value(os.ReadFile(path))(t)
		put := func(data []byte) error { return os.WriteFile(path, data, 0o644) }
		for kind, damage := range map[string]func() error{
			"cut":     func() error { return put(whole[:len(whole)-2]) },
			"changed": func() error { return put(bytes.Replace(whole, whole[len(whole)/2:][:1], []byte("\x00"), 1)) },
			"pipe":    func() error { return unix.Mkfifo(path, 0o600) },
			"device":  func() error { return os.Symlink("/dev/zero", path) },
			"too large": func() error {
				return cmp.Or(put(nil), os.Truncate(path, 1<<40))
			},
		} {
			_ = os.Remove(path)
			require.NoError(t, damage())
			for _, args := range readers {
				done := make(chan outcome, 1)
				go func() { done <- with("", args...) }()
				select {
				case got := <-done:
					refused := got.status == exitUsage || got.status == exitFailed
					if !refused || !strings.Contains(got.stderr, name) || args[0] != "verify" && (strings.Count(got.stderr, "\n") != 1 || got.stdout != "") {
						t.Errorf("%q with %s in place of %s: %+v", args, kind, name, got)
					}
				case <-time.After(20 * time.Second):
					t.Fatalf("%q waits with a %s in place of %s", args, kind, name)
				}
			}
		}
		_ = os.Remove(path)
		require.NoError(t, put(whole))
	}
	whole, summary := text(t, run, "model.safetensors"), filepath.Join(run, "summary.json")
	require.NoError(t, errors.Join(os.Remove(summary), unix.Mkfifo(summary, 0o600)))
	got := with("", "train", "--resume", run) // a finished run is not trained again
	if got.status != exitUsage || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, "nobody knows whether the run is finished") ||
		text(t, run, "model.safetensors") != whole {
		t.Errorf("%+v", got)
	}
	for _, name := range []string{"checkpoint", "config.yaml", "summary.json"} { // the run seems to be interrupted
		path := filepath.Join(run, name)
		_ = os.Remove(path)
		require.NoError(t, unix.Mkfifo(path, 0o600))
	}
	for _, args := range [][]string{{"train", "--resume", run}, {"watch", run}, report} {
		done := make(chan outcome, 1)
		go func() { done <- with("", args...) }()
		select {
		case got := <-done:
			if got.status == exitDone || !strings.Contains(got.stderr, "not a regular file: it is a pipe") {
				t.Errorf("%q: %+v", args, got)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%q waits for a pipe", args)
		}
	}
}

// A named pipe gives the rows of a file, text or arrays. Each program that writes to it finishes.
func TestNamedPipe(t *testing.T) {
	dir := t.TempDir()
	x := datatest.Array{Name: "X", Type: "<f8", Shape: []int{60, 1}}
	y := datatest.Array{Name: "y", Type: "<i8", Shape: []int{60}}
	text := "X0,z,y\n"
	for i := range 60 {
		x.Numbers, y.Numbers = append(x.Numbers, math.Sin(float64(i))), append(y.Numbers, float64(i%2))
		text += fmt.Sprintf("%v,1,%d\n", x.Numbers[i], i%2)
	}
	for name, content := range map[string][]byte{"text": []byte(text), "gzip": datatest.Gzipped([]byte(text)), "npz": datatest.NPZ(t, true, x, y)} {
		pipe, run := filepath.Join(dir, name), filepath.Join(dir, "run-"+name)
		require.NoError(t, unix.Mkfifo(pipe, 0o600))
		for _, command := range [][]string{{"train", "--label", "y=1", "--iterations", "2", "--quiet", "--out", run, "--file", pipe}, {"predict", run, "--input", pipe}} {
			written := make(chan error, 1)
			go func() { written <- os.WriteFile(pipe, content, 0) }()
			if got := forReal(t, command...); got.status != exitDone {
				t.Fatalf("%s: %v: %s", name, command, got.stderr)
			}
			if err := <-written; err != nil {
				t.Errorf("%s: %v: %v", name, command, err)
			}
		}
	}
}
