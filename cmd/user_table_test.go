package cmd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
	require.NoRace(t, "TestTrainForReal trains with the same goroutines")
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

// A run on a file in any layout has the weights of the run on the plain file. predict, evaluate,
// verify and train --config read the file in the layout that the run states.
func TestLayoutsOfTheCommandLine(t *testing.T) {
	require.NoRace(t, "TestTableInfeasible and TestNamesOfFiles run the same goroutines")
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	ppal := func(args ...string) string {
		t.Helper()
		o := commandOn(t.Context(), func(a *app) { a.open = session.New }, args...)
		if o.status != exitDone && o.status != exitUnmet {
			t.Fatalf("%q: status %d, %s", args, o.status, o.stderr)
		}
		return o.stdout
	}
	weights := func(run string) []byte {
		t.Helper()
		return require.Value(os.ReadFile(filepath.Join(dir, run, "model.safetensors")))(t)
	}
	var plain, bare, one, zero strings.Builder
	plain.WriteString("sex,\"age, years\",x,pay\n")
	bare.WriteString("an export\n")
	for i := range 200 {
		sex, age, pay := []string{"F", "M"}[i%2], 20+i*7%45, []string{"no", "yes"}[(i*i+i/3)%5/3]
		x := []string{fmt.Sprintf("%d.25", i*i%17), "?"}[i%9/8]
		fmt.Fprintf(&plain, "%s,%d,%s,%s\n", sex, age, x, pay)
		fmt.Fprintf(&bare, "%s\t%d\t%s\t%s\n", sex, age, strings.Replace(x, "?", "-200", 1), pay)
		fmt.Fprintf(&one, "%d 1:%d 2:%d 4:1\n", (i*i+i/3)%5/3, 1-i%2, i%7)
		fmt.Fprintf(&zero, "%d 0:%d 1:%d 3:1\n", (i*i+i/3)%5/3, 1-i%2, i%7)
	}
	table := []string{"--label", "pay=yes", "--missing", "impute", "--features", `sex,"age, years",x`, "--subject-to", `gap(positive_rate, "age, years<40") <= 0.1; fpr["age, years<40"] <= 0.9`}
	sparse := []string{"--dataset", "libsvm"}
	for _, c := range []struct {
		name, plain, other string
		flags, own         []string
		bound              []string // of the two files
		by                 string
	}{
		{"csv", write("plain.csv", plain.String()), write("bare.tsv", bare.String()), table,
			[]string{"--columns", `sex,"age, years",x,pay`, "--skip", "1", "--missing-values", "-200", "--quote", "none"}, nil, "age, years<40"},
		{"libsvm", write("one.svm", one.String()), write("zero.svm", zero.String()), sparse, []string{"--zero-based"},
			[]string{"gap(positive_rate, 1) <= 0.1", "gap(positive_rate, 0) <= 0.1"}, "1"},
	} {
		runs := []string{c.name + "-plain", c.name + "-other", c.name + "-again"}
		for i, file := range []string{c.plain, c.other} {
			args := append([]string{"train", "--quiet", "--iterations", "30", "--file", file, "--out", filepath.Join(dir, runs[i])}, c.flags...)
			if i == 1 {
				args = append(args, c.own...)
			}
			if c.bound != nil {
				args = append(args, "--subject-to", c.bound[i])
			}
			ppal(args...)
		}
		ppal("train", "--quiet", "--config", filepath.Join(dir, runs[1], "config.yaml"), "--out", filepath.Join(dir, runs[2]))
		for _, run := range runs[1:] {
			if !bytes.Equal(weights(runs[0]), weights(run)) {
				t.Errorf("%s has other weights", run)
			}
		}
		first, other := filepath.Join(dir, runs[0]), filepath.Join(dir, runs[1])
		if a, b := ppal("predict", first, "--input", c.plain), ppal("predict", other, "--input", c.other); a != b {
			t.Errorf("%s: the predictions differ", c.name)
		}
		rates := func(run, file string) string { // without the names of groups, which are the file's
			_, text, _ := strings.Cut(ppal("evaluate", run, "--input", file), "\n")
			line, _, _ := strings.Cut(text, "\n")
			return line
		}
		if a, b := rates(first, c.plain), rates(other, c.other); a != b {
			t.Errorf("%s: %s, want %s", c.name, b, a)
		}
		if text := ppal("evaluate", other, "--input", c.other, "--by", c.by); !strings.Contains(text, c.by) {
			t.Errorf("%s: no groups by %s in\n%s", c.name, c.by, text)
		}
		ppal("verify", other)
	}
}
