package cmd

import (
	"bytes"
	"context"
	"fmt"
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
	if got.status != exitDone || !strings.HasPrefix(got.stdout, "auto\nppala\nplada\n") {
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
