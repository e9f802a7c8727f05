package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/racing"
	"ppal/internal/require"
	"ppal/trainer/session"
)

// TestConstraintsOfTheCommandLine trains under constraints given as text, and repeats the run from
// its config.yaml.
func TestConstraintsOfTheCommandLine(t *testing.T) {
	racing.Skip(t, "TestTableInfeasible and TestNamesOfFiles run the same goroutines")
	train := func(args ...string) outcome {
		return commandOn(t.Context(), func(a *app) { a.open = session.New }, args...)
	}
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	flags := []string{"train", "--dataset", "synthetic-adult", "--subject-to", "gap(tpr, sex) <= 5%", "--subject-to", "fpr[Female] <= 0.2; l1(weights) <= 20",
		"--minimize", "error", "--bounds-on", "surrogate", "--iterations", "20", "--quiet", "--out", first}
	if o := train(flags...); o.status != exitDone && o.status != exitUnmet {
		t.Fatalf("status %d: %s", o.status, o.stderr)
	}
	config := require.Value(os.ReadFile(filepath.Join(first, "config.yaml")))(t)
	for _, want := range []string{"problem: rates", "minimize: error", "gap(tpr, sex) <= 0.05", "fpr[Female] <= 0.2", "l1(weights) <= 20", "bounds-on: surrogate"} {
		if !strings.Contains(string(config), want) {
			t.Errorf("no %q in\n%s", want, config)
		}
	}
	if o := train("train", "--config", filepath.Join(first, "config.yaml"), "--quiet", "--out", second); o.status != exitDone && o.status != exitUnmet {
		t.Fatalf("status %d: %s", o.status, o.stderr)
	}
	var texts [2][]string
	for k, run := range []string{first, second} {
		data := require.Value(os.ReadFile(filepath.Join(run, "summary.json")))(t)
		var summary struct {
			Decisions []struct {
				Constraint string
				Train      *float64
			}
		}
		require.NoError(t, json.Unmarshal(data, &summary))
		for _, d := range summary.Decisions {
			if d.Train == nil {
				t.Errorf("%s has no value", d.Constraint)
			}
			texts[k] = append(texts[k], d.Constraint)
		}
	}
	if got := strings.Join(texts[0], "; "); got != "gap(tpr, sex) <= 0.05; fpr[Female] <= 0.2; l1(weights) <= 20" || got != strings.Join(texts[1], "; ") {
		t.Errorf("%q, and again %q", got, texts[1])
	}
}
