package session

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppal/datasets"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/newrows"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/session/results"
)

// writeFashion writes files with the names of the Fashion-MNIST files. The pictures are noise, with
// the same number of pictures in each class.
func writeFashion(t *testing.T, train, test int) string {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // kept pictures
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "fashion-mnist"), 0o755))
	write := func(name string, dims []uint32, value func(i int) byte) {
		data := []byte{0, 0, 8, byte(len(dims))}
		n := 1
		for _, d := range dims {
			data = binary.BigEndian.AppendUint32(data, d)
			n *= int(d)
		}
		for i := range n {
			data = append(data, value(i))
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "fashion-mnist", name), data, 0o644))
	}
	for part, rows := range map[string]uint32{"train": uint32(train), "t10k": uint32(test)} {
		write(part+"-images-idx3-ubyte.gz", []uint32{rows, 28, 28}, func(i int) byte { return byte(i * i >> 3) })
		write(part+"-labels-idx1-ubyte.gz", []uint32{rows}, func(i int) byte { return byte(i % 10) })
	}
	return dir
}

// A run on files that differ from the published files prints a warning, and names the files with
// their checksums.
func TestUnofficialData(t *testing.T) {
	e := assembled(t, small(func(c *setup) { c.Dataset, c.Dir = "fashion-mnist", writeFashion(t, 20, 20) }))
	const want = "4 of 4 files of fashion-mnist differ from the published files: results are not comparable with published results."
	if !slices.Contains(e.Describe().Warnings, want) {
		t.Errorf("warnings %q", e.Describe().Warnings)
	}
	files := e.Describe().Data
	if len(files) != 4 || files[0].Name != "fashion-mnist/train-images-idx3-ubyte.gz" || files[0].Bytes != 16+20*784 ||
		len(files[0].SHA256) != 64 || files[0].State != "differs" {
		t.Errorf("files %+v", files)
	}
	if files := assembled(t, small(nil)).Describe().Data; len(files) != 2 || files[0].Name != "synthetic train" || files[0].State != "" {
		t.Errorf("built-in data: %+v", files)
	}
}

// A run identifies the real files in the same way as datasets.Check.
func TestRealDataAreIdentified(t *testing.T) {
	dir := os.Getenv(datasets.EnvData)
	if dir == "" {
		t.Skipf("%s is not set: real files are not tested", datasets.EnvData)
	}
	e := assembled(t, small(func(c *setup) { c.Dataset, c.Dir, c.Classes = "cifar10", dir, []int{0, 1} }))
	differ := slices.ContainsFunc(e.Describe().Data, func(f results.DataFile) bool { return f.State == datasets.Different.String() })
	warned := slices.ContainsFunc(e.Describe().Warnings, func(w string) bool { return strings.Contains(w, "differ from the published files") })
	if differ != warned {
		t.Errorf("files %+v, warnings %q", e.Describe().Data, e.Describe().Warnings)
	}
}

// The caller's own arrays are refused if they are missing, too short or not finite, with the split,
// the row and the column.
func TestMatricesAreChecked(t *testing.T) {
	rows := func(change func(m *Matrix, d *matrix.Dense)) *Matrix {
		d := &matrix.Dense{Rows: 4, Cols: 2, Data: []float64{1, 2, 3, 4, 5, 6, 7, 8}}
		m := &Matrix{Features: d, Labels: []int{-1, 1, -1, 1}}
		change(m, d)
		return m
	}
	right := rows(func(*Matrix, *matrix.Dense) {})
	for _, c := range []struct {
		name string
		data Matrices
		want string
	}{
		{"none", Matrices{}, "without training rows"},
		{"no features", Matrices{Train: rows(func(m *Matrix, _ *matrix.Dense) { m.Features = nil })}, "the train rows: invalid session options: the matrix has no features"},
		{"nil features", Matrices{Train: rows(func(m *Matrix, _ *matrix.Dense) { m.Features = (*matrix.Dense)(nil) })}, "the matrix is nil"},
		{"short", Matrices{Train: rows(func(_ *Matrix, d *matrix.Dense) { d.Data = d.Data[:7] })}, "Data has 7 numbers, want 8"},
		{"NaN", Matrices{Train: rows(func(_ *Matrix, d *matrix.Dense) { d.Data[5] = math.NaN() })}, "row 2, column 1, counted from 0, is NaN"},
		{"infinite test row", Matrices{Train: right, Columns: []string{"age", "income"},
			Test: rows(func(_ *Matrix, d *matrix.Dense) { d.Data[3] = math.Inf(1) })}, "the test rows: invalid session options: the feature in row 1, column 1 (income)"},
		{"few labels", Matrices{Train: rows(func(m *Matrix, _ *matrix.Dense) { m.Labels = m.Labels[:3] })}, "4 rows and 3 labels"},
	} {
		_, err := c.data.Load(context.Background(), Request{})
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, ErrOptions) || !errors.Is(err, problem.ErrSettings) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := (Matrices{Train: right}).Load(context.Background(), Request{}); err != nil {
		t.Error(err)
	}
}

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
