package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/loader"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/models/predictor"
	"ppal/trainer/session/results"
)

// members returns a CSV table whose class depends on a number and a category.
func members(rows int) string {
	var text strings.Builder
	text.WriteString("age,job,member\n")
	for i := range rows {
		member := "no"
		if (i*7%60 > 25) != (i%11 == 0) {
			member = "yes"
		}
		fmt.Fprintf(&text, "%d,%s,%s\n", 18+i*7%60, []string{"clerk", "nurse"}[i%2], member)
	}
	return text.String()
}

// saved trains on the data, saves the run and returns its directory.
func saved(t *testing.T, data Source, task Task) string {
	t.Helper()
	o := Options{Data: data, Task: task}
	o.Settings.Iterations = 20
	s := require.Value(New(context.Background(), o))(t)
	defer s.Close()
	require.Value(s.Train(context.Background()))(t)
	dir := filepath.Join(t.TempDir(), "run")
	require.NoError(t, s.Save(dir))
	return dir
}

// Every row of the table is in exactly one split. The constraints that a published problem stands
// for describe this problem.
func TestModelOfTable(t *testing.T) {
	require.NoRace(t, "TestDecisionsTrain runs the same goroutines")
	file := filepath.Join(t.TempDir(), "members.csv")
	require.NoError(t, os.WriteFile(file, []byte(members(400)), 0o644))
	dir := rundir.Dir(saved(t, CSV(file, "member", "job=nurse"), DemographicParity{}))
	m := require.Value(dir.ReadModel())(t)
	if m.Kind != models.KindLinear || m.Input.Format != results.FormatText || m.Decision.Classes[1].Value != "yes" || m.Decision.Label.Column != "member" {
		t.Errorf("%+v", m)
	}
	if len(m.Constraints) == 0 {
		t.Error("no constraints")
	}
	for _, text := range m.Constraints {
		if _, err := constraints.Parse(text); err != nil {
			t.Error(err)
		}
	}
	rows, err := dir.ReadRows(m.Rows)
	if err != nil || len(rows) != 400 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	counts := map[results.Split]int{}
	for i, r := range rows {
		if r.Number != i+1 {
			t.Fatalf("line %d is row %d", i+1, r.Number)
		}
		counts[r.Split]++
	}
	if counts[results.Training] != 280 || counts[results.Validation] != 60 || counts[results.Test] != 60 {
		t.Errorf("rows by split: %v", counts)
	}
}

// The file of the splits names the data set's file of each picture.
func TestModelOfPictures(t *testing.T) {
	notUnderRace(t)
	dir := rundir.Dir(saved(t, Images{Dataset: "synthetic", RowsPerClass: 40, Split: tabular.Split{Train: 75, Validation: 25}}, NeymanPearson{}))
	m := require.Value(dir.ReadModel())(t)
	if m.Kind != models.KindNetwork || m.Input.Format != results.FormatPictures || m.Decision.Rule != results.RuleLargest || *m.Decision.Classes[3].Number != 3 {
		t.Errorf("%+v", m)
	}
	rows := require.Value(dir.ReadRows(m.Rows))(t)
	counts := map[string]int{}
	for _, r := range rows {
		counts[r.File+" "+string(r.Split)]++
	}
	if len(counts) != 3 || counts["train train"] != 120 || counts["train validation"] != 40 || counts["test test"] == 0 {
		t.Errorf("rows by set and split: %v", counts)
	}
}

// The predictions of a model can serve as the earlier decisions of a churn constraint. The churn of
// a model compared with its own predictions is 0.
func TestChurnOfPredictions(t *testing.T) {
	folder := t.TempDir()
	file, earlier := filepath.Join(folder, "members.csv"), filepath.Join(folder, "old.csv")
	require.NoError(t, os.WriteFile(file, []byte(members(400)), 0o644))
	gap := constraints.Gap(constraints.PositiveRate, "job").AtMost(0.5)
	m, err := predictor.Load(saved(t, CSV(file, "member"), Decisions{SubjectTo: []constraints.Constraint{gap}}))
	require.NoError(t, err)
	text := "row,score,decision\n"
	err = m.Read(strings.NewReader(members(400)), file, predictor.Options{}, func(b *predictor.Batch) error {
		for i, d := range b.Decisions {
			text += fmt.Sprintf("%d,%v,%s\n", b.First+i+1, b.Scores[i], m.Classes()[d])
		}
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(earlier, []byte(text), 0o644))
	texts := [][]string{{"member=no", "no"}, {"member=yes", "yes"}}
	decisions, err := loader.ReadDecisions(earlier, texts...)
	if err != nil || len(decisions) != 400 {
		t.Fatalf("%d decisions, %v", len(decisions), err)
	}
	require.NoError(t, os.WriteFile(earlier, []byte("row,decision\n1,perhaps\n"), 0o644))
	_, err = loader.ReadDecisions(earlier, texts...)
	if !errors.Is(err, dataerr.ErrLabel) || !strings.Contains(err.Error(), `"perhaps", want one of member=no, no, member=yes, yes`) {
		t.Errorf("an unknown decision: %v", err)
	}
}
