package session

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/datasets/tabular"
	"ppal/internal/newrows"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/session/results"
)

// The saved preparation and the saved weights fit together: on raw rows they give the error that
// the run reported.
func TestRawRowsThroughTheRunsFiles(t *testing.T) {
	const rows = 60
	var csv, sparse strings.Builder
	csv.WriteString("age;job;wage;sex;pay\n")
	for i := range rows {
		wage := fmt.Sprint(100 * (i % 17))
		if i%11 == 3 {
			wage = "?"
		}
		fmt.Fprintf(&csv, "%d;%s;%s;%s;%s\n", 18+i, []string{"clerk", "smith", "cook"}[i%3], wage, "FM"[i/2%2:][:1], []string{"low", "high"}[i*i/7%2])
		fmt.Fprintf(&sparse, "%d %d:1 3:%d %d:1\n", 2*(i*i/7%2)-1, 1+i%2, i%5, 4+i/2%2)
	}
	for name, tc := range map[string]struct {
		text   string
		source func(file string) Table
	}{
		"csv": {csv.String(), func(file string) Table {
			t := CSV(file, "pay=high", "sex=F")
			t.Missing, t.DropSensitive = tabular.MissingImputed, true
			return t
		}},
		"libsvm": {sparse.String(), func(file string) Table {
			t := LIBSVM(file, "4")
			t.DropSensitive = true
			return t
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := rundir.Dir(t.TempDir())
			file := filepath.Join(string(dir), "rows")
			require.NoError(t, os.WriteFile(file, []byte(tc.text), 0o644))
			table := tc.source(file)
			table.Split = tabular.Split{Train: 100}
			e := buildOptions(t, onTable(DemographicParity{}, table, nil))
			r := require.Value(e.Optimize(t.Context(), trainer.Settings{Iterations: 30}))(t)
			final := require.Value(e.Certify(r))(t)
			require.NoError(t, e.SaveModel(dir.Model()))
			info := e.Describe()
			require.NoError(t, dir.WritePreparation(results.Preparation{Features: info.FeatureNames, Preparation: *info.Preparation}))

			m := require.Value(models.LoadFile(dir.Model(), nil))(t)
			p := require.Value(dir.ReadPreparation(rundir.Seal{}))(t)
			if inputs, _ := m.Architecture.Dims(); inputs != len(p.Features) {
				t.Fatalf("%v are %d features, want %d", p.Features, len(p.Features), inputs)
			}
			var scores []float64
			raw := newrows.NewRows{Preparation: &p.Preparation, Emit: func(b *newrows.Block) error { scores = append(scores, b.Results...); return nil },
				Work: func(x, results []float64) ([]float64, error) {
					s, err := m.Predict(x)
					return append(results, s...), err
				}}
			if err := raw.Read(strings.NewReader(tc.text), "new"); err != nil || len(scores) != rows {
				t.Fatalf("%d scores, %v", len(scores), err)
			}
			wrong := 0.0
			for i, s := range scores {
				if (s > 0) != (i*i/7%2 == 1) {
					wrong++
				}
			}
			if want := final.Splits[0].Named["error"]; math.Abs(wrong/rows-want) > 1e-9 {
				t.Errorf("the error is %v, the run's %v", wrong/rows, want)
			}
		})
	}
}
