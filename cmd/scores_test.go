package cmd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/trainer/session/results"
)

// A run with given scores is made, verified, used and repeated as other runs are. Thresholds that
// are not the best, and thresholds that are not those of the model, are found.
func TestGivenScores(t *testing.T) {
	rng, text := rand.New(rand.NewPCG(2, 4)), "score,sex,high\n"
	for i := range 500 {
		x := rng.NormFloat64() + 0.6*float64(i%2)
		high := "no"
		if x+rng.NormFloat64() > 0.7 {
			high = "yes"
		}
		text += fmt.Sprintf("%v,%s,%s\n", 1/(1+math.Exp(-x)), []string{"f", "m"}[i%2], high)
	}
	dir := t.TempDir()
	file, run := filepath.Join(dir, "scores.csv"), filepath.Join(dir, "run")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	ends := func(want int, says string, args ...string) {
		t.Helper()
		if got := forReal(t, args...); got.status != want || !strings.Contains(got.stdout+got.stderr, says) {
			t.Fatalf("%v: %+v", args, got)
		}
	}
	scores := []string{"--file", file, "--label", "high=yes", "--model", "scores", "--score", "score", "--thresholds", "by-group", "--quiet"}
	bounded := append(scores, "--subject-to", "gap(positive_rate, sex) <= 0.1")
	ends(exitDone, "all were compared", append(append([]string{"train"}, bounded...), "--out", run)...)
	ends(exitDone, "numbers agree", "verify", run)
	ends(exitDone, "row,score,decision", "predict", run, "--input", file)
	ends(exitDone, "gap(positive_rate, sex)", "evaluate", run, "--input", file)
	ends(exitDone, "", "export", run, "--onnx", filepath.Join(dir, "m.onnx"))
	ends(exitDone, "thresholds on scores.csv: ", "watch", run)
	ends(exitDone, "", "report", run)
	if page := read(t, run, "report.html"); !strings.Contains(page, "<h1>thresholds on scores.csv</h1>") {
		t.Errorf("the page has another title: %.3000s", page)
	}
	again := filepath.Join(dir, "again")
	ends(exitDone, "", "train", "--config", rundir.Dir(run).Config(), "--out", again, "--quiet")
	one, _ := os.ReadFile(rundir.Dir(run).Model())
	if two, err := os.ReadFile(rundir.Dir(again).Model()); err != nil || string(one) != string(two) {
		t.Errorf("the run repeated from its config.yaml has other weights: %v", err)
	}
	ends(exitDone, "", append(append([]string{"sweep"}, scores...), "--over", "gap(positive_rate, sex)", "--values", "0.05,0.2", "--out", filepath.Join(dir, "sweep"))...)
	for _, flag := range []string{"--iterations", "--batch-size", "--method", "--regularizer"} {
		ends(exitUsage, "a model that is trained", append(append([]string{"train"}, bounded...), flag, map[bool]string{true: "alm", false: "1"}[flag == "--method"])...)
	}
	sum, _, _, err := rundir.ReadSealed(rundir.Dir(run).Summary())
	require.NoError(t, err)
	for says, change := range map[string]func(s *results.Summary){
		"weight 0 of sex=f": func(s *results.Summary) { s.Thresholds.Groups[0].Thresholds[0] += 0.01 },
		"objective":         func(s *results.Summary) { s.Objective -= 0.01 },
		"no certificate":    func(s *results.Summary) { s.Certificate = &results.Certificate{} },
	} {
		own := sum
		thresholds := *sum.Thresholds
		thresholds.Groups = append([]results.GroupThreshold{}, thresholds.Groups...)
		thresholds.Groups[0].Thresholds = append([]float64{}, thresholds.Groups[0].Thresholds...)
		outcome := *sum.Outcome
		outcome.Thresholds, own.Outcome = &thresholds, &outcome
		change(&own)
		require.NoError(t, rundir.Dir(run).WriteSummary(&own))
		ends(exitFailed, says, "verify", run)
	}
}
