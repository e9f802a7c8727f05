package cmd

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/internal/racing"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// The demo of make run ends with a bound that holds on the decisions of all splits, including the
// test rows. The model does not reject everybody.
func TestDemo(t *testing.T) {
	racing.Skip(t, "TestTrainForReal trains with the same goroutines")
	makefile := require.Value(os.ReadFile("../Makefile"))(t)
	line := regexp.MustCompile(`(?m)^\t\./bin/ppal (train.*)$`).FindSubmatch(makefile)
	if line == nil {
		t.Fatal("the Makefile has no demo")
	}
	var args []string
	for k, part := range strings.Split(string(line[1]), `"`) {
		if k%2 == 1 { // in quotation marks
			args = append(args, part)
		} else {
			args = append(args, strings.Fields(part)...)
		}
	}
	dir := filepath.Join(t.TempDir(), "run")
	got := commandOn(t.Context(), func(a *app) { a.open = session.New }, append(args, "--quiet", "--out", dir)...)
	if got.status != exitDone {
		t.Fatalf("%+v", got)
	}
	sum := require.Value(rundir.ReadSummary(rundir.Dir(dir).Summary()))(t)
	if sum.Outcome == nil || sum.BoundsOn != constraints.OnDecisions || len(sum.Outcome.Constraints) == 0 {
		t.Fatalf("%+v", sum.Outcome)
	}
	for _, c := range sum.Outcome.Constraints {
		for _, split := range results.Splits() {
			if v := c.Of(split); v == nil || *v > c.Bound+5e-4 || !c.Met {
				t.Errorf("%s on %s rows: %v, met %v", c.Constraint, split, v, c.Met)
			}
		}
	}
	if a := sum.AcceptanceRate.Train; *a < 0.05 {
		t.Errorf("acceptance rate %v", *a)
	}
}
