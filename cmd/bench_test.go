package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"ppal/internal/bench"
	"ppal/internal/require"
)

// benched runs the command on cases with a hundredth of their rows, without data files.
func benched(t *testing.T, args ...string) outcome {
	t.Helper()
	common := []string{"bench", "--data-dir", t.TempDir(), "--seconds", "1e-3", "--threads", "2"}
	return commandOn(t.Context(), nothing, append(common, args...)...)
}

func nothing(*app) {}

// measured replaces the values that depend on the machine.
func measured(text string) string {
	for _, r := range []struct{ pattern, with string }{
		{`("(?:[a-z_]*_ms|ms|ratio|floor_gflops|iterations|allocations|peak_bytes|allocated_bytes|cores)": )[0-9.e+-]+`, `${1}0`},
		{`(?s)("[a-z_]*quartiles_ms": \[)[^]]*\]`, `${1}0, 0]`},
		{`("(?:cpu|version|kernels)": ")[^"]*`, `${1}X`},
	} {
		text = regexp.MustCompile(r.pattern).ReplaceAllString(text, r.with)
	}
	return text
}

func TestBenchJSON(t *testing.T) {
	require.NoRace(t, "the tests of internal/bench and internal/cpu run these goroutines")
	// a case of each form of the rows and of the constraints; every machine supports the level go
	got := benched(t, "--json", "--simd", "go", "--cases", "mnpc-fashion-mnist-separate,dp-adult,dp-bank,if-communities")
	if got.status != exitDone {
		t.Fatalf("%+v", got)
	}
	require.Golden(t, "testdata/bench.json", measured(got.stdout))
	if want := "mnpc-fashion-mnist-separate (1 of 4)\n"; !strings.HasPrefix(got.stderr, want) {
		t.Errorf("stderr %q", got.stderr)
	}
}

func TestBenchList(t *testing.T) {
	got := benched(t, "--list", "--simd", "go")
	if got.status != exitDone {
		t.Fatalf("%+v", got)
	}
	require.Golden(t, "testdata/bench-list.txt", got.stdout)
	if got = benched(t, "--list", "--memory"); got.status != exitDone || !strings.HasPrefix(got.stdout, "memory-fashion-mnist ") {
		t.Errorf("%+v", got)
	}
}

// The command runs the chosen cases, and its table shows everything that was measured.
func TestBenchTable(t *testing.T) {
	require.NoRace(t, "the tests of internal/bench and internal/cpu run these goroutines")
	got := benched(t, "--cases", "dp-adult,mnpc-fashion-mnist", "--dtype", "float64")
	if got.status != exitDone {
		t.Fatalf("%+v", got)
	}
	for _, pattern := range []string{
		`(?m)^.*, \d+ cores; 2 threads, \w+ kernels, float64$`,
		`(?m)^dp-adult +488 x 123 x 1, 6832 non-zeros +[0-9.]+ \([0-9.]+\.\.[0-9.]+\) +\d+ +[0-9.]+ \([0-9.]+\.\.[0-9.]+\) +[0-9.]+$`,
		`(?m)^mnpc-fashion-mnist +240 x 784 x 256 `,
		`(?m)^dp-adult +synthetic +float64 \(auto\) +2 +\d+, \d+ bytes +\d+ MiB$`,
		`(?m)^dp-adult +a dense pass over the same rows in float64 +[0-9.]+ \([0-9.]+\.\.[0-9.]+\) ms +ratio [0-9.]+$`,
	} {
		if !regexp.MustCompile(pattern).MatchString(got.stdout) {
			t.Errorf("no %s in\n%s", pattern, got.stdout)
		}
	}
	if strings.Contains(got.stdout, "note:") {
		t.Errorf("a note in\n%s", got.stdout)
	}
}

// If there are several cases, each case runs in its own process.
func TestBenchMemory(t *testing.T) {
	require.NoRace(t, "the tests of internal/bench and internal/cpu run these goroutines")
	var processes []string
	measured := map[string][]byte{}
	prepare := func(a *app) {
		a.self = func(ctx context.Context, args []string) ([]byte, error) {
			line := strings.Join(args, " ")
			if processes = append(processes, line); measured[line] == nil {
				measured[line] = []byte(commandOn(ctx, nothing, args...).stdout)
			}
			return measured[line], nil
		}
	}
	dir := t.TempDir()
	got := commandOn(t.Context(), prepare, "bench", "--memory", "--threads", "2", "--data-dir", dir, "--json")
	var r bench.Report
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil || got.status != exitDone {
		t.Fatalf("%v, %+v", err, got)
	}
	if len(processes) != 2 || processes[1] != "bench --memory --json --cases memory-cifar10 --data-dir "+dir+" --threads 2" {
		t.Errorf("processes %q", processes)
	}
	if len(r.Memory) != 2 || r.Memory[0].Rows != 600 || r.Memory[1].Features != 3072 || r.Memory[1].Bound != r.Memory[1].Terms.Sum() {
		t.Errorf("%+v", r.Memory)
	}
	got = commandOn(t.Context(), prepare, "bench", "--memory", "--threads", "2", "--data-dir", dir)
	if got.status != exitDone || !strings.Contains(got.stdout, "memory-cifar10: bound = packed data ") {
		t.Errorf("%+v", got)
	}
	broken := func(a *app) {
		a.self = func(context.Context, []string) ([]byte, error) { return nil, errors.New("no such program") }
	}
	got = commandOn(t.Context(), broken, "bench", "--memory")
	if got.status != exitFailed || got.stderr != "ppal: measuring memory-fashion-mnist in its own process: no such program\n" {
		t.Errorf("%+v", got)
	}
}

func TestBenchGrowth(t *testing.T) {
	require.NoRace(t, "the tests of internal/bench and internal/cpu run these goroutines")
	got := benched(t, "--growth", "--json")
	var r bench.Report
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil || got.status != exitDone || r.Growth == nil {
		t.Fatalf("%v, %+v", err, got)
	}
	if g := r.Growth; len(g.Rows) != len(g.Iteration) || g.Rows[0] != 10 || g.Width != 256 || r.Cases != nil {
		t.Errorf("%+v", r)
	}
	line := regexp.MustCompile(`line: \S+ ms \+ \S+ ms for 1,000 rows, R\^2 = [01]\.\d+`)
	if got = benched(t, "--growth"); got.status != exitDone || !line.MatchString(got.stdout) {
		t.Errorf("%+v", got)
	}
}

func TestBenchInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	got := commandOn(ctx, nothing, "bench", "--cases", "dp-adult", "--data-dir", t.TempDir())
	if got.status != exitInterrupted || !strings.HasSuffix(got.stderr, "ppal: interrupted; no results are printed\n") {
		t.Errorf("%+v", got)
	}
}
