package cmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/trainer/session/results"
)

// predict, evaluate and export use the file of weights that --weights names, and refuse in one line
// if a run has no weights of a feasible record that decide.
func TestWeights(t *testing.T) {
	run := membersRun(t)
	dir := rundir.Dir(run)
	// Replace the weights of the best feasible record, so that the files differ for certain.
	m, err := models.LoadFile(dir.Model(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range m.Weights {
		for i := range w.Data {
			w.Data[i] *= -2
		}
	}
	if err := models.SaveFile(dir.Best(), m, tensor.Float64); err != nil {
		t.Fatal(err)
	}
	s, err := rundir.ReadSummary(dir.Summary())
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.WriteSummary(&s); err != nil {
		t.Fatal(err)
	}
	score := func(flags ...string) float64 {
		t.Helper()
		got := with("job,age\nnurse,60\n", append([]string{"predict", run}, flags...)...)
		var row int
		var score float64
		if _, err := fmt.Sscanf(strings.Split(got.stdout+"\n", "\n")[1], "%d,%g,", &row, &score); err != nil {
			t.Fatal(err, got)
		}
		return score
	}
	output := score()
	if got := score("--weights", "output"); got != output {
		t.Errorf("score %v with --weights output, %v without", got, output)
	}
	if got := score("--weights", "best"); got != -2*output || output == 0 {
		t.Errorf("score %v with --weights best, want -2 times %v", got, output)
	}
	table := filepath.Join(t.TempDir(), "members.csv")
	if err := os.WriteFile(table, []byte(members(60)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"evaluate", run, "--input", table}, {"export", run, "--onnx", "-"}} {
		own := command(context.Background(), nil, args...)
		best := command(context.Background(), nil, append(args, "--weights", "best")...)
		if own.status != exitDone || best.status != exitDone || own.stdout == best.stdout {
			t.Errorf("%s: --weights best changes nothing: %+v", args[0], best)
		}
	}

	got := command(context.Background(), nil, "predict", run, "--input", table, "--weights", "last")
	if want := "ppal: --weights last: must be output or best\n"; got.status != exitUsage || !strings.HasPrefix(got.stderr, want) {
		t.Errorf("%+v, want %s", got, want)
	}
	for text, change := range map[string]func(*results.Summary){
		"no record was feasible":      func(s *results.Summary) { s.BestFeasible = nil },
		"there is no best.safetensor": func(*results.Summary) { os.Remove(dir.Best()) },
		"the bounds are on decisions": func(s *results.Summary) { s.Outcome = &results.Outcome{BoundsOn: constraints.OnDecisions} },
	} {
		t.Run(text, func(t *testing.T) {
			old, err := os.ReadFile(dir.Summary())
			if err != nil {
				t.Fatal(err)
			}
			defer os.WriteFile(dir.Summary(), old, 0o644)
			s, err := rundir.ReadSummary(dir.Summary())
			if err != nil {
				t.Fatal(err)
			}
			change(&s)
			if err := dir.WriteSummary(&s); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"predict", run, "--input", table}, {"evaluate", run, "--input", table}, {"export", run, "--onnx", "-"}} {
				got := command(context.Background(), nil, append(args, "--weights", "best")...)
				if got.status != exitUsage || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, text) ||
					!strings.Contains(got.stderr, "use --weights output") {
					t.Errorf("%s: %+v", args[0], got)
				}
			}
		})
	}
}
