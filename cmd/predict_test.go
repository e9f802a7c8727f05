package cmd

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/models/predictor"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// members returns a CSV table of a number and a category. The class depends on both.
func members(rows int) string {
	var text strings.Builder
	text.WriteString("age,job,member\n")
	for i := range rows {
		job := []string{"clerk", "nurse", "smith"}[i%3]
		member := "no"
		if (i*7%60 > 25) != (i%11 == 0) {
			member = "yes"
		}
		fmt.Fprintf(&text, "%d,%s,%s\n", 18+i*7%60, job, member)
	}
	return text.String()
}

// membersRun trains on the table and returns the run's directory.
func membersRun(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "members.csv")
	require.NoError(t, os.WriteFile(file, []byte(members(600)), 0o644))
	o := session.Options{Data: session.CSV(file, "member", "job=nurse"), Task: session.DemographicParity{}}
	o.Settings.Iterations = 30
	return trained(t, o, filepath.Join(dir, "run"))
}

// trained trains a session and saves the run in the directory out.
func trained(t *testing.T, o session.Options, out string) string {
	t.Helper()
	s := require.Value(session.New(context.Background(), o))(t)
	defer s.Close()
	require.Value(s.Train(context.Background()))(t)
	require.NoError(t, s.Save(out))
	return out
}

// with runs the program with the text as its standard input.
func with(stdin string, args ...string) outcome {
	return commandOn(context.Background(), func(a *app) { a.stdin = strings.NewReader(stdin) }, args...)
}

func TestPredict(t *testing.T) {
	run := membersRun(t)
	file := filepath.Join(t.TempDir(), "new.csv")
	require.NoError(t, os.WriteFile(file, []byte("job,note,age\nnurse,x,60\nclerk,y,19\n"), 0o644))
	got := command(context.Background(), nil, "predict", run, "--input", file)
	m := require.Value(predictor.Load(run))(t)
	want := "row,score,decision\n"
	require.NoError(t, m.Read(strings.NewReader("job,age\nnurse,60\nclerk,19\n"), "new", predictor.Options{}, func(b *predictor.Batch) error {
		for i, decision := range b.Decisions {
			want += fmt.Sprintf("%d,%v,%s\n", i+1, b.Scores[i], []string{"no", "yes"}[decision])
		}
		return nil
	}))
	if got.status != exitDone || got.stdout != want || got.stderr != "ppal: scored 2 rows\n" {
		t.Errorf("%+v, want\n%s", got, want)
	}
	out := filepath.Join(t.TempDir(), "scores.csv")
	if got := with("job,age\nnurse,60\nclerk,19\n", "predict", run, "--output", out); got.status != exitDone || got.stdout != "" {
		t.Errorf("%+v", got)
	}
	if text, err := os.ReadFile(out); err != nil || string(text) != want {
		t.Errorf("%v\n%s", err, text)
	}
	if got := with("job,age\nnurse,60\n", "predict", run, "--output", os.DevNull); got.status != exitDone {
		t.Errorf("to %s: %+v", os.DevNull, got)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Fatalf("%s has been replaced by a file", os.DevNull)
	}
}

func TestPredictUnknown(t *testing.T) {
	run := membersRun(t)
	out := filepath.Join(t.TempDir(), "scores.csv")
	got := with("age,job\n20,nurse\n30,pilot\n40,baker\n", "predict", run, "--output", out)
	if got.status != exitUsage || !strings.Contains(got.stderr,
		`standard input: line 3, column 2: job: unknown category "pilot", want one of clerk, nurse, smith; use --unknown ignore`) {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("an incomplete file was left: %v", err)
	}
	got = with("age,job\n20,nurse\n30,pilot\n40,baker\n", "predict", run, "--unknown", "ignore")
	if got.status != exitDone || strings.Count(got.stdout, "\n") != 4 || got.stderr != "ppal: scored 3 rows; 2 unknown categories were ignored\n" {
		t.Errorf("%+v", got)
	}
}

// An input with only the names of the columns gives only the names of the output's columns.
func TestPredictOnlyNames(t *testing.T) {
	run := membersRun(t)
	one, none := with("id,age,job\n7,20,nurse\n", "predict", run, "--keep", "id"), with("id,age,job\n", "predict", run, "--keep", "id")
	names, _, _ := strings.Cut(one.stdout, "\n")
	if one.stderr != "ppal: scored 1 row\n" {
		t.Error(one.stderr)
	}
	if none.status != exitDone || none.stdout != names+"\n" || none.stderr != "ppal: note: standard input has no rows\nppal: scored 0 rows\n" {
		t.Errorf("%+v, want %q", none, names)
	}
	for _, text := range []string{"", "\n\n", "age,work\n"} { // no names, or not those of the model
		if got := with(text, "predict", run); got.status != exitUsage || got.stdout != "" {
			t.Errorf("%q: %+v", text, got)
		}
	}
	if got := with("age,job,member\n", "evaluate", run); got.status != exitUsage {
		t.Errorf("evaluate: %+v", got)
	}
}

func TestPredictErrors(t *testing.T) {
	run := membersRun(t)
	if got := with("age,job\n1,nurse\n", "predict", run, "--output", "none/x"); got.status != exitFailed || !strings.Contains(got.stderr, "--output: ") {
		t.Errorf("no folder for the output: %+v", got)
	}
	if got := with("job\tage\nnurse\t60\n", "predict", run, "--separator", "tab"); got.status != exitDone {
		t.Errorf("tabs: %+v", got)
	}
	require.NoError(t, os.Remove(filepath.Join(run, "preparation.yaml")))
	if got := with("age,job\n1,nurse\n", "predict", run); got.status != exitUsage || !strings.Contains(got.stderr, "preparation.yaml: no such file") {
		t.Errorf("no preparation: %+v", got)
	}
}

// With several classes, predict writes a class and a score for each class. The built-in pictures
// are not a file, therefore the rows come from an IDX text.
func TestPredictClasses(t *testing.T) {
	require.NoRace(t, "TestPredict scores with the same goroutines")
	o := session.Options{Data: session.Images{Dataset: "synthetic", RowsPerClass: 50}, Task: session.NeymanPearson{},
		Model: &models.Spec{Hidden: []int{4}}}
	o.Settings.Iterations = 5
	run := trained(t, o, filepath.Join(t.TempDir(), "run"))
	m, err := predictor.Load(run)
	require.NoError(t, err)
	pixels := m.Description().Input.Features
	idx := string([]byte{0, 0, 8, 2, 0, 0, 0, 2, 0, 0, byte(pixels >> 8), byte(pixels)}) + strings.Repeat("\x00", pixels) + strings.Repeat("\x80", pixels)
	got := with(idx, "predict", run)
	lines := strings.Split(got.stdout, "\n")
	header := "row,class"
	for _, column := range []string{",score_", ",probability_"} {
		for _, name := range m.Classes() {
			header += column + name
		}
	}
	if got.status != exitDone || len(lines) != 4 || lines[0] != header || strings.Count(lines[1], ",") != 9 {
		t.Errorf("%+v, want %s", got, header)
	}
	var fields [10]float64
	for k, text := range strings.Split(lines[1], ",") {
		if fields[k], err = strconv.ParseFloat(text, 64); err != nil && k != 1 {
			t.Error(err)
		}
	}
	want, _ := m.Probabilities(fields[2:6])
	if !slices.Equal(fields[6:], want) {
		t.Errorf("probabilities %v, want %v", fields[6:], want)
	}
}

// The predictions of a run with a fitted sigmoid have a column of probabilities.
func TestPredictProbability(t *testing.T) {
	run := membersRun(t)
	d := require.Value(rundir.Dir(run).ReadModel())(t)
	d.Decision.Probability = &results.Sigmoid{Slope: 2, Intercept: -1}
	require.NoError(t, rundir.Dir(run).WriteModel(d))
	got := with("age,job\n60,nurse\n", "predict", run)
	var row int
	var score, probability float64
	var decision string
	line := strings.NewReplacer(",", " ").Replace(strings.TrimPrefix(got.stdout, "row,score,decision,probability\n"))
	if _, err := fmt.Sscan(line, &row, &score, &decision, &probability); err != nil {
		t.Fatal(err, got)
	}
	if want := 1 / (1 + math.Exp(1-2*score)); probability != want {
		t.Errorf("probability %v of score %v, want %v", probability, score, want)
	}
}

// After a bad row, the output has the rows before it, whole. An output file does not appear.
func TestPredictWritesWholeRows(t *testing.T) {
	run := membersRun(t)
	row := "35,nurse\n"
	for _, good := range []int{0, 1, 5000, 60000} {
		text := "age,job\n" + strings.Repeat(row, good) + "x,nurse\n" + strings.Repeat(row, 20000)
		got := with(text, "predict", run)
		if says := fmt.Sprintf(`line %d, column 1: age: "x"`, good+2); got.status != exitUsage || !strings.Contains(got.stderr, says) {
			t.Errorf("%d, %s: want %s", got.status, got.stderr, says)
		}
		lines := strings.Split(got.stdout, "\n")
		if want := good + 2; good > 0 && len(lines) != want || good == 0 && got.stdout != "" || lines[len(lines)-1] != "" {
			t.Errorf("%d lines, the last is %q, want %d", len(lines), lines[len(lines)-1], want)
		}
		for _, line := range lines[:len(lines)-1] {
			if strings.Count(line, ",") != 2 {
				t.Fatalf("a part of a row: %q", line)
			}
		}
	}
}

// --keep repeats columns of the input with their texts.
func TestPredictKeep(t *testing.T) {
	run := membersRun(t)
	got := with("id,age,job,\"a \"\"name\"\"\",n\n0012,60,nurse,\"x, y\",1_0\n 7 ,19,clerk,\"two\nlines\",\n", "predict", run, "--keep", "id,n", "--keep", `"a ""name"""`)
	plain := with("age,job\n60,nurse\n19,clerk\n", "predict", run)
	rows := strings.Split(plain.stdout, "\n")
	want := rows[0] + ",id,n,\"a \"\"name\"\"\"\n" + rows[1] + ",0012,1_0,\"x, y\"\n" + rows[2] + ",7,\"\",\"two\nlines\"\n"
	if got.status != exitDone || got.stdout != strings.ReplaceAll(want, `,"",`, ",,") {
		t.Errorf("%+v, want\n%s", got, want)
	}
	for keep, says := range map[string]string{
		"none":     `no column "none"`,
		"score":    "--keep score: the output has another column of this name",
		"id,id":    "--keep names id twice",
		"twice":    `2 columns are named "twice"`,
		"age<25":   "--keep age<25: the input has no column of this name",
		"row":      "--keep row: ",
		"decision": "--keep decision: ",
	} {
		got := with("id,age,job,twice,twice\n1,60,nurse,2,3\n", "predict", run, "--keep", keep)
		if got.status != exitUsage || got.stdout != "" || !strings.Contains(got.stderr, says) {
			t.Errorf("%s: %+v, want %s", keep, got, says)
		}
	}
}

// A program that writes a row and waits for the answer gets the answer.
func TestPredictAnswers(t *testing.T) {
	require.NoRace(t, "the package datasets has the goroutines")
	cmd := process("predict", membersRun(t), "--keep", "id")
	in := require.Value(cmd.StdinPipe())(t)
	out := require.Value(cmd.StdoutPipe())(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	start(t, cmd)
	answers := bufio.NewReader(out)
	say := func(text, answer string) {
		t.Helper()
		require.Value(io.WriteString(in, text))(t)
		if line, err := answers.ReadString('\n'); err != nil || !strings.HasPrefix(line, answer) {
			t.Fatalf("%q, %v, want %s", line, err, answer)
		}
	}
	say("age,job,id\n30,nurse,a\n", "row,score")
	say("", "1,")
	for i := range 20 {
		say(fmt.Sprintf("%d,clerk,b\n", 20+i), fmt.Sprintf("%d,", i+2))
	}
	require.Value(io.WriteString(in, "40,nurse,"))(t)
	in.Close()
	if line, err := answers.ReadString('\n'); err != nil || !strings.HasSuffix(line, ",\n") {
		t.Errorf("%q, %v", line, err)
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(stderr.String(), "warning: the last line of standard input has no line end") {
		t.Errorf("%v: %s", err, stderr.String())
	}
}

// All commands that read rows warn if the last line of a pipe has no line end, and not of a file.
func TestOpenEndOfPipes(t *testing.T) {
	require.NoRace(t, "a process of its own has no race detector")
	run, dir := membersRun(t), t.TempDir()
	libsvm := strings.Repeat("+1 1:1 2:2\n-1 1:2 2:1\n", 40)
	for name, c := range map[string]struct {
		args []string
		text string
	}{
		"predict":      {[]string{"predict", run}, members(60)},
		"evaluate":     {[]string{"evaluate", run}, members(60)},
		"train":        {[]string{"train", "--label", "member", "--file", "-"}, members(60)},
		"train LIBSVM": {[]string{"train", "--dataset", "libsvm", "--file", "-"}, libsvm},
	} {
		if c.args[0] == "train" {
			c.args = append(c.args, "--subject-to", "fpr <= 0.5", "--iterations", "3", "--allow-violation")
		}
		for _, open := range []bool{false, true} {
			text := c.text
			if open {
				text = strings.TrimSuffix(text, "\n")
			}
			args := c.args
			if args[0] == "train" {
				args = append(slices.Clip(args), "--out", filepath.Join(dir, fmt.Sprint(name, open)))
			}
			cmd := process(args...)
			in, stderr := strings.NewReader(text), &bytes.Buffer{}
			cmd.Stdin, cmd.Stderr = in, stderr // exec makes a pipe
			if err := cmd.Run(); err != nil || strings.Contains(stderr.String(), "the last line of standard input has no line end") != open {
				t.Errorf("%s, open %v: %v, %s", name, open, err, stderr)
			}
		}
	}
	file := filepath.Join(dir, "members.csv")
	require.NoError(t, os.WriteFile(file, []byte(strings.TrimSuffix(members(60), "\n")), 0o600))
	if got := with("", "evaluate", run, "--input", file); got.status != exitDone || got.stderr != "" {
		t.Errorf("a file: %+v", got)
	}
}

// No signal leaves a part of an output file, whether the rows come from a file or from a pipe.
// After a SIGKILL this holds on file systems that have files without names.
func TestPredictLeavesNoPartialFile(t *testing.T) {
	require.NoRace(t, "a process of its own has no race detector")
	run, dir := membersRun(t), t.TempDir()
	file := filepath.Join(dir, "rows.csv")
	text := "age,job\n" + strings.Repeat("35,nurse\n", 200_000)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGKILL} {
		for _, from := range []string{"pipe", "file"} {
			out := filepath.Join(dir, "out")
			require.NoError(t, os.Mkdir(out, 0o755))
			args := []string{"predict", run, "--output", filepath.Join(out, "scores.csv")}
			if from == "file" {
				args = append(args, "--input", file)
			}
			cmd := process(args...)
			in := require.Value(cmd.StdinPipe())(t)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			start(t, cmd)
			if from == "pipe" {
				require.Value(io.WriteString(in, text))(t)
			}
			named, begun := false, time.Now()
			for unnamed := false; !named && !unnamed; time.Sleep(time.Millisecond) { // until there is a partial file
				if time.Since(begun) > 20*time.Second {
					t.Fatalf("no partial file: %s", stderr.String())
				}
				entries := require.Value(os.ReadDir(out))(t)
				named, unnamed = len(entries) > 0, opens(cmd.Process.Pid, out)
			}
			require.NoError(t, cmd.Process.Signal(signal))
			status := exitStatus(cmd.Wait())
			entries, err := os.ReadDir(out)
			switch {
			case err != nil:
				t.Fatal(err)
			case from == "file" && status == exitDone && len(entries) == 1: // it was faster
			case signal == syscall.SIGQUIT && status != exitDone && len(entries) == 0: // Go's status, or that of the refused write
			case signal == syscall.SIGKILL && status == -1 && (len(entries) == 0 || named):
			case status != exitInterrupted || len(entries) > 0:
				t.Errorf("%s, %v: status %d, files %v, %s", from, signal, status, entries, stderr.String())
			}
			require.NoError(t, os.RemoveAll(out))
		}
	}
}

// opens reports whether a process has an open file in a folder, if the system has /proc.
func opens(pid int, folder string) bool {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	return slices.ContainsFunc(links, func(link string) bool {
		file, err := os.Readlink(link)
		return err == nil && strings.HasPrefix(file, folder)
	})
}

// After the end of the process has begun, no output begins or goes on.
func TestOutputsEnd(t *testing.T) {
	dir := t.TempDir()
	var stdout bytes.Buffer
	a := &app{stdout: &stdout}
	file, err := a.create(filepath.Join(dir, "file"))
	require.NoError(t, err)
	stream, err := a.create(standard)
	require.NoError(t, err)
	for _, d := range []*destination{file, stream} {
		require.Value(d.Write([]byte("row\n")))(t)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waits := make(chan struct{})
	defer close(waits)
	cancel()
	if err := a.interruptible(ctx, func() error { <-waits; return nil }); err != errInterrupted {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
	for _, d := range []*destination{file, stream} {
		if _, err := d.Write([]byte("row\n")); err != errInterrupted {
			t.Error(err)
		}
		d.discard()
	}
	if err := file.commit(); err != errInterrupted {
		t.Error(err)
	}
	if _, err := a.create(filepath.Join(dir, "other")); err != errInterrupted {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 || stdout.String() != "row\n" {
		t.Errorf("%v, %v, %q", entries, err, stdout.String())
	}
	a = &app{}
	if file, err = a.create(filepath.Join(dir, "whole")); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, file.commit())
	a.outputs.end()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("a complete file: %v, %v", entries, err)
	}
}
