package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppal/internal/racing"
	"ppal/internal/require"
	"ppal/trainer/session"
)

// peopleFile writes a table of people. Several columns have a problem each.
func peopleFile(t *testing.T, name string, header string, row func(i int) string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	var text strings.Builder
	text.WriteString(header + "\n")
	for i := range 200 {
		text.WriteString(row(i) + "\n")
	}
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o644))
	return path
}

// TestAllProblems checks that the program reports all bad columns in one run, each in a line.
func TestAllProblems(t *testing.T) {
	file := peopleFile(t, "people.csv", "name,born,age,sex,pay", func(i int) string {
		age := fmt.Sprint(20 + i%50)
		if i == 9 {
			age = ""
		}
		return fmt.Sprintf("Person %d,199%d-05-0%d,%s,%c,%d", i, i%10, 1+i%9, age, "FM"[i%2], i/2%2)
	})
	args := []string{"train", "--problem", "dp", "--dataset", "csv", "--file", file, "--label", "pay", "--group", "sex=F", "--iterations", "3", "--out", filepath.Join(t.TempDir(), "run")}
	got := forReal(t, args...)
	lines := strings.Split(strings.TrimSpace(got.stderr), "\n")
	var problems []string
	for _, line := range lines {
		if strings.HasPrefix(line, "  ") {
			problems = append(problems, strings.TrimSpace(line))
		}
	}
	if got.status != exitUsage || len(problems) != 4 || !strings.HasPrefix(problems[0], `invalid column "name": it has 200 different texts`) ||
		!strings.Contains(problems[1], "--dates expand") || !strings.Contains(problems[2], "--missing impute") || !strings.Contains(problems[3], "for all of them: --ignore name --dates expand --missing impute") {
		t.Fatalf("status %d\n%s", got.status, got.stderr)
	}
	// A run that follows the advice works, and the table says what each column became.
	got = forReal(t, append(args, "--ignore", "name", "--dates", "expand", "--missing", "impute")...)
	if got.status != exitDone {
		t.Fatalf("status %d\n%s", got.status, got.stderr)
	}
	for _, line := range []string{
		"column  became                        missing\n", "name    ignored\n", "born    date, as day, month, weekday\n", "age     number                        1\n",
		"sex     category of 2 levels, group\n", "pay     label\n",
	} {
		if !strings.Contains(got.stderr, line) {
			t.Errorf("stderr lacks %q:\n%s", line, got.stderr)
		}
	}
	if quiet := forReal(t, append(args[:len(args)-1:len(args)-1], filepath.Join(t.TempDir(), "quiet"), "--quiet",
		"--ignore", "name,born", "--missing", "drop")...); quiet.status != exitDone || quiet.stderr != "" {
		t.Errorf("%+v", quiet)
	}
}

// TestRepeatedGroup checks that a repeated --group adds a group, as a comma does.
func TestRepeatedGroup(t *testing.T) {
	file := peopleFile(t, "people.csv", "age,sex,pay", func(i int) string { return fmt.Sprintf("%d,%c,%d", 20+i%50, "FM"[i%2], i/2%2) })
	args := []string{"data", "check", "csv", "--file", file, "--label", "pay"}
	twice := forReal(t, append(args, "--group", "sex=F", "--group", "age<25")...)
	comma := forReal(t, append(args, "--group", "sex=F,age<25")...)
	if twice.status != exitDone || twice.stdout != comma.stdout || !strings.Contains(twice.stdout, "group sex=F") || !strings.Contains(twice.stdout, "group age<25") {
		t.Errorf("%+v, %+v", twice, comma)
	}
}

// TestChangedData checks that a run that is repeated from its config.yaml prints a warning if the
// data file has changed.
func TestChangedData(t *testing.T) {
	row := func(i int) string { return fmt.Sprintf("%d,%c,%d", 20+i%50, "FM"[i%2], i/2%2) }
	file := peopleFile(t, "people.csv", "age,sex,pay", row)
	out := filepath.Join(t.TempDir(), "first")
	got := forReal(t, "train", "--problem", "dp", "--dataset", "csv", "--file", file, "--label", "pay", "--group", "sex=F", "--iterations", "2", "--out", out)
	if got.status != exitDone {
		t.Fatalf("%+v", got)
	}
	again := func() string {
		got := forReal(t, "train", "--config", filepath.Join(out, "config.yaml"), "--out", filepath.Join(t.TempDir(), "again"))
		if got.status != exitDone {
			t.Fatalf("%+v", got)
		}
		return got.stderr
	}
	if stderr := again(); strings.Contains(stderr, "has changed") {
		t.Error(stderr)
	}
	text := require.Value(os.ReadFile(file))(t)
	require.NoError(t, os.WriteFile(file, append(text, "33,F,1\n"...), 0o644))
	if stderr := again(); !strings.Contains(stderr, "people.csv has changed since") || !strings.Contains(stderr, "this run has other data than that run") {
		t.Error(stderr)
	}
}

// A run does not continue from other initial weights before its first checkpoint, and a run with
// its settings warns.
func TestChangedInit(t *testing.T) {
	racing.Skip(t, "TestTrainForReal trains with the same goroutines")
	dir := t.TempDir()
	weights, out := filepath.Join(dir, "weights.safetensors"), filepath.Join(dir, "out")
	settings := tiny(t, "", 3)
	train := func(args ...string) outcome { return forReal(t, append(settings, args...)...) }
	other := filepath.Join(dir, "other")
	for path, args := range map[string][]string{other: {"--iterations", "2"}, filepath.Join(dir, "first"): nil} {
		if got := train(append(args, "--out", path)...); got.status != exitDone {
			t.Fatalf("%+v", got)
		}
	}
	copyTo := func(from, to string) {
		t.Helper()
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, data, 0o644)
		}
		require.NoError(t, err)
	}
	copyTo(filepath.Join(dir, "first", "model.safetensors"), weights)
	if got := train("--init", weights, "--out", out); got.status != exitDone {
		t.Fatalf("%+v", got)
	}
	killed := filepath.Join(dir, "killed")
	require.NoError(t, os.Mkdir(killed, 0o755))
	copyTo(filepath.Join(out, "config.yaml"), filepath.Join(killed, "config.yaml"))
	copyTo(os.DevNull, filepath.Join(killed, "metrics.jsonl"))
	again := func() outcome {
		return forReal(t, "train", "--config", filepath.Join(out, "config.yaml"), "--out", filepath.Join(t.TempDir(), "again"))
	}
	if got := again(); strings.Contains(got.stderr, "has changed") {
		t.Error(got.stderr)
	}
	copyTo(filepath.Join(other, "model.safetensors"), weights)
	if got := again(); !strings.Contains(got.stderr, "weights.safetensors has changed since") || !strings.Contains(got.stderr, "this run has other initial weights than that run") {
		t.Error(got.stderr)
	}
	if got := forReal(t, "train", "--quiet", "--resume", killed); got.status != exitUsage || !strings.Contains(got.stderr, weights+" is not the file of initial weights that the run read") {
		t.Errorf("status %d, %s", got.status, got.stderr)
	}
	copyTo(filepath.Join(dir, "first", "model.safetensors"), weights)
	if got := forReal(t, "train", "--quiet", "--resume", killed); got.status != exitDone {
		t.Errorf("the same weights: status %d, %s", got.status, got.stderr)
	}
}

// forReal runs the program with real training instead of the stub.
func forReal(t *testing.T, args ...string) outcome {
	t.Helper()
	if args[0] == "train" {
		args = append(slices.Clone(args), "--allow-violation")
	}
	return commandOn(t.Context(), func(a *app) { a.open = session.New }, args...)
}
