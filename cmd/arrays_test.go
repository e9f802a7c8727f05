package cmd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"ppal/internal/datatest"
	"ppal/internal/require"
)

// A model that arrays trained predicts, evaluates and verifies as one that CSV or Parquet with the
// same rows trained, and each reads the files of the others. Arrays wider than in training are
// refused.
func TestArraysFromTrainingToVerify(t *testing.T) {
	require.NoRace(t, "the parts have tests of their own")
	const rows, columns = 300, 4
	dir, r := t.TempDir(), rand.New(rand.NewPCG(3, 4))
	x := datatest.Array{Name: "X", Type: "<f4", Shape: []int{rows, columns}}
	y := datatest.Array{Name: "y", Type: "<U3", Shape: []int{rows}}
	sex := datatest.Array{Name: "sex", Type: "<U1", Shape: []int{rows}}
	table, text := []string{"id,y,sex"}, []string{"X0,X1,X2,X3,id,y,sex"}
	var stored []datatest.Column
	for j := range columns {
		stored = append(stored, datatest.Column{Name: fmt.Sprint("X", j), Node: parquet.Leaf(parquet.FloatType)})
	}
	var numbers []float64
	for i := range rows {
		own, line := 0.0, ""
		for j := range columns {
			v := float32(r.NormFloat64())
			own += float64(v)
			x.Numbers = append(x.Numbers, float64(v))
			line += fmt.Sprint(float64(v), ",")
			stored[j].Values = append(stored[j].Values, v)
		}
		y.Texts = append(y.Texts, []string{"no", "yes"}[min(1, max(0, int(1+own+r.NormFloat64())))])
		sex.Texts = append(sex.Texts, []string{"f", "m"}[r.IntN(2)])
		numbers = append(numbers, float64(i))
		beside := fmt.Sprintf("%d,%s,%s", i, y.Texts[i], sex.Texts[i])
		table, text = append(table, beside), append(text, line+beside)
	}
	stored = append(stored, datatest.Numbers("id", numbers...), datatest.Texts("y", y.Texts...), datatest.Texts("sex", sex.Texts...))
	write := func(name string, content []byte) string { return datatest.Write(t, dir, name, content) }
	lines := func(list []string) []byte { return []byte(strings.Join(list, "\n") + "\n") }
	npy, beside := write("x.npy", x.NPY()), write("rows.csv", lines(table))
	files := [][]string{
		{write("x.csv", lines(text)), "--ignore", "id,sex"}, {write("x.parquet", datatest.ParquetOf(t, 1, stored)), "--ignore", "id,sex"},
		{npy, "--table", beside}, {npy, "--table", beside, "--key", "id"}, {write("x.npz", datatest.NPZ(t, true, x, y, sex))},
	}
	for _, flag := range [][]string{{"--skip", "1"}, {"--separator", ";"}, {"--header", "none"}, {"--columns", "a,b"}, {"--quote", "none"}} {
		got := forReal(t, append([]string{"data", "check", "csv", "--label", "y", "--file", files[1][0]}, flag...)...)
		if got.status != exitUsage || !strings.Contains(got.stderr, flag[0]+" is for text of separated fields") {
			t.Errorf("%v: %+v", flag, got)
		}
	}
	packed := write("x.npz.gz", datatest.Gzipped(datatest.NPZ(t, true, x, y, sex)))
	if got := forReal(t, "data", "check", "csv", "--file", packed); got.status != exitDone { // with the label y
		t.Error(got.stderr)
	}
	if got := forReal(t, "data", "check", "csv", "--label", "y", "--file", files[4][0], "--table", beside); got.status != exitUsage ||
		!strings.Contains(got.stderr, `the arrays and the --table both have "y"; keep the arrays' (--ignore 'column `) {
		t.Error(got.status, got.stderr)
	}
	wide, cube := x, x
	wide.Shape, cube.Shape = []int{rows, columns + 1}, []int{rows, columns, 2}
	wide.Numbers, cube.Numbers = append(slices.Clone(x.Numbers), x.Numbers[:rows]...), slices.Concat(x.Numbers, x.Numbers)
	wider := [][]string{{write("wide.npy", wide.NPY())}, {write("wide.npy", wide.NPY()), "--table", beside}, {write("wide.npz", datatest.NPZ(t, true, y, sex, wide))}, {write("cube.npy", cube.NPY())}}
	const hole = 17*columns + 2
	x.Numbers, text[18] = slices.Clone(x.Numbers), strings.Replace(text[18], fmt.Sprint(",", x.Numbers[hole], ","), ",NaN,", 1)
	x.Numbers[hole] = math.NaN()
	lacking := []string{write("nan.npz", datatest.NPZ(t, true, x, y, sex)), write("nan.csv", lines(text))}
	var results []string
	for i, file := range files {
		run := filepath.Join(dir, fmt.Sprint("run", i))
		got := forReal(t, append([]string{"train", "--label", "y", "--subject-to", "gap(positive_rate, sex) <= 0.1", "--iterations", "8", "--quiet", "--out", run, "--file"}, file...)...)
		if got.status != exitDone {
			t.Fatalf("%v: %s", file, got.stderr)
		}
		if got := forReal(t, "verify", run); got.status != exitDone {
			t.Errorf("%v: %s", file, got.stderr)
		}
		for k, other := range files {
			with := append([]string{run, "--input"}, other[0])
			if len(other) > 1 && other[1] == "--table" {
				with = append(with, other[1:3]...)
			}
			predicted, evaluated := forReal(t, append([]string{"predict"}, with...)...), forReal(t, append([]string{"evaluate", "--json"}, with...)...)
			if predicted.status != exitDone || evaluated.status != exitDone {
				t.Fatalf("%v on %v: %s%s", file, other, predicted.stderr, evaluated.stderr)
			}
			if results = append(results, predicted.stdout+evaluated.stdout); results[0] != results[len(results)-1] {
				t.Errorf("the run on %v gives another result for %v", file, other)
			}
			if k == 2 { // arrays without their table
				if got := forReal(t, "predict", run, "--input", npy); got.stdout != predicted.stdout {
					t.Errorf("%v: %s", file, got.stderr)
				}
				if got := forReal(t, "evaluate", run, "--input", npy); got.status == exitDone || !strings.Contains(got.stderr, "with --table FILE") {
					t.Errorf("%v: %s", file, got.stderr)
				}
			}
		}
		for _, file := range wider[:len(wider)*min(1, i/2)] { // of the runs on arrays
			for _, command := range []string{"predict", "evaluate"} {
				got := forReal(t, append([]string{command, run, "--input"}, file...)...)
				if got.status != exitUsage || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, file[0]+": invalid column: the array X has ") {
					t.Errorf("%s %v: %+v", command, file, got)
				}
			}
		}
		for _, file := range lacking { // each command says what is there, where, and what to do
			for _, command := range [][]string{{"predict", run, "--input"}, {"evaluate", run, "--input"}, {"train", "--quiet", "--label", "y", "--file"}} {
				got := forReal(t, append(command, file)...)
				if got.status != exitUsage || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, `, column 3: X2: missing value: "NaN"`) ||
					!strings.Contains(got.stderr, file+": ") || !strings.Contains(got.stderr, "; ") {
					t.Errorf("%v: %+v", command, got)
				}
			}
		}
		if got := forReal(t, "predict", run, "--input", npy, "--table", beside, "--keep", "sex,id"); !strings.HasPrefix(got.stdout, "row,score,decision,probability,sex,id\n1,") ||
			!strings.HasSuffix(got.stdout, ",299\n") {
			t.Errorf("%v: %s%s", file, got.stdout, got.stderr)
		}
	}
	few, all, run := write("few.csv", lines(table[:251])), write("all.csv", lines(table)), filepath.Join(dir, "few")
	for _, command := range [][]string{{"train", "--label", "y", "--iterations", "3", "--key", "id", "--out", run, "--file"}, {"predict", run, "--input"}, {"evaluate", run, "--input"}} {
		named, unnamed := forReal(t, append(command, npy, "--table", few)...), fmt.Sprintf(`50 of 300 rows of %s are left out, because the column "id" of %s does not name them.`, npy, few)
		if command[0] == "train" {
			unnamed = strings.ReplaceAll(unnamed, `"id"`, `\"id\"`) // in a line of the log
		}
		if named.status != exitDone || strings.Count(named.stderr, unnamed) != 1 {
			t.Errorf("%v: %d, %s, want %s", command, named.status, named.stderr, unnamed)
		}
		if command[0] != "train" {
			if got := forReal(t, append(command, npy, "--table", all)...); got.status != exitDone || strings.Contains(got.stderr, "left out") {
				t.Errorf("%v: %d, %s", command, got.status, got.stderr)
			}
		}
	}
}
