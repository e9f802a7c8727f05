package datasets

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/require"
)

// numbered returns rows x, c, y with x counting from first.
func numbered(rows, first int, category func(i int) string) string {
	return datatest.RowsText("x,c,y", rows, func(i int) string { return fmt.Sprintf("%d.5,%s,%d", first+i, category(i), i%2) })
}

func TestTestFile(t *testing.T) {
	letter := func(i int) string { return string(rune('a' + i%3)) }
	dir := t.TempDir()
	test := datatest.Write(t, dir, "test.csv", []byte("c,extra,y,x\nb,?,1,1000\na,?,0,2000\n"))
	opts := tabular.TableOptions{Label: "y", Groups: []string{"c=a"}, Attributes: []string{"c"}, TestFile: test, File: datatest.Write(t, dir, "own.csv", []byte(numbered(100, 0, letter)))}
	got := loaded(t, "csv", opts)
	if got.Train.Rows() != 80 || got.Validation.Rows() != 20 || got.Test.Rows() != 2 {
		t.Errorf("%d, %d, %d rows", got.Train.Rows(), got.Validation.Rows(), got.Test.Rows())
	}
	if diff := cmp.Diff([]int{100, 101}, got.Test.Source); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]tabular.FileRows{{Name: opts.File, Rows: 100}, {Name: test, Rows: 2}}, got.Files); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(got.Test.Labels, []int{1, -1}) || !slices.Equal(got.Test.Groups[0].Rows, []int{1}) || !slices.Equal(got.Test.Attributes[0].Of, []int{1, 0}) {
		t.Errorf("%+v", got.Test)
	}
	// The test rows use the mean and deviation of the training rows.
	e := got.Preparation.Encodings[0]
	row := make([]float64, 4)
	got.Test.Features.Float64(row, 0, 1)
	if want := []float64{(1000 - e.Center) / e.Scale, 0, 1, 0}; !slices.Equal(row, want) || e.Center > 100 {
		t.Errorf("test row %v, want %v", row, want)
	}
	// Without the test file the same seed draws the same rows.
	alone := opts
	alone.TestFile, alone.Split = "", tabular.SplitWithTestFile
	without, err := LoadTable("", "csv", alone)
	if err != nil || !slices.Equal(without.Train.Source, got.Train.Source) {
		t.Errorf("%v: the test file changes the training rows", err)
	}

	opts.TestFile = datatest.Write(t, dir, "unseen.csv", []byte("x,c,y\n1,z,1\n2,b,0\n3,a,1\n"))
	_, err = LoadTable("", "csv", opts)
	datatest.CheckError(t, err, dataerr.ErrCategory, `unseen.csv: line 2, column 2: c: unknown category "z", want one of a, b, c`)
	opts.Unknown = tabular.UnknownIgnored
	if got, err = LoadTable("", "csv", opts); err != nil {
		t.Fatal(err)
	}
	got.Test.Features.Float64(row, 0, 1)
	e = got.Preparation.Encodings[0]
	second := make([]float64, 4)
	got.Test.Features.Float64(second, 1, 2)
	if want := []float64{(2 - e.Center) / e.Scale, 0, 1, 0}; !slices.Equal(second, want) {
		t.Errorf("the row after the unknown category is %v, want %v", second, want)
	}
	if !slices.Equal(row[1:], []float64{0, 0, 0}) || !slices.Equal(got.Test.Attributes[0].Of, []int{-1, 1, 0}) {
		t.Errorf("the unknown category gives %v, %v", row, got.Test.Attributes[0].Of)
	}
	opts.Split = tabular.DefaultSplit
	_, err = LoadTable("", "csv", opts)
	datatest.CheckError(t, err, dataerr.ErrSplit, "the test rows are in a file of their own, so the third percentage must be 0, as in 80/20/0")
	opts.Split, opts.TestFile = tabular.Split{}, datatest.Write(t, dir, "other.csv", []byte("x,y\n1,1\n2,0\n"))
	_, err = LoadTable("", "csv", opts)
	datatest.CheckError(t, err, dataerr.ErrColumn, `other.csv: line 1: invalid column: no column "c"`)

	// A condition's label is read in the test file too. The other columns keep their categories.
	opts.Label, opts.Features, opts.Groups, opts.Attributes = "x>=50", []string{"c"}, nil, nil
	opts.TestFile = datatest.Write(t, dir, "label.csv", []byte("x,c\n50,c\n49,b\n"))
	if got, err = LoadTable("", "csv", opts); err != nil || !slices.Equal(got.Test.Labels, []int{1, -1}) {
		t.Fatalf("%v, %v", err, got)
	}
	both := make([]float64, 2*3)
	if got.Test.Features.Float64(both, 0, 2); !slices.Equal(both, []float64{0, 0, 1, 0, 1, 0}) {
		t.Errorf("the categories c and b are %v", both)
	}
	opts.SplitColumn = "x"
	_, err = LoadTable("", "csv", opts)
	datatest.CheckError(t, err, dataerr.ErrOption, "a test file and a split column exclude each other")
}

func TestOwnSplitSeed(t *testing.T) {
	load := func(seed, split uint64) *tabular.Tables {
		return require.Value(LoadTable("", "synthetic-compas", tabular.TableOptions{Seed: seed, SplitSeed: split}))(t)
	}
	one, two := load(1, 0), load(1, 2)
	if slices.Equal(one.Train.Source, two.Train.Source) {
		t.Error("the split does not depend on its seed")
	}
	if same := load(1, 1); same.Train.SHA256() != one.Train.SHA256() {
		t.Error("the split's own seed draws other rows than the same seed of the run")
	}
	file := datatest.Write(t, t.TempDir(), "own.csv", []byte(numbered(100, 0, func(int) string { return "a" })))
	a := loaded(t, "csv", tabular.TableOptions{File: file, Label: "y", Seed: 1, SplitSeed: 9})
	b, err := LoadTable("", "csv", tabular.TableOptions{File: file, Label: "y", Seed: 2, SplitSeed: 9})
	if err != nil || !slices.Equal(a.Train.Source, b.Train.Source) {
		t.Errorf("%v: the seed of the run changes the split", err)
	}
}

// TestPipes reads a named pipe, which can be read only once, and gzip from standard input.
func TestPipes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := exec.Command("mkfifo", path).Run(); err != nil {
		t.Skip("no mkfifo")
	}
	go func() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			_, _ = f.Write(datatest.Gzipped([]byte(wages)))
			f.Close()
		}
	}()
	for range 2 { // the second load reads the kept content
		got, err := LoadTable("", "csv", tabular.TableOptions{File: path, Label: "paid", Ignore: []string{"name"}, Split: tabular.Split{Train: 100}})
		if err != nil || got.Train.Rows() != 8 {
			t.Fatalf("%v, %v", err, got)
		}
	}
	report, err := Verify(t.Context(), "", "csv", path)
	if err != nil || report.Files[0].SHA256 == "" || report.Files[0].Size == 0 {
		t.Errorf("%v, %+v", err, report)
	}
	_, err = LoadTable("", "csv", tabular.TableOptions{File: t.TempDir(), Label: "paid"})
	datatest.CheckError(t, err, dataerr.ErrFormat, "it is a directory, want a file")
}
