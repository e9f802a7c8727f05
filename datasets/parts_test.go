package datasets

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
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

// Missing and unknown values of the test file are refused as those of the first file.
func TestValuesOfTheTestFile(t *testing.T) {
	const text = "x,c,a,y\n1,p,1,no\n2,q,2,yes\n3,p,1,no\n4,q,2,yes\n"
	for name, tc := range map[string]struct {
		test string
		opts tabular.TableOptions
		want error
	}{
		"a missing label":         {"x,c,a,y\n1,p,1,no\n2,q,2,\n", tabular.TableOptions{Missing: tabular.MissingImputed}, dataerr.ErrMissing},
		"a missing group":         {"x,c,a,y\n1,,1,no\n2,q,2,yes\n", tabular.TableOptions{Groups: []string{"c"}, Ignore: []string{"c"}}, dataerr.ErrMissing},
		"an unknown label":        {"x,c,a,y\n1,p,1,no\n2,q,2,maybe\n", tabular.TableOptions{Unknown: tabular.UnknownIgnored}, dataerr.ErrCategory},
		"an unknown category":     {"x,c,a,y\n1,p,1,no\n2,r,2,yes\n", tabular.TableOptions{Unknown: tabular.UnknownIgnored}, nil},
		"a missing number":        {"x,c,a,y\n1,p,1,no\n,q,2,yes\n", tabular.TableOptions{Missing: tabular.MissingImputed}, dataerr.ErrMissing},
		"a missing category":      {"x,c,a,y\n1,p,1,no\n1,,2,yes\n", tabular.TableOptions{Missing: tabular.MissingFlagged}, dataerr.ErrMissing},
		"an attribute of numbers": {"x,c,a,y\n1,p,1,no\n2,q,2,yes\n", tabular.TableOptions{Categorical: []string{"a"}, Ignore: []string{"a"}, Attributes: []string{"a"}}, nil},
	} {
		dir := t.TempDir()
		tc.opts.Label, tc.opts.Split = "y=yes", tabular.Split{Train: 100}
		tc.opts.File, tc.opts.TestFile = datatest.Write(t, dir, "own.csv", []byte(text)), datatest.Write(t, dir, "test.csv", []byte(tc.test))
		got, err := LoadTable("", "csv", tc.opts)
		if tc.want != nil {
			datatest.CheckError(t, err, tc.want, "test.csv")
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(tc.opts.Attributes) > 0 {
			if a := got.Test.Attributes[0]; !slices.Equal(a.Values, []string{"1", "2"}) || !slices.Equal(a.Of, []int{0, 1}) {
				t.Errorf("%s: %+v", name, a)
			}
		}
	}
}

// Dates are features, attributes and groups at once; the first value may be missing; dropped
// columns are told.
func TestColumnsOfTheFile(t *testing.T) {
	const text = "born,x,c,y\n2024-05-13,NA,p,0\n2024-06-13,2,q,1\n2024-05-13,4,q,0\n"
	opts := tabular.TableOptions{Label: "y", Dates: tabular.DatesExpanded, Missing: tabular.MissingImputed, Attributes: []string{"born"}, Groups: []string{"c"}}
	got, err := everything(t, text, opts)
	require.NoError(t, err)
	want := []string{"born day", "born month", "born weekday", "x", "x missing", "c=p", "c=q"}
	if a := got.Train.Attributes[0]; cmp.Diff(want, got.Train.Columns) != "" || !slices.Equal(a.Values, []string{"2024-05-13", "2024-06-13"}) || !slices.Equal(a.Of, []int{0, 1, 0}) {
		t.Errorf("%q, %+v", got.Train.Columns, a)
	}
	// the dates of the test file are those of the file
	for _, tc := range []struct {
		rows, unknown string
		want          []int // nil: an error
	}{
		{"2024-06-13,1,p,0\n2024-05-13,1,q,1\n", tabular.UnknownRefused, []int{1, 0}},
		{"2024-07-01,1,p,0\n2024-06-13,1,q,1\n", tabular.UnknownRefused, nil},
		{"2024-07-01,1,p,0\n2024-06-13,1,q,1\n", tabular.UnknownIgnored, []int{-1, 1}},
	} {
		dir, own := t.TempDir(), opts
		own.File, own.TestFile = datatest.Write(t, dir, "own.csv", []byte(text)), datatest.Write(t, dir, "test.csv", []byte("born,x,c,y\n"+tc.rows))
		own.Split, own.Unknown = tabular.Split{Train: 100}, tc.unknown
		got, err := LoadTable("", "csv", own)
		if tc.want == nil {
			datatest.CheckError(t, err, dataerr.ErrCategory, `test.csv: line 2, column 1: born: unknown category "2024-07-01", want one of 2024-05-13, 2024-06-13`)
		} else if err != nil || !slices.Equal(got.Test.Attributes[0].Of, tc.want) {
			t.Errorf("%s, %s: %v", tc.rows, tc.unknown, err)
		}
	}
	// the date is not a column with the value p
	byValue := tabular.TableOptions{Label: "y", Dates: tabular.DatesExpanded, Missing: tabular.MissingImputed, Values: []string{"p"}}
	if got, err := everything(t, text, byValue); err != nil || len(got.Train.Attributes) != 1 || got.Train.Attributes[0].Name != "c" {
		t.Errorf("%v, %+v", err, got)
	}
	// a column of numbers is not a category, too
	many := datatest.RowsText("x,y", 1100, func(i int) string { return fmt.Sprintf("%d.5,%d", i, i%2) })
	if _, err := everything(t, many, tabular.TableOptions{Label: "y", Attributes: []string{"x<500"}}); err != nil {
		t.Error(err)
	}
	opts.DropSensitive = true
	if got, err = everything(t, text, opts); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"x", "x missing"}, got.Train.Columns); diff != "" || got.Uses[2].Became != "ignored" || got.Uses[1].Became != "number" {
		t.Errorf("%s %+v", diff, got.Uses)
	}
	opts.Groups, opts.Attributes, opts.DropSensitive = []string{"born"}, nil, false
	if got, err = everything(t, text, opts); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]tabular.Group{{Name: "born=2024-05-13", Rows: []int{0, 2}, Conditions: []string{"born=2024-05-13"}}, {Name: "born=2024-06-13", Rows: []int{1}, Conditions: []string{"born=2024-06-13"}}}, got.Train.Groups); diff != "" {
		t.Error(diff)
	}
	_, err = everything(t, "born,born day,y\n2024-05-13,1,0\n2024-06-13,2,1\n", tabular.TableOptions{Label: "y", Dates: tabular.DatesExpanded})
	datatest.CheckError(t, err, dataerr.ErrColumn, `"born day" is a column and a part of dates`)
	_, err = everything(t, "x,y\n", tabular.TableOptions{Label: "y"})
	datatest.CheckError(t, err, dataerr.ErrTruncated, "the file has no rows")
}

// The rows of the test file have the numbers after those of the first file, with those of dropped
// rows, and the label's condition applies to texts too.
func TestNumbersOfTestRows(t *testing.T) {
	dir := t.TempDir()
	opts := tabular.TableOptions{Label: "y!=red", Missing: tabular.MissingDropped, File: datatest.Write(t, dir, "own.csv", []byte("x,c,y\n1,a,red\nNA,a,red\n3,b,blue\n4,a,red\n5,b,green\n")),
		TestFile: datatest.Write(t, dir, "test.csv", []byte("x,c,y\n6,b,red\n?,a,red\n8,a,blue\n")), Split: tabular.Split{Train: 100}}
	got := loaded(t, "csv", opts)
	if diff := cmp.Diff([][]int{{0, 2, 3, 4}, {5, 7}}, [][]int{got.Train.Source, got.Test.Source}); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]int{{-1, 1, -1, 1}, {-1, 1}}, [][]int{got.Train.Labels, got.Test.Labels}); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]tabular.FileRows{{Name: opts.File, Rows: 5}, {Name: opts.TestFile, Rows: 3}}, got.Files); diff != "" {
		t.Error(diff)
	}
	row := make([]float64, 3)
	got.Test.Features.Float64(row, 0, 1)
	if e := got.Preparation.Encodings[0]; !slices.Equal(row, []float64{(6 - e.Center) / e.Scale, 0, 1}) || math.Abs(e.Center-3.25) > 1e-15 {
		t.Errorf("features %v, centre %v", row, e.Center)
	}
	opts.TestFile, opts.SplitColumn, opts.Label = "", "x", "c=a"
	opts.File = datatest.Write(t, dir, "split.csv", []byte("x,c,z\n0,a,1\n1,b,2\n"))
	_, err := LoadTable("", "csv", opts)
	datatest.CheckError(t, err, dataerr.ErrSplit, `the split column "x" holds "0", want train`)
}

// TestDivision checks that a division stores every chosen row once, in the right part. Each part
// has its share of every class, and the moments are the moments of the training rows.
func TestDivision(t *testing.T) {
	for name, dir := range pictureSets(t) {
		if strings.HasPrefix(name, "cifar10") {
			continue // the fixtures have only one row of most classes
		}
		for _, processors := range []int{1, 3} {
			t.Run(fmt.Sprint(name, processors), func(t *testing.T) {
				if processors == 1 {
					require.NoRace(t, "the runs on three processors have the same goroutines")
				}
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
				checkDivision(t, dir, strings.Fields(name)[0])
			})
		}
	}
}

func checkDivision(t *testing.T, dir, dataset string) {
	set, _, err := LoadImages(dir, dataset, 7)
	require.NoError(t, err)
	classes := []int{2, 0, 3}
	whole := require.Value(picture.Select(set, classes, 0))(t)
	c := require.Value(openAgain(t, dir, dataset, set).Choose(classes, 0))(t)
	d := require.Value(c.Divide(tabular.Split{Train: 70, Validation: 30}, 5))(t)
	cols := set.Pixels.Cols
	train, validation := matrix.NewBytes(d.Train.Rows(), cols, picture.PixelScale), matrix.NewBytes(d.Validation.Rows(), cols, picture.PixelScale)
	require.NoError(t, d.Read(train, validation))
	for k := range classes {
		all, part := whole.Offsets[k+1]-whole.Offsets[k], d.Validation.Offsets[k+1]-d.Validation.Offsets[k]
		if diff := 10*part - 3*all; diff < -10 || diff > 10 {
			t.Errorf("class %d: %d of %d rows are validation rows, want 30 %%", classes[k], part, all)
		}
		rows := slices.Concat(ofClass(train, &d.Train, k), ofClass(validation, &d.Validation, k))
		want := ofClass(whole.Pixels, whole, k)
		slices.Sort(rows)
		slices.Sort(want)
		if !slices.Equal(rows, want) {
			t.Errorf("class %d: the rows of both parts are not the chosen rows", classes[k])
		}
	}
	numbers := slices.Concat(d.Train.Source, d.Validation.Source) // of the rows in the set
	if len(numbers) != whole.Rows() {
		t.Errorf("%d numbers of %d rows", len(numbers), whole.Rows())
	}
	for i, r := range numbers {
		part, at := train, i
		if i >= train.Rows {
			part, at = validation, i-train.Rows
		}
		if !slices.Equal(part.Data[at*cols:(at+1)*cols], set.Pixels.Data[r*cols:(r+1)*cols]) {
			t.Fatalf("row %d is not row %d of the set", i, r)
		}
	}
	center, deviation := d.Moments()
	wantCenter, wantDeviation := matrix.Moments(train)
	if !cmp.Equal(center, wantCenter) || deviation != wantDeviation {
		t.Errorf("the moments are not those of the training rows: deviation %v, want %v", deviation, wantDeviation)
	}
}

// ofClass returns the pixels of each row of a class as text.
func ofClass(x *matrix.Bytes, s *picture.Selection, k int) []string {
	var rows []string
	for i := s.Offsets[k]; i < s.Offsets[k+1]; i++ {
		rows = append(rows, string(x.Data[i*x.Cols:(i+1)*x.Cols]))
	}
	return rows
}

// TestDivisionSeed checks that the same seed gives the same division, another seed gives another
// division, and 100/0/0 keeps all rows for training.
func TestDivisionSeed(t *testing.T) {
	require.NoRace(t, "TestDivision runs the same goroutines")
	open, _, err := OpenImages("", "synthetic", 1)
	require.NoError(t, err)
	divide := func(s tabular.Split, seed uint64) *picture.Division {
		c := require.Value(open.Choose([]int{0, 1}, 50))(t)
		return require.Value(c.Divide(s, seed))(t)
	}
	a, b, other := divide(tabular.Split{Train: 80, Validation: 20, Test: 0}, 1), divide(tabular.Split{Train: 80, Validation: 20, Test: 0}, 1), divide(tabular.Split{Train: 80, Validation: 20, Test: 0}, 2)
	if !slices.Equal(a.Places, b.Places) {
		t.Error("the same seed divides in two ways")
	}
	if slices.Equal(a.Places, other.Places) {
		t.Error("two seeds divide in the same way")
	}
	if whole := divide(tabular.Split{Train: 100}, 1); whole.Train.Rows() != 100 || whole.Validation.Rows() != 0 {
		t.Errorf("100/0/0 divides into %d and %d rows", whole.Train.Rows(), whole.Validation.Rows())
	}
}

func TestDivisionErrors(t *testing.T) {
	require.NoRace(t, "TestDivision runs the same goroutines")
	open, _, err := OpenImages("", "synthetic", 1)
	require.NoError(t, err)
	for _, c := range []struct {
		split   tabular.Split
		rows    int
		message string
	}{
		{tabular.Split{Train: 80, Validation: 10, Test: 10}, 0, "pictures have test rows of their own"},
		{tabular.Split{Train: 80, Validation: 10, Test: 0}, 0, "must add up to 100"},
		{tabular.Split{Train: 0, Validation: 100, Test: 0}, 0, "there must be training rows"},
		{tabular.Split{Train: 99, Validation: 1, Test: 0}, 3, "has no validation rows left"},
	} {
		choice := require.Value(open.Choose([]int{0, 1}, c.rows))(t)
		if _, err := choice.Divide(c.split, 1); !errors.Is(err, dataerr.ErrSplit) || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%v: %v, want %q", c.split, err, c.message)
		}
	}
}
