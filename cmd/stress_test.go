package cmd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/trainer/session"
)

// rows returns a CSV table with the columns x, g and y.
func rows(n int, row func(i int) string) string {
	var text strings.Builder
	text.WriteString("x,g,y\n")
	for i := range n {
		text.WriteString(row(i) + "\n")
	}
	return text.String()
}

// checkRun checks the outcome of a run: a finished run with whole files of finite numbers, or one
// line of error that does not report a bug.
func checkRun(t *testing.T, got outcome, dir string) {
	t.Helper()
	if !slices.Contains([]int{exitDone, exitFailed, exitUsage}, got.status) {
		t.Fatalf("status %d: %s", got.status, got.stderr)
	}
	if got.status != exitDone {
		lines := strings.Split(strings.TrimSpace(got.stderr), "\n")
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, "ppal: ") || len(last) < 30 {
			t.Errorf("status %d: %s", got.status, got.stderr)
		}
	}
	for _, path := range []string{rundir.Dir(dir).Metrics(), rundir.Dir(dir).Summary()} {
		text, err := os.ReadFile(path)
		if os.IsNotExist(err) && got.status != exitDone {
			continue
		}
		if err != nil {
			t.Error(err)
		}
		for in := json.NewDecoder(bytes.NewReader(text)); err == nil; { // JSON has no NaN and no infinity
			var value any
			if err = in.Decode(&value); err != nil && !errors.Is(err, io.EOF) {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}

// Tables with a row, with empty and tiny groups, with features that do not vary, and step sizes
// that explode give a result or an error in one line, and no number that is not finite.
func TestExtremeRuns(t *testing.T) {
	require.NoRace(t, "TestTrainForReal trains with the same goroutines")
	balanced := rows(80, func(i int) string { return fmt.Sprintf("%d,%c,%d", i%7, 'a'+i%2, i/2%2) })
	const gap, all = "gap(positive_rate, g) <= 0.1", "100/0/0"
	for name, c := range map[string]struct {
		text, bound, split string
		flags              []string
		status             int
		want               string
	}{
		"1 row":                      {rows(1, func(int) string { return "1,a,1" }), "fpr <= 0.1", all, nil, exitUsage, "all values are 1"},
		"1 row of each class":        {rows(2, func(i int) string { return fmt.Sprintf("%d,a,%d", i, i) }), "fpr <= 0.1", all, nil, exitDone, ""},
		"one class":                  {rows(9, func(i int) string { return fmt.Sprintf("%d,a,0", i) }), "fpr <= 0.1", all, nil, exitUsage, "label"},
		"a group of 1 row":           {balanced + "3,c,1\n", gap, all, nil, exitDone, ""},
		"a group without held-out":   {balanced + "3,c,1\n", gap, "50/25/25", nil, exitDone, ""},
		"one group":                  {rows(80, func(i int) string { return fmt.Sprintf("%d,a,%d", i%7, i%2) }), gap, all, nil, exitUsage, "1 of the 1 groups"},
		"a feature without variance": {rows(80, func(i int) string { return fmt.Sprintf("5,%c,%d", 'a'+i%2, i/2%2) }), gap, all, nil, exitDone, ""},
		"huge values":                {rows(80, func(i int) string { return fmt.Sprintf("%de307,%c,%d", i%9, 'a'+i%2, i/2%2) }), gap, all, nil, exitUsage, "rescale"},
		"tiny values":                {rows(80, func(i int) string { return fmt.Sprintf("%de-320,%c,%d", i%9, 'a'+i%2, i/2%2) }), gap, all, nil, exitUsage, "rescale"},
		"2,070 constraints": {rows(920, func(i int) string { return fmt.Sprintf("%d,group %d,%d", i%7, i/2%46, i%2) }),
			gap, all, []string{"--bounds-on", "surrogate"}, exitDone, ""},
		"an exploding step": {balanced, gap, all, []string{"--bounds-on", "surrogate", "--method", "gda", "--primal", "gradient",
			"--eta", "1e300", "--eta-scale", "fixed"}, exitFailed, "at iteration"},
		"an exploding step of gdpa": {balanced, gap, all, []string{"--bounds-on", "surrogate", "--method", "gdpa", "--gdpa-step", "1e250"},
			exitFailed, "at iteration"},
		"an exploding penalty": {balanced, gap, all, []string{"--bounds-on", "surrogate", "--method", "gdpa", "--gdpa-ratio", "1e30"}, exitDone, ""},
	} {
		t.Run(name, func(t *testing.T) {
			file, out := filepath.Join(t.TempDir(), "rows.csv"), filepath.Join(t.TempDir(), "run")
			require.NoError(t, os.WriteFile(file, []byte(c.text), 0o644))
			got := forReal(t, append([]string{"train", "--file", file, "--label", "y=1", "--subject-to", c.bound, "--split", c.split,
				"--iterations", "60", "--quiet", "--out", out}, c.flags...)...)
			checkRun(t, got, out)
			if got.status != c.status || !strings.Contains(got.stderr, c.want) {
				t.Errorf("status %d, want %d with %q: %s", got.status, c.status, c.want, got.stderr)
			}
		})
	}
}

// Spaces, quotes, letters of other scripts and symbolic links in the names of files, directories,
// columns and values change nothing.
func TestNamesOfFiles(t *testing.T) {
	root := filepath.Join(t.TempDir(), "Größe 日本 it's")
	real, link := filepath.Join(root, "real"), filepath.Join(root, "a link")
	require.NoError(t, os.MkdirAll(real, 0o755))
	text := "x,пол,метка\n" + strings.Repeat("1,жен,да\n2,муж,нет\n3,жен,нет\n0,муж,да\n", 20)
	file := filepath.Join(link, "таблица 1.csv")
	if err := os.Symlink("real", link); err != nil {
		t.Skip(err)
	}
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	var weights [][]byte
	for _, out := range []string{filepath.Join(link, "run — 1"), filepath.Join(real, "run 2")} {
		got := forReal(t, "train", "--file", file, "--label", "метка=да", "--subject-to", "gap(positive_rate, пол) <= 0.2",
			"--iterations", "20", "--quiet", "--out", out)
		if got.status != exitDone {
			t.Fatalf("status %d: %s", got.status, got.stderr)
		}
		model := require.Value(os.ReadFile(rundir.Dir(out).Model()))(t)
		weights = append(weights, model)
		decisions := filepath.Join(out, "решения.csv")
		if got := forReal(t, "predict", out, "--input", file, "--output", decisions); got.status != exitDone {
			t.Fatalf("predict: status %d: %s", got.status, got.stderr)
		}
		if made, err := os.ReadFile(decisions); err != nil || bytes.Count(made, []byte("\n")) != 81 || !bytes.Contains(made, []byte(",да")) {
			t.Errorf("%v: %.200s", err, made)
		}
	}
	if !bytes.Equal(weights[0], weights[1]) {
		t.Error("the weights depend on the directory's name")
	}
}

// A directory that nobody may write to is refused before the training, in one line. The test gives
// up root's rights in another process.
func TestReadOnlyDirectory(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "ppal.test")
	if err := os.Link(os.Args[0], program); err != nil {
		t.Skip(err)
	}
	locked := filepath.Join(dir, "locked")
	require.NoError(t, os.Mkdir(locked, 0o555))
	for path := dir; path != filepath.Dir(os.TempDir()); path = filepath.Dir(path) {
		if info, err := os.Stat(path); err != nil || path != os.TempDir() && os.Chmod(path, info.Mode().Perm()|0o055) != nil {
			t.Skip(err)
		}
		if path == filepath.Dir(path) {
			break
		}
	}
	cmd := exec.Command(program, "train", "--rows-per-class", "20", "--iterations", "3", "--quiet", "--out", filepath.Join(locked, "run"))
	cmd.Env = []string{processVariable + "=1", "HOME=" + dir}
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	text, err := cmd.CombinedOutput()
	if status := exitStatus(err); status != exitFailed || !strings.Contains(string(text), "permission denied") || bytes.Count(text, []byte("\n")) != 1 {
		t.Errorf("status %d, %v: %s", status, err, text)
	}
}

// A clock that jumps back changes neither the results nor the names of other runs.
func TestClockJumpsBack(t *testing.T) {
	require.NoRace(t, "TestTrainForReal runs the same goroutines")
	args := tiny(t, "", 200)
	t.Chdir(t.TempDir())
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	var weights [][]byte
	for k, back := range []time.Duration{0, time.Hour, 0} {
		got := commandOn(t.Context(), func(a *app) {
			a.open = session.New
			a.now = func() time.Time { now = now.Add(-time.Millisecond); return now.Add(-back) }
		}, append(args, "--quiet")...)
		if got.status != exitDone {
			t.Fatalf("status %d: %s", got.status, got.stderr)
		}
		runs, err := filepath.Glob("runs/*/model.safetensors")
		if err != nil || len(runs) != k+1 {
			t.Fatalf("%q, %v, want %d runs", runs, err, k+1)
		}
		for _, path := range runs {
			model := require.Value(os.ReadFile(path))(t)
			weights = append(weights, model)
		}
	}
	for _, w := range weights {
		if !bytes.Equal(w, weights[0]) {
			t.Error("the weights depend on the clock")
		}
	}
}

// Many processes in one directory that start at the same time get different directories, and the
// same weights. `make torture` starts 24.
func TestParallelRuns(t *testing.T) {
	n := 4
	if os.Getenv(tortureVariable) != "" {
		n = 24
	}
	args, dir := tiny(t, "", 300, "--quiet", "--checkpoint-every", "1ms"), t.TempDir()
	var runs []*exec.Cmd
	logs := make([]bytes.Buffer, n)
	for k := range n {
		cmd := process(args...)
		cmd.Dir, cmd.Stderr = dir, &logs[k]
		start(t, cmd)
		runs = append(runs, cmd)
	}
	for k, cmd := range runs {
		if status := exitStatus(cmd.Wait()); status != exitDone {
			t.Errorf("run %d: status %d: %s", k, status, logs[k].String())
		}
	}
	models, err := filepath.Glob(filepath.Join(dir, "runs", "*", "model.safetensors"))
	if err != nil || len(models) != n {
		t.Fatalf("%d models, %v, want %d", len(models), err, n)
	}
	var first []byte
	for _, path := range models {
		checkRun(t, outcome{status: exitDone}, filepath.Dir(path))
		model := require.Value(os.ReadFile(path))(t)
		if first == nil {
			first = model
		}
		if !bytes.Equal(model, first) {
			t.Errorf("%s has other weights", path)
		}
	}
}

// A table of 10 million rows and 20 features trains within 8 GB. Only `make torture` runs the test:
// the file has 440 MB.
func TestTenMillionRows(t *testing.T) {
	if os.Getenv(tortureVariable) == "" {
		t.Skip("slow: run by make torture")
	}
	const n, features = 10_000_000, 20
	path := filepath.Join(t.TempDir(), "rows.csv")
	file := require.Value(os.Create(path))(t)
	w := bufio.NewWriter(file)
	for j := range features {
		fmt.Fprintf(w, "x%d,", j)
	}
	w.WriteString("g,y\n")
	rng := rand.New(rand.NewPCG(1, 2))
	line := make([]byte, 2*features+4)
	for range n {
		bits, sum := rng.Uint64(), 0
		for j := range features {
			digit := int(bits>>(3*j)) & 7
			line[2*j], line[2*j+1] = '0'+byte(digit), ','
			sum += digit * (j%3 - 1)
		}
		noise := rng.Uint32()
		copy(line[2*features:], []byte{"ab"[noise&1], ',', '0', '\n'})
		if sum+int(noise>>1&15) > 7 {
			line[2*features+2] = '1'
		}
		w.Write(line)
	}
	require.NoError(t, errors.Join(w.Flush(), file.Close()))
	dir := filepath.Join(t.TempDir(), "run")
	cmd := process("train", "--file", path, "--label", "y=1", "--subject-to", "gap(positive_rate, g) <= 0.05", "--split", "100/0/0",
		"--bounds-on", "surrogate", "--iterations", "5", "--memory-limit", "8GB", "--allow-violation", "--quiet", "--out", dir)
	began := time.Now()
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	summary := require.Value(rundir.ReadSummary(rundir.Dir(dir).Summary()))(t)
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	t.Logf("%d rows in %s, %.1f GB at most", n, time.Since(began).Round(time.Second), float64(usage.Maxrss)/1e6)
	if usage.Maxrss > 8e6 || summary.Iterations != 5 {
		t.Errorf("%d KB at most, %d iterations", usage.Maxrss, summary.Iterations)
	}
}
