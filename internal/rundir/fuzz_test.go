package rundir

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/require"
)

// FuzzReaders checks that every reader of a run's directory returns an error in one line or a
// value, for any bytes, and that records that were read can be written.
func FuzzReaders(f *testing.F) {
	for _, text := range []string{
		`{"iteration":0,"epoch":0,"seconds":0.5,"gradient_evaluations":1,"objective":-1,"constraints":[1],"max_violation":1,"feasibility":1,"stationarity":0,"complementarity":0,"multipliers":[0],"auxiliary_multipliers":null,"slack":null,"delta":null,"step_size":null,"test_error":0.5}` + "\n",
		"features: [a, b]\nencodings:\n  - column: a\n    center: 1\n    scale: 2\n  - column: b\n    categories: [x, y]\n",
		`{"spec":{"inputs":2,"hidden":[3],"outputs":1},"classes":["a","b"],"threshold":0.5}`,
		`{"status":"iteration limit","certificate":{"epsilon":1,"nu":[1]},"warnings":["w"]}`,
		"{", "[]\n", "null\n", "\x00\n", "a: &x [*x]\n", `{"iteration":1e999}` + "\n", `{"test_error":"x"}` + "\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := Dir(t.TempDir())
		for _, path := range []string{dir.Metrics(), dir.Preparation(), dir.ModelDescription(), dir.Summary(), dir.Config(), filepath.Join(string(dir), "rows.csv")} {
			require.NoError(t, os.WriteFile(path, data, 0o600))
		}
		check := func(what string, err error) {
			if err != nil && !strings.HasPrefix(err.Error(), "rundir: ") {
				t.Errorf("%s: %v", what, err)
			}
		}
		records, err := ReadMetrics(dir.Metrics())
		check("metrics", err)
		for i := range records {
			line, err := encode(&records[i])
			if err != nil {
				t.Fatalf("record %d: %v", i, err)
			}
			again, err := decode(line)
			if err != nil || math.Float64bits(again.Objective) != math.Float64bits(records[i].Objective) {
				t.Fatalf("record %d: %v, %v, %v", i, again.Objective, records[i].Objective, err)
			}
		}
		_, err = dir.ReadPreparation(Seal{})
		check("preparation", err)
		_, err = dir.ReadModel()
		check("model", err)
		_, err = ReadSummary(dir.Summary())
		check("summary", err)
		_, err = dir.ReadRows("rows.csv")
		check("rows", err)
		_, _, err = dir.ReadProvenance()
		check("provenance", err)
	})
}
