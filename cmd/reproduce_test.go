package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/session"
)

func TestReproduceList(t *testing.T) {
	got := command(t.Context(), nil, "reproduce", "--list")
	if got.status != exitDone || got.stderr != "" {
		t.Fatalf("status %d, %s", got.status, got.stderr)
	}
	require.Golden(t, "testdata/reproduce-list.txt", got.stdout)
}

// A whole study on a stub instead of the data writes both comparisons, the verdicts and the files.
// The same command again runs nothing.
func TestReproduce(t *testing.T) {
	dir, data := filepath.Join(t.TempDir(), "out"), t.TempDir()
	for range 2 {
		got := command(t.Context(), nil, "reproduce", "mnpc-fashion-mnist", "--seeds", "1", "--data-dir", data, "--out", dir)
		if got.status != exitDone {
			t.Fatal(got.stderr)
		}
		for _, text := range []string{"(published steps)", "(automatic steps)", "  gdpa-ratio-1.1", "Verdicts:", "PPALA is ahead of GDPA in stationarity"} {
			if !strings.Contains(got.stdout, text) {
				t.Errorf("no %q in\n%s", text, got.stdout)
			}
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "published", "runs", "ppala-seed1.jsonl.part"), nil, 0o644))
	}
	for _, name := range []string{"summary.md", "published/results.jsonl", "automatic/plots/overview.svg", "automatic/plots/multipliers-ppala.svg"} {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "published", "runs", "ppala-seed1.jsonl.part")); err != nil {
		t.Error("a finished run was done again: ", err)
	}
}

// An interrupted experiment names its own directory, not that of the comparison.
func TestReproduceInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := filepath.Join(t.TempDir(), "out")
	got := command(ctx, nil, "reproduce", "mnpc-fashion-mnist", "--seeds", "1", "--data-dir", t.TempDir(), "--out", dir)
	if got.status == exitDone || !strings.HasSuffix(got.stderr, "repeat the command with --out "+dir+" to continue\n") {
		t.Errorf("status %d, %s", got.status, got.stderr)
	}
	part := filepath.Join(dir, "published")
	require.NoError(t, errors.Join(os.MkdirAll(part, 0o755), os.WriteFile(filepath.Join(part, "study.yaml"), nil, 0o644)))
	got = command(t.Context(), nil, "reproduce", "gdpa-cifar10", "--seeds", "1", "--data-dir", t.TempDir(), "--out", dir)
	if got.status != exitUsage || !strings.Contains(got.stderr, "in it is of another experiment than gdpa-cifar10; use a new directory") {
		t.Errorf("another experiment: status %d, %s", got.status, got.stderr)
	}
}

// An experiment that ends in its second comparison has the report of its first.
func TestReproduceReportsEachComparison(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	require.NoError(t, errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "automatic"), nil, 0o644)))
	got := command(t.Context(), nil, "reproduce", "mnpc-fashion-mnist", "--seeds", "1", "--data-dir", t.TempDir(), "--out", dir)
	summary, err := os.ReadFile(filepath.Join(dir, "summary.md"))
	if got.status == exitDone || err != nil || !strings.Contains(string(summary), "(published steps): GDPA fails") || strings.Contains(string(summary), "automatic steps") {
		t.Errorf("status %d, %s, %v\n%s", got.status, got.stderr, err, summary)
	}
	if _, err := os.Stat(filepath.Join(dir, "journal.json")); err != nil {
		t.Error(err)
	}
}

// With MSLR in place, the ranking experiment trains on its kept queries, here few small ones,
// counts their pairs, says that MQ2008 is missing, and judges both claims. The same command again
// runs nothing.
func TestReproduceRanking(t *testing.T) {
	require.NoRace(t, "TestReproduce and TestRankingCommands run the same goroutines")
	data, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	require.NoError(t, os.MkdirAll(filepath.Join(data, "mslr", "Fold1"), 0o755))
	for part, name := range []string{"train", "vali", "test"} {
		var b strings.Builder
		for q := range 5 {
			for i := range 40 {
				fmt.Fprintf(&b, "%d qid:%d 1:%d 2:%d 133:%d\n", i%2*2, 10*part+q, (i*7+q)%13+i%2*3, i*q%5, i/2%2)
			}
		}
		require.NoError(t, os.WriteFile(filepath.Join(data, "mslr", "Fold1", name+".txt"), []byte(b.String()), 0o644))
	}
	for range 2 {
		got := commandOn(t.Context(), func(a *app) { a.open = session.New }, "reproduce", "ranking-mslr", "--seeds", "1", "--data-dir", data, "--out", out)
		if got.status != exitDone {
			t.Fatal(got.stderr)
		}
		for _, text := range []string{"  plada-paper", "  multiplier-model", "  common-multipliers", "  unconstrained", "MQ2008 is missing",
			"mslr-filtered with seed 1 has 4 training queries, 140 documents and 1200 pairs", "The paper has over 470,000 pairs",
			"plada beats the multiplier model in test pair error. test pair error of plada 0.", "plada-paper beats the multiplier model in train query gap p90"} {
			if !strings.Contains(got.stdout, text) {
				t.Errorf("no %q in\n%s", text, got.stdout)
			}
		}
		require.NoError(t, os.WriteFile(filepath.Join(out, "published", "runs", "plada-seed1.jsonl.part"), nil, 0o644))
	}
	text, err := os.ReadFile(filepath.Join(out, "published", "plots", "overview.svg"))
	if err != nil || !strings.Contains(string(text), ">epoch<") {
		t.Errorf("the overview has no epochs: %v", err)
	}
	if _, err := os.Stat(filepath.Join(out, "published", "runs", "plada-seed1.jsonl.part")); err != nil {
		t.Error("a finished run was done again: ", err)
	}
}

func TestReproduceRefuses(t *testing.T) {
	for args, text := range map[string]string{
		"dp-mars":           `no such experiment: "dp-mars"; choose one of dp-adult`,
		"duals --seeds 0":   "--seeds 0: must be a number of seeds",
		"duals dp-adult":    "want the name of one experiment",
		"--list duals":      "",
		"duals --list=many": "",
		"duals --full":      "duals: always uses all data: leave out --full",
		"decisions --full":  "decisions: always uses all data: leave out --full",
	} {
		got := command(t.Context(), nil, append([]string{"reproduce"}, strings.Fields(args)...)...)
		if got.status == exitDone || !strings.Contains(got.stderr, text) || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%s: status %d, %s", args, got.status, got.stderr)
		}
	}
}

// Without the Python environment, the comparison continues and says how to create the environment.
// Without the data, the comparison ends with an error.
func TestReproduceDecisionsRefuses(t *testing.T) {
	out, data := filepath.Join(t.TempDir(), "out"), t.TempDir()
	got := command(t.Context(), nil, "reproduce", "decisions", "--checkout", data, "--data-dir", data, "--out", out)
	if got.status == exitDone || !strings.Contains(got.stderr, "only ppal is measured") || !strings.Contains(got.stderr, "make peers") ||
		!strings.Contains(got.stderr, "ppal data fetch adult") {
		t.Errorf("status %d, %s", got.status, got.stderr)
	}
	if got := command(t.Context(), nil, "reproduce", "decisions", "--seeds", "0"); got.status == exitDone || !strings.Contains(got.stderr, "--seeds 0: must be at least 1") {
		t.Errorf("status %d, %s", got.status, got.stderr)
	}
}

// Without the Python environment, the suite measures ppal and says how to make the environment.
func TestReproduceSuite(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	got := command(t.Context(), nil, "reproduce", "suite", "--problems", "hs043", "--evaluations", "20", "--checkout", t.TempDir(), "--out", out)
	if got.status != exitDone || !strings.Contains(got.stderr, "only ppal is measured") || !strings.Contains(got.stderr, "make peers") {
		t.Errorf("status %d, %s", got.status, got.stderr)
	}
	for _, text := range []string{"1 problems to tune on and 0 held out, up to 20 evaluations", "| hs043 | -44 |", "Files in " + out} {
		if !strings.Contains(got.stdout, text) {
			t.Errorf("no %q in\n%s", text, got.stdout)
		}
	}
}

func TestReproduceSuiteOracle(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace")
	got := with("Q", "reproduce", "suite", "--oracle", "hs043", "--trace", trace)
	header := `{"problem":"hs043","n":4,"m":3,"radius":null,"lower":null,"upper":null,"dtype":"float64"}` + "\n"
	if got.status != exitDone || got.stdout != header+strings.Repeat("\x00", 32) {
		t.Errorf("status %d, %q, %s", got.status, got.stdout, got.stderr)
	}
	text, err := os.ReadFile(trace)
	if err != nil || !strings.HasPrefix(string(text), `{"checkpoint":10,"seconds":0,"best":null,"epsilon":null,"multipliers":null}`) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestReproduceSuiteRefuses(t *testing.T) {
	for args, text := range map[string]string{
		"--problems hs0":   `no problem "hs0" (see ppal reproduce suite --list)`,
		"--oracle hs0":     `no problem "hs0"`,
		"--evaluations -1": "want numbers of at least 0",
		"--contenders x --problems hs043 --out X": `no such contender "x" (choose from ["ppal" "nesterov"`,
		"hs043": "",
	} {
		words := append([]string{"reproduce", "suite", "--checkout", t.TempDir()}, strings.Fields(strings.ReplaceAll(args, "X", t.TempDir()))...)
		got := command(t.Context(), nil, words...)
		if got.status != exitUsage || !strings.Contains(got.stderr, text) {
			t.Errorf("%s: status %d, %s", args, got.status, got.stderr)
		}
	}
}
