package session

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/session/results"
)

// scoredTable writes a table with scores p in groups a and b, and with scores of three classes.
// The scores are stretched and shifted.
func scoredTable(t *testing.T, stretch, shift float64) string {
	t.Helper()
	rng, text := rand.New(rand.NewPCG(3, 5)), "p,g,y,z,s0,s1,s2,h\n"
	for i := range 600 {
		x := rng.NormFloat64()
		g := []string{"a", "b", "b"}[i%3]
		if g == "a" {
			x += 0.7
		}
		y, z := 0, rng.IntN(3)
		if x+rng.NormFloat64() > 0.8 {
			y = 1
		}
		of := func(k int) float64 {
			v := rng.NormFloat64()
			if k == z {
				v += 1.5
			}
			return stretch*v + shift
		}
		text += fmt.Sprintf("%v,%s,%d,%d,%v,%v,%v,%d\n", stretch*x+shift, g, y, z, of(0), of(1), of(2), i%5)
	}
	path := filepath.Join(t.TempDir(), "t.csv")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// chosen trains thresholds.
func chosen(t *testing.T, file, label string, m models.Scores, confidence float64, bounds ...string) (*Result, error) {
	t.Helper()
	task := Decisions{Confidence: confidence, Minimize: constraints.Error()}
	for _, text := range bounds {
		c := require.Value(constraints.Parse(text))(t)
		task.SubjectTo = append(task.SubjectTo, c)
	}
	s, err := New(t.Context(), Options{Data: CSV(file, label), Task: task, Model: m})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = s.Close() })
	r, err := s.Train(t.Context())
	return r, err
}

// Thresholds on given scores meet the bounds, by group better than for all rows, for two classes
// and for three. Another scale of the scores changes no decision on any split. A run has no
// certificate, and its objective is the one on decisions.
func TestThresholdsOnGivenScores(t *testing.T) {
	file, other := scoredTable(t, 1, 0), scoredTable(t, 0.01, 7)
	for _, c := range []struct {
		label, bound string
		columns      []string
		all          [2]bool // for one threshold, by group
		confidence   float64
	}{
		{"y=1", "gap(positive_rate, g) <= 0.05", []string{"p"}, [2]bool{true, true}, 0},
		{"y=1", "fpr[g=*] <= 0.2", []string{"p"}, [2]bool{true, true}, 0},
		{"y=1", "fpr <= 0.2", []string{"p"}, [2]bool{}, 0.9},
		{"z", "gap(recall[1], g) <= 0.05", []string{"s0", "s1", "s2"}, [2]bool{}, 0},
		{"y=1", "gap(tpr, h) <= 0.1", []string{"p"}, [2]bool{true, false}, 0},
	} {
		errs := [2]float64{}
		for k, how := range []models.Thresholds{models.OneThreshold, models.ByGroup} {
			if c.confidence > 0 && how == models.ByGroup {
				continue
			}
			m := models.Scores{Columns: c.columns, Thresholds: how}
			r := require.Value(chosen(t, file, c.label, m, c.confidence, c.bound))(t)
			o := r.Outcome
			if !o.Constraints[0].Met && o.Constraints[0].State != constraints.NotJudged || o.Thresholds.All != c.all[k] || !r.Thresholds || r.Training.Status != trainer.Compared {
				t.Errorf("%s %s: %+v, %+v", c.bound, how, o.Constraints[0], o.Thresholds)
			}
			if errs[k] = *o.Objective.Train; math.Abs(r.Objective-errs[k]) > 1e-12 {
				t.Errorf("%s: the objective is %v, and the error %v", c.bound, r.Objective, errs[k])
			}
			if least := o.Thresholds.Least; least != nil && *least > errs[k]+1e-9 {
				t.Errorf("%s: the bound %v is above the error %v", c.bound, *least, errs[k])
			}
			again := require.Value(chosen(t, other, c.label, m, c.confidence, c.bound))(t)
			for _, split := range results.Splits() {
				if x, y := *o.Objective.Of(split), *again.Outcome.Objective.Of(split); x != y {
					t.Errorf("%s %s: the %s error is %v, and with other scales %v", c.bound, how, split, x, y)
				}
			}
			if p := o.Constraints[0].Promise; c.confidence > 0 && (p == nil || !p.Holds) {
				t.Errorf("%s: the promise is %+v", c.bound, p)
			}
		}
		if c.confidence == 0 && c.bound != "fpr[g=*] <= 0.2" && errs[1] > errs[0]+1e-12 {
			t.Errorf("%s: the error is %v by group, and %v with one threshold", c.bound, errs[1], errs[0])
		}
	}
}

// Settings that do not suit given scores are one clear line.
func TestGivenScoresThatDoNotFit(t *testing.T) {
	file := scoredTable(t, 1, 0)
	lacking := filepath.Join(t.TempDir(), "t.csv")
	require.NoError(t, os.WriteFile(lacking, []byte("p,y\n1,0\n2,1\n,1\n3,1\n4,0\n5,0\n6,1\n7,0\n"), 0o600))
	for name, c := range map[string]struct {
		file, label, option, text string
		m                         models.Scores
		bounds                    []string
	}{
		"no column":       {file, "y=1", "score", "names no column", models.Scores{}, []string{"fpr <= 0.1"}},
		"two columns":     {file, "y=1", "score", "name one column, with the scores of", models.Scores{Columns: []string{"s0", "s1"}}, []string{"fpr <= 0.1"}},
		"three classes":   {file, "z", "score", "name a column for each class", models.Scores{Columns: []string{"s0"}}, []string{"recall[1] >= 0.1"}},
		"texts":           {file, "y=1", "score", "not a column of numbers", models.Scores{Columns: []string{"g"}}, []string{"fpr <= 0.1"}},
		"loss":            {file, "y=1", "subject-to", "change neither a loss nor weights", models.Scores{Columns: []string{"p"}}, []string{"loss <= 0.1"}},
		"l1":              {file, "y=1", "subject-to", "change neither a loss nor weights", models.Scores{Columns: []string{"p"}}, []string{"l1(weights) <= 0.1"}},
		"no group":        {file, "y=1", "thresholds", "no bound compares groups", models.Scores{Columns: []string{"p"}, Thresholds: models.ByGroup}, []string{"fpr <= 0.1"}},
		"two attributes":  {file, "y=1", "thresholds", "needs one column", models.Scores{Columns: []string{"p"}, Thresholds: models.ByGroup}, []string{"gap(tpr, g) <= 0.1", "gap(tpr, h) <= 0.1"}},
		"a comparison":    {file, "y=1", "thresholds", "is not a column", models.Scores{Columns: []string{"p"}, Thresholds: models.ByGroup}, []string{"gap(tpr, h<3) <= 0.1"}},
		"a missing score": {lacking, "y=1", "", "missing value", models.Scores{Columns: []string{"p"}}, []string{"fpr <= 0.5"}},
	} {
		_, err := chosen(t, c.file, c.label, c.m, 0, c.bounds...)
		var refused *OptionError
		if c.option != "" && (!errors.As(err, &refused) || refused.Option != c.option) || err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if o := (Options{Data: Table{Dataset: "adult"}, Task: Decisions{}, Model: models.Scores{Columns: []string{"p"}}}); o.checkScores() == nil {
		t.Error("a published table has no scores")
	}
}
