package cmd

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"ppal/internal/disk"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/trainer/session"
)

// The command line that an interrupted run prints continues the run. Changed settings, changed data
// and a finished run are refused or reported in one line.
func TestResumeCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's a run")
	args := endless(t, dir)
	cmd := process(args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	start(t, cmd)
	records(t, dir, 2)
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	if status := exitStatus(cmd.Wait()); status != exitInterrupted {
		t.Fatalf("status %d: %s", status, stderr.String())
	}
	line := regexp.MustCompile(`(?m)to continue: ppal train --resume (.*)$`).FindStringSubmatch(stderr.String())
	if want := "'" + strings.ReplaceAll(dir, "'", `'\''`) + "'"; line == nil || line[1] != want {
		t.Fatalf("the command is %q, want %s", line, want)
	}
	run := func(args ...string) outcome {
		return commandOn(t.Context(), func(a *app) { a.open = session.New }, append([]string{"train", "--resume", dir, "--quiet"}, args...)...)
	}
	file := args[2]
	for _, c := range []struct {
		flags, want string
		status      int
	}{
		{"--seed 7 --iterations 5", "--iterations and --seed differs", exitUsage},
		{"--out other", "leave out --config, --set and --out", exitUsage},
		{"--resume " + filepath.Dir(dir), "the directory is not a run", exitUsage},
	} {
		got := run(strings.Fields(c.flags)...)
		if got.status != c.status || !strings.Contains(got.stderr, c.want) || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%s: status %d, want %d with %q: %s", c.flags, got.status, c.status, c.want, got.stderr)
		}
	}
	rows := require.Value(os.ReadFile(file))(t)
	require.NoError(t, os.WriteFile(file, append(rows, "9,9,b,1\n"...), 0o644))
	if got := run(); got.status != exitUsage || !strings.Contains(got.stderr, "is not the file that the run read") {
		t.Errorf("changed data: status %d: %s", got.status, got.stderr)
	}
	if got := command(t.Context(), nil, "train", "--quiet", "--iterations", "3", "--out", filepath.Join(dir, "done")); got.status != exitDone {
		t.Fatal(got)
	}
	// A process that is killed after it has written the summary leaves its lock.
	lock := filepath.Join(dir, "done", disk.LockName)
	require.NoError(t, os.WriteFile(lock, nil, 0o644))
	got := command(t.Context(), nil, "train", "--resume", filepath.Join(dir, "done"))
	if _, err := os.Stat(lock); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a finished run still has its lock: %v", err)
	}
	if _, err := rundir.ReadCheckpoint(filepath.Join(dir, "done")); err != nil {
		t.Errorf("a run that its limit ended: %v", err)
	}
	if got.status != exitDone || !strings.Contains(got.stdout, "nothing to resume") || got.stderr != "" {
		t.Errorf("a finished run: %+v", got)
	}
	// The command that trains on from a finished run is complete but for the new directory.
	got = command(t.Context(), nil, "train", "--resume", filepath.Join(dir, "done"), "--seed", "5")
	_, line2, ok := strings.Cut(got.stderr, "start a new run: ")
	if got.status != exitUsage || !ok || !strings.Contains(got.stderr, "the run is finished (iteration limit) and keeps its --seed") {
		t.Fatalf("a finished run with another seed: %+v", got)
	}
	var words []string
	for _, w := range strings.Split(strings.TrimSpace(line2), " --") {
		name, value, _ := strings.Cut(w, " ")
		if value = strings.ReplaceAll(value, `'\''`, "\x00"); name != "ppal" {
			words = append(words, "--"+name, strings.ReplaceAll(strings.Trim(value, "'"), "\x00", "'"))
		}
	}
	words[len(words)-1] = filepath.Join(dir, "more")
	if got = command(t.Context(), nil, append([]string{"train", "--quiet", "--iterations", "5"}, words...)...); got.status != exitDone {
		t.Errorf("%q: %+v", words, got)
	}
}

// A finished run is extended by longer limits only. verify and report accept the extended run.
func TestExtendCommand(t *testing.T) {
	require.NoRace(t, "TestResumeCommand runs the same goroutines")
	dir := filepath.Join(t.TempDir(), "run")
	run := func(args ...string) outcome {
		return commandOn(t.Context(), func(a *app) { a.open = session.New }, args...)
	}
	if got := run("train", "--quiet", "--allow-violation", "--problem", "dp", "--dataset", "synthetic-compas", "--iterations", "5", "--out", dir); got.status != exitDone {
		t.Fatal(got)
	}
	if got := run("train", "--resume", dir); got.status != exitDone || !strings.Contains(got.stdout, "to extend it, give more --iterations") {
		t.Errorf("without new limits: %+v", got)
	}
	for flags, want := range map[string]string{
		"--iterations 5 --threads 1":     "", // nothing changes
		"--iterations 4":                 "after 5 iterations: give more --iterations",
		"--time-limit 1h":                "after 5 iterations: give more --iterations",
		"--iterations 9 --seed 3":        "keeps its --seed",
		"--iterations 9 --time-limit 1h": "without a --time-limit: leave it out",
	} {
		got := run(append([]string{"train", "--resume", dir}, strings.Fields(flags)...)...)
		if want == "" {
			if got.status != exitDone || !strings.Contains(got.stdout, "nothing to resume") {
				t.Errorf("%s: %+v", flags, got)
			}
		} else if got.status != exitUsage || !strings.Contains(got.stderr, want) || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%s: status %d, want %d with %q: %s", flags, got.status, exitUsage, want, got.stderr)
		}
	}
	if got := run("train", "--quiet", "--allow-violation", "--resume", dir, "--iterations", "9"); got.status != exitDone ||
		!strings.Contains(got.stdout, "9 iterations (iteration limit)") {
		t.Fatal(got)
	}
	for _, name := range []string{"verify", "report"} {
		if got := run(name, dir); got.status != exitDone {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A comparison, a sweep and an experiment refuse a directory in which another process is at work.
func TestOneProcessAtATime(t *testing.T) {
	dir := t.TempDir()
	l := require.Value(disk.LockFolder(dir))(t)
	defer func() { require.NoError(t, l.Release()) }()
	for _, args := range []string{
		"sweep --over gap(positive_rate,sex) --values 0.1 --dataset synthetic-adult --iterations 2",
		"reproduce dp-adult --seeds 1",
		"reproduce decisions --seeds 1",
		"reproduce suite --quick",
	} {
		got := command(t.Context(), nil, append(strings.Fields(args), "--out", dir)...)
		if got.status != exitFailed || !strings.Contains(got.stderr, "another ppal is at work in "+dir) {
			t.Errorf("%s: status %d, %s", args, got.status, got.stderr)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v: want the lock alone", entries, err)
	}
}

// A comparison does not go on with other initial weights.
func TestNotWithOtherWeights(t *testing.T) {
	dir := t.TempDir()
	weights := filepath.Join(dir, "weights")
	for _, c := range []struct {
		content string
		status  int
	}{{"one", exitDone}, {"one", exitDone}, {"two", exitUsage}} {
		require.NoError(t, os.WriteFile(weights, []byte(c.content), 0o644))
		got := command(t.Context(), nil, "compare", "--methods", "gdpa", "--seeds", "1", "--iterations", "2", "--init", weights, "--out", filepath.Join(dir, "out"))
		if got.status != c.status || c.status != exitDone && !strings.Contains(got.stderr, weights+" has changed since the comparison") {
			t.Errorf("%s: status %d, %s", c.content, got.status, got.stderr)
		}
	}
}

// A comparison and a sweep do not go on with other data.
func TestNotWithOtherData(t *testing.T) {
	require.NoRace(t, "TestTrainForReal trains with the same goroutines")
	file := filepath.Join(t.TempDir(), "rows.csv")
	write := func(last string) {
		t.Helper()
		rows := "age,sex,hired\n" + strings.Repeat("31,f,no\n42,m,yes\n25,f,yes\n37,m,no\n", 10) + last
		require.NoError(t, os.WriteFile(file, []byte(rows), 0o644))
	}
	for _, args := range []string{
		"compare --methods gdpa --seeds 1 --iterations 2",
		"sweep --over gap(positive_rate,sex) --values 0.1 --iterations 2 --allow-violation",
	} {
		dir := filepath.Join(t.TempDir(), "out")
		call := strings.Fields(args + " --dataset csv --file " + file + " --label hired=yes --split 100/0/0 --out " + dir)
		if call[0] == "compare" {
			call = append(call, "--subject-to", "gap(positive_rate, sex) <= 0.5", "--measures", "train_error")
		}
		write("")
		for range 2 {
			if got := command(t.Context(), nil, call...); got.status != exitDone {
				t.Fatalf("%s: status %d, %s", args, got.status, got.stderr)
			}
		}
		write("29,f,no\n")
		if got := command(t.Context(), nil, call...); got.status != exitUsage || !strings.Contains(got.stderr, "a new directory") {
			t.Errorf("%s with other data: status %d, %s", args, got.status, got.stderr)
		}
	}
}
