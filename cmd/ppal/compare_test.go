package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A comparison of three methods prints the table and the settings of each method, and writes the
// plots. A method's own setting goes only to the methods that have it.
func TestCompare(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	got := command(t.Context(), nil, "compare", "--methods", "ppala,gdpa,penalty", "--seeds", "2", "--iterations", "20", "--alpha", "5",
		"--set", "gdpa.step=0.01", "--out", dir)
	if got.status != exitDone {
		t.Fatal(got.stderr)
	}
	for _, text := range []string{"| ppala |", "| gdpa |", "`--alpha 5`", "`--gdpa-step 0.01`", "20 iterations", "Files in " + dir} {
		if !strings.Contains(got.stdout, text) {
			t.Errorf("no %q in\n%s", text, got.stdout)
		}
	}
	if strings.Count(got.stdout, "--alpha 5") != 1 {
		t.Error("--alpha was given to others than ppala")
	}
	if !strings.Contains(got.stderr, "6 of 6 runs done") {
		t.Errorf("stderr: %s", got.stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "plots", "overview.svg")); err != nil {
		t.Error(err)
	}
}

// Bad input gives one line of error that names the flag or the line of the file.
func TestCompareRefuses(t *testing.T) {
	grid := filepath.Join(t.TempDir(), "grid.yaml")
	if err := os.WriteFile(grid, []byte("alm: {alm-inner: [1]}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	bound := filepath.Join(t.TempDir(), "bound.yaml")
	if err := os.WriteFile(bound, []byte("plada:\n  epsilon: [0.005, 0.05]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for args, text := range map[string]string{
		"--methods plada --problem dp --tune " + bound: bound + ":2: invalid comparison: epsilon changes the problem, which all methods share; " +
			"give --epsilon to the whole comparison",
		"--methods ppala,plada --problem dp --set plada.epsilon=0.05": "--set plada.epsilon=0.05: epsilon changes the problem, which all methods share; " +
			"give --epsilon to the whole comparison",
		"--methods ppala,sgd":                          "--methods sgd: unknown; did you mean ssg?",
		"--methods gdpa,penalty --alpha 3":             "--alpha: does not apply to any of the methods",
		"--budget hours:1":                             "--budget hours:1: compare: invalid comparison: unknown budget",
		"--seeds 0":                                    "--seeds 0: must be at least 1",
		"--set eta=1":                                  "--set eta=1: must be METHOD.SETTING=VALUE",
		"--set plada.eta=1":                            "--set plada.eta=1: plada is not one of the methods",
		"--set gdpa.alpha=1":                           "--alpha 1: used only with --method ppala or plada (now gdpa)",
		"--tune " + grid:                               "has a grid for alm",
		"--methods ppala,ppala --out " + t.TempDir():   "given twice",
		"--iterations many":                            "--iterations many: must be a whole number",
		"--tune " + filepath.Join(t.TempDir(), "none"): "no such file",
	} {
		got := command(t.Context(), nil, append([]string{"compare"}, strings.Fields(args)...)...)
		if got.status == exitDone || !strings.Contains(got.stderr, text) || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%s: status %d, %s", args, got.status, got.stderr)
		}
	}
}
