package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"ppal/internal/require"
	"ppal/trainer/session"
)

// outcome is the result of a command line.
type outcome struct {
	status         int
	stdout, stderr string
}

// command runs the program on the arguments. A stub replaces training; prepare may change the stub.
func command(ctx context.Context, prepare func(s *stub), args ...string) outcome {
	return commandOn(ctx, func(a *app) {
		a.open = func(_ context.Context, o session.Options) (*session.Session, error) { return openStub(o, prepare) }
	}, args...)
}

// commandOn runs the program on the arguments. prepare may change the app before it runs.
func commandOn(ctx context.Context, prepare func(a *app), args ...string) outcome {
	var stdout, stderr bytes.Buffer
	a := &app{
		stdout: &stdout, stderr: &stderr, getenv: func(string) string { return "" },
		shrink: 100,
		now:    func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) },
		open:   func(_ context.Context, o session.Options) (*session.Session, error) { return openStub(o, nil) },
		gpus:   machineGPUs(),
	}
	prepare(a)
	return outcome{a.run(ctx, args), stdout.String(), stderr.String()}
}

// settled replaces the text that differs between runs.
func settled(text string) string {
	for pattern, with := range map[string]string{
		`time=\S+`: "time=T",
		`[0-9.]+ s: reading [0-9.]+ s, training [0-9.]+ s, rounds [0-9.]+ s, certificates [0-9.]+ s,`: "S s: reading S s, training S s, rounds S s, certificates S s,",
		`records [0-9.]+ s, measures [0-9.]+ s, plots [0-9.]+ s`:                                      "records S s, measures S s, plots S s",
		`seconds=\S+`:        "seconds=S",
		`\d+ MB at most`:     "N MB at most",
		`version: .*`:        "version: V",
		`(?m)^( *)go1\S+ .*`: "${1}go",
	} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, with)
	}
	return text
}

func TestHelp(t *testing.T) {
	for _, args := range []string{"", "train", "predict", "evaluate", "diff", "verify", "export", "report", "methods", "compare", "sweep", "reproduce", "bench", "data", "data list", "data fetch", "data check", "devices", "watch", "version"} {
		t.Run(args, func(t *testing.T) {
			got := command(t.Context(), nil, append(strings.Fields(args), "--help")...)
			if got.status != exitDone || got.stderr != "" {
				t.Fatalf("status %d, %s", got.status, got.stderr)
			}
			require.Golden(t, "testdata/help-"+strings.ReplaceAll(args+".txt", " ", "-"), got.stdout)
		})
	}
}

// full is a writer without free space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, fmt.Errorf("write report.txt: %w", syscall.ENOSPC) }

// Failed printing is an error, also for help texts and for commands that do not check the error
// themselves.
func TestFullDisk(t *testing.T) {
	for _, args := range []string{"--help", "train --help", "version", "devices", "data list", "bench --list", "completion bash"} {
		got := commandOn(t.Context(), func(a *app) { a.stdout = full{} }, strings.Fields(args)...)
		if got.status != exitFailed || got.stderr != "ppal: write report.txt: no space left on device; free some space there, or use another directory\n" {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

func TestVersion(t *testing.T) {
	got := command(t.Context(), nil, "version")
	if got.status != exitDone || !strings.HasPrefix(got.stdout, "ppal ") || !strings.Contains(got.stdout, "gorgonia.org/tensor ") {
		t.Errorf("%+v", got)
	}
}

func TestDevices(t *testing.T) {
	require.NoRace(t, "it measures speeds; the tests of internal/cpu run these goroutines")
	got := command(t.Context(), nil, "devices")
	plan := regexp.MustCompile(`plan +[a-z0-9]+ kernels, [0-9]+ threads: [0-9]+ GFLOP/s in float32`)
	if got.status != exitDone || !plan.MatchString(got.stdout) || !strings.Contains(got.stdout, "\ngpu      cuda: no GPU available: ") {
		t.Errorf("%+v", got)
	}
}

func TestCompletion(t *testing.T) {
	got := command(t.Context(), nil, "__complete", "train", "--method", "")
	if got.status != exitDone || !strings.HasPrefix(got.stdout, "auto\nalm\nplada\nppala\n") {
		t.Errorf("%+v", got)
	}
	if got := command(t.Context(), nil, "completion", "bash"); got.status != exitDone || len(got.stdout) < 1000 {
		t.Errorf("%+v", got)
	}
}

func TestDataCommands(t *testing.T) {
	require.NoRace(t, "the tests of datasets run the same goroutines")
	dir := t.TempDir()
	got := command(t.Context(), nil, "data", "list", "--data-dir", dir)
	if got.status != exitDone || !strings.Contains(got.stdout, "fashion-mnist") || !strings.Contains(got.stdout, dir) {
		t.Errorf("%+v", got)
	}
	got = command(t.Context(), nil, "data", "fetch", "synthetic")
	if got.status != exitDone || got.stdout != "synthetic is built in; there is nothing to download\n" {
		t.Errorf("%+v", got)
	}
	got = command(t.Context(), nil, "data", "check", "synthetic")
	if got.status != exitDone || !strings.Contains(got.stdout, "training rows") {
		t.Errorf("%+v", got)
	}
}

// TestCommands runs the command lines of testdata/commands.txt in one directory.
//
//	ppal ARGUMENTS   runs the program; the input is its standard input
//	file NAME        writes the input to a file
//	rows NAME        writes a header, the input's rows twenty times, and the rows after a line "and"
//
// The output has standard output, standard error and the exit status. The directory has a run of
// membersRun, with the name run.
func TestCommands(t *testing.T) {
	path := require.Value(filepath.Abs("testdata/commands.txt"))(t)
	run := membersRun(t)
	t.Chdir(t.TempDir())
	require.NoError(t, os.CopyFS("run", os.DirFS(run)))
	require.Cases(t, path, func(t *testing.T, c *require.Case) string {
		text := c.Input
		switch c.Command {
		case "ppal":
			got := commandOn(t.Context(), func(a *app) { a.open, a.stdin = session.New, strings.NewReader(c.Input) }, c.Args...)
			return fmt.Sprintf("%s%sexit status %d\n", got.stdout, settled(got.stderr), got.status)
		case "rows":
			header, rest, _ := strings.Cut(c.Input, "\n")
			repeated, last, _ := strings.Cut(rest, "and\n")
			text = header + "\n" + strings.Repeat(repeated, 20) + last
		case "file":
		default:
			t.Fatal("unknown command")
		}
		require.NoError(t, os.WriteFile(c.Args[0], []byte(text), 0o644))
		return ""
	})
}

// With --json the standard output is one value: of train the summary of the run's directory, of
// sweep the points of its file, of data list a data set each.
func TestJSON(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "members.csv")
	require.NoError(t, os.WriteFile(file, []byte(members(300)), 0o644))
	out := filepath.Join(dir, "run")
	base := []string{"--file", file, "--label", "member", "--iterations", "5", "--allow-violation", "--json", "--out"}
	got := forReal(t, append([]string{"train", "--subject-to", "positive_rate <= 0.9"}, append(base, out)...)...)
	want, err := os.ReadFile(filepath.Join(out, "summary.json"))
	if err != nil || got.status != exitDone || !bytes.Equal(want, []byte(got.stdout)) {
		t.Errorf("%v %d\n%s", err, got.status, got.stdout)
	}
	got = forReal(t, append([]string{"sweep", "--over", "positive_rate", "--values", "0.9,0.5"}, append(base, filepath.Join(dir, "sweep"))...)...)
	var points []struct {
		Bound float64
		Run   string
	}
	if err := json.Unmarshal([]byte(got.stdout), &points); err != nil || len(points) != 2 || points[1].Bound != 0.5 || points[1].Run == "" {
		t.Errorf("%v %+v %s", err, points, got.stderr)
	}
	var list struct {
		Sets []struct{ Name, Description string } `json:"data_sets"`
	}
	if err := json.Unmarshal([]byte(with("", "data", "list", "--json").stdout), &list); err != nil || len(list.Sets) < 8 || list.Sets[0].Description == "" {
		t.Errorf("%v %+v", err, list)
	}
	table := with("", "data", "list").stdout
	for _, set := range list.Sets {
		if !strings.Contains(table, "\n"+set.Name+" ") {
			t.Errorf("%s is not in the table", set.Name)
		}
	}
}
