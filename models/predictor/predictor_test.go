package predictor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ppal/datasets"
	"ppal/datasets/tabular"
	"ppal/internal/disk"
	"ppal/internal/newrows"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/models/predictor"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// people returns a table with numbers, a category with missing values, and a label.
func people(rows int) string {
	rng := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	text.WriteString("id,age,income,job,member\n")
	for i := range rows {
		age, job := 18+rng.IntN(60), []string{"clerk", "nurse", "NA"}[rng.IntN(3)]
		income := strconv.FormatFloat(1000*rng.Float64(), 'f', 2, 64)
		if rng.IntN(20) == 0 {
			income = ""
		}
		member := "no"
		if float64(age)+30*rng.NormFloat64() > 45 != (job == "nurse") {
			member = "yes"
		}
		fmt.Fprintf(&text, "%d,%d,%s,%s,%s\n", i, age, income, job, member)
	}
	return text.String()
}

// train trains on the data and returns the run's directory and result.
func train(t testing.TB, data session.Source, task session.Task, hidden ...int) (string, *session.Result) {
	t.Helper()
	return trainModel(t, data, task, models.Spec{Hidden: hidden})
}

func trainModel(t testing.TB, data session.Source, task session.Task, model models.Architecture) (string, *session.Result) {
	t.Helper()
	o := session.Options{Data: data, Task: task, Model: model}
	o.Settings.Iterations, o.Settings.Seed = 40, 3
	s := require.Value(session.New(context.Background(), o))(t)
	defer s.Close()
	r := require.Value(s.Train(context.Background()))(t)
	dir := filepath.Join(t.TempDir(), "run")
	require.NoError(t, s.Save(dir))
	return dir, r
}

// write writes a file and returns its path.
func write(t testing.TB, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "people.csv")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	return path
}

// wrong returns, for each split, the share of a file's rows that the model decides wrongly.
func wrong(t *testing.T, dir string, file string, labels func(b *predictor.Batch) []int, o predictor.Options) map[results.Split]float64 {
	t.Helper()
	m, err := predictor.Load(dir)
	require.NoError(t, err)
	rows, err := rundir.Dir(dir).ReadRows(m.Description().Rows)
	require.NoError(t, err)
	of := map[int]results.Split{}
	for _, r := range rows {
		of[r.Number] = r.Split
	}
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	wrong, all := map[results.Split]float64{}, map[results.Split]float64{}
	err = m.Read(f, file, o, func(b *predictor.Batch) error {
		truth := labels(b)
		for i, decision := range b.Decisions {
			split := of[b.First+i+1]
			all[split]++
			if decision != truth[i] {
				wrong[split]++
			}
		}
		return nil
	})
	require.NoError(t, err)
	for split := range wrong {
		wrong[split] /= all[split]
	}
	return wrong
}

// A loaded run makes exactly the errors that the session measured on its splits.
func TestErrors(t *testing.T) {
	file := write(t, people(2000))
	for name, hidden := range map[string][]int{"linear": nil, "network": {8}} {
		source := session.CSV(file, "member", "age<40")
		source.Ignore, source.Missing = []string{"id"}, tabular.MissingImputed
		dir, result := train(t, source, session.DemographicParity{}, hidden...)
		m := require.Value(predictor.Load(dir))(t)
		label := m.Description().Decision.Label
		got := wrong(t, dir, file, func(b *predictor.Batch) []int {
			return require.Value(newrows.LabelClasses(label, b.Kept[0]))(t)
		}, predictor.Options{Keep: []string{"member"}})
		for _, split := range result.Splits {
			if want := split.Named["error"]; got[split.Name] != want {
				t.Errorf("%s: %s error %v, the session measured %v", name, split.Name, got[split.Name], want)
			}
		}
		if classes := m.Classes(); classes[0] != "no" || classes[1] != "yes" {
			t.Errorf("%s: classes %v", name, classes)
		}
	}
}

// Scores of prepared rows equal the scores of Read, and Decide uses the same rule as Read.
func TestScores(t *testing.T) {
	file := write(t, people(300))
	source := session.CSV(file, "member", "age<40")
	source.Ignore, source.Missing = []string{"id"}, tabular.MissingImputed
	dir, _ := train(t, source, session.DemographicParity{})
	m, err := predictor.Load(dir)
	require.NoError(t, err)
	var features []float64
	rows := newrows.NewRows{Preparation: m.Preparation(), Work: func(x, results []float64) ([]float64, error) { return append(results, x...), nil },
		Emit: func(b *newrows.Block) error { features = append(features, b.Results...); return nil }}
	require.NoError(t, rows.Read(strings.NewReader(people(300)), "people"))
	scores, err := m.Scores(features)
	require.NoError(t, err)
	decisions := m.Decide(scores)
	err = m.Read(strings.NewReader(people(300)), "people", predictor.Options{}, func(b *predictor.Batch) error {
		for i, s := range b.Scores {
			if s != scores[b.First+i] || b.Decisions[i] != decisions[b.First+i] || (s > 0) != (b.Decisions[i] == 1) {
				return fmt.Errorf("row %d: score %v, decision %d", b.First+i+1, s, b.Decisions[i])
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if _, ok := m.Probability(1); ok {
		t.Error("a probability without a fitted sigmoid")
	}
	if 300*len(m.Features()) != len(features) {
		t.Errorf("features %v", m.Features())
	}
}

// Load refuses a run whose files do not fit each other.
func TestLoadErrors(t *testing.T) {
	file := write(t, people(300))
	source := session.CSV(file, "member", "age<40")
	source.Ignore, source.Missing = []string{"id"}, tabular.MissingImputed
	dir, _ := train(t, source, session.DemographicParity{})
	change := func(old, with string) {
		t.Helper()
		path := rundir.Dir(dir).ModelDescription()
		text := require.Value(os.ReadFile(path))(t)
		text = regexp.MustCompile(`"checksum": "\w+"`).ReplaceAll(bytes.Replace(text, []byte(old), []byte(with), 1), []byte(`"checksum": "`+disk.BlankSum+`"`))
		disk.Seal(text)
		require.NoError(t, os.WriteFile(path, text, 0o644))
	}
	for _, tc := range [][3]string{
		{`"features": 6`, `"features": 5`, "model.json has 5 features, the weights have 6"},
		{`"rule": "sign"`, `"rule": "largest"`, "1 scores and 2 classes"},
		{`"preparation": `, `"preparations": `, "need preparation.yaml, which model.json does not name"},
		{`"rule": "sign"`, `"rule": "coin"`, `unknown rule of decision "coin"`},
	} {
		change(tc[0], tc[1])
		if _, err := predictor.Load(dir); !errors.Is(err, predictor.ErrModel) || !strings.Contains(err.Error(), tc[2]) {
			t.Errorf("%s: %v", tc[1], err)
		}
		change(tc[1], tc[0])
	}
	require.Value(predictor.Load(dir))(t)
	require.NoError(t, os.Remove(rundir.Dir(dir).Preparation()))
	if _, err := predictor.Load(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no preparation: %v", err)
	}
	require.NoError(t, os.Remove(rundir.Dir(dir).ModelDescription()))
	if _, err := predictor.Load(dir); !errors.Is(err, rundir.ErrIncomplete) {
		t.Errorf("no description: %v", err)
	}
}

// The test reads rows of every format of the built-in and of the published data sets.
func TestPublished(t *testing.T) {
	data := os.Getenv(datasets.EnvData)
	if data == "" {
		t.Skip(datasets.EnvData + " is not set")
	}
	for _, tc := range []struct {
		dataset, file string
		task          session.Task
	}{
		{"bank", "bank/bank-additional-full.csv", session.DemographicParity{}},
		{"communities", "communities/communities.data", session.Intersectional{}},
		{"adult", "adult/a9a", session.DemographicParity{}},
		{"compas", "compas/compas-scores-two-years.csv", session.EqualizedOdds{}},
	} {
		dir, result := train(t, session.Table{Dataset: tc.dataset, Dir: data}, tc.task)
		m := require.Value(predictor.Load(dir))(t)
		label := m.Description().Decision.Label
		rows := require.Value(rundir.Dir(dir).ReadRows(m.Description().Rows))(t)
		if tc.dataset == "adult" { // Adult has two files
			files := map[string]int{}
			for _, r := range rows {
				files[r.File]++
			}
			if files["adult/a9a"] != 32561 || files["adult/a9a.t"] != 16281 {
				t.Errorf("rows by file: %v", files)
			}
			continue
		}
		got := wrong(t, dir, filepath.Join(data, tc.file), func(b *predictor.Batch) []int {
			return require.Value(newrows.LabelClasses(label, b.Kept[0]))(t)
		}, predictor.Options{Keep: []string{label.Column}, IgnoreUnknown: true})
		for _, split := range result.Splits {
			if want := split.Named["error"]; got[split.Name] != want {
				t.Errorf("%s: %s error %v, the session measured %v", tc.dataset, split.Name, got[split.Name], want)
			}
		}
	}
}

// A model of pictures scores IDX files.
func TestPictures(t *testing.T) {
	data := os.Getenv(datasets.EnvData)
	if data == "" {
		t.Skip(datasets.EnvData + " is not set")
	}
	dir, result := train(t, session.Images{Dataset: "fashion-mnist", Dir: data, RowsPerClass: 500, Classes: []int{0, 2, 4, 9}},
		session.NeymanPearson{}, 16)
	m, err := predictor.Load(dir)
	require.NoError(t, err)
	f, err := os.Open(filepath.Join(data, "fashion-mnist/t10k-labels-idx1-ubyte.gz"))
	require.NoError(t, err)
	defer f.Close()
	labels, err := newrows.ReadIDXLabels(f, f.Name())
	require.NoError(t, err)
	in, err := os.Open(filepath.Join(data, "fashion-mnist/t10k-images-idx3-ubyte.gz"))
	require.NoError(t, err)
	defer in.Close()
	wrong, all := 0.0, 0.0
	err = m.Read(in, in.Name(), predictor.Options{}, func(b *predictor.Batch) error {
		for i, decision := range b.Decisions {
			for k, c := range m.Description().Decision.Classes {
				if *c.Number == int(labels[b.First+i]) {
					all++
					if decision != k {
						wrong++
					}
				}
			}
		}
		return nil
	})
	require.NoError(t, err)
	want := result.Splits[len(result.Splits)-1].Named["error"]
	if got := wrong / all; all != 4000 || got < want-1e-9 || got > want+1e-9 {
		t.Errorf("error %v of %v rows, the session measured %v", got, all, want)
	}
}
