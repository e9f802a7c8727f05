package predictor_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/datasets/tabular"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/models/predictor"
	"ppal/trainer/session"
)

// FuzzLoad loads a run's directory with any bytes as model.json and preparation.yaml, and predicts
// any bytes as new rows: errors, or finite scores.
func FuzzLoad(f *testing.F) {
	text := people(60)
	source := session.CSV(write(f, text), "member", "age<40")
	source.Ignore, source.Missing = []string{"id"}, tabular.MissingImputed
	from, _ := train(f, source, session.DemographicParity{})
	read := func(path string) []byte {
		return require.Value(os.ReadFile(path))(f)
	}
	dir := rundir.Dir(from)
	weights, description, preparation := read(dir.Model()), read(dir.ModelDescription()), read(dir.Preparation())
	rows := []byte(text[:200])
	f.Add(description, preparation, rows)
	f.Add(description, []byte("features: [a]\n"), rows)
	f.Add(description[:len(description)/2], preparation, rows)
	f.Add([]byte(strings.Replace(string(description), `"weights": "`, `"weights": "../`, 1)), preparation, rows)
	f.Fuzz(func(t *testing.T, description, preparation, rows []byte) {
		dir := rundir.Dir(t.TempDir())
		for path, data := range map[string][]byte{
			filepath.Join(string(dir), filepath.Base(dir.Model())): weights, dir.ModelDescription(): description, dir.Preparation(): preparation,
		} {
			require.NoError(t, os.WriteFile(path, data, 0o600))
		}
		m, err := predictor.Load(string(dir))
		if err != nil {
			return
		}
		_, _ = m.ONNX(predictor.ONNXOptions{})
		err = m.Read(strings.NewReader(string(rows)), "rows", predictor.Options{}, func(b *predictor.Batch) error {
			for _, x := range b.Scores {
				if math.IsNaN(x) || math.IsInf(x, 0) {
					t.Errorf("a score is %v", x)
				}
			}
			for _, d := range b.Decisions {
				if d < 0 || d >= len(m.Classes()) {
					t.Errorf("a decision is %d", d)
				}
			}
			return nil
		})
		if err != nil && err.Error() == "" {
			t.Error("an error without a text")
		}
	})
}
