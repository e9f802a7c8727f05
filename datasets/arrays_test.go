package datasets

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/loader"
	"ppal/internal/mapped"
	"ppal/internal/newrows"
	"ppal/internal/require"
)

// embedded is a table in several kinds of files with the same rows.
type embedded struct {
	csv string
	// arrays are files of arrays, with their options
	arrays map[string]tabular.TableOptions
	keyed  string // the rows of the file with a key, as text
}

// embeddings are rows of numbers with labels, groups and splits. Of the numbers, some are missing
// if lacks is true.
func embeddings(t *testing.T, rows int, lacks bool) embedded {
	const columns = 12
	dir, r := t.TempDir(), rand.New(rand.NewPCG(1, 2))
	x := datatest.Array{Name: "X", Type: "<f4", Shape: []int{rows, columns}}
	y := datatest.Array{Name: "y", Type: "|u1", Shape: []int{rows}}
	sex := datatest.Array{Name: "sex", Type: "<U3", Shape: []int{rows}}
	part := datatest.Array{Name: "part", Type: "|S5", Shape: []int{rows}}
	id := datatest.Array{Name: "id", Type: ">i4", Shape: []int{rows}}
	header, lines, beside, numbers := "", make([]string, rows), make([]string, rows), make([]string, rows)
	for j := range columns {
		header += fmt.Sprintf("X%d,", j)
	}
	for i := range rows {
		for j := range columns {
			v := float64(float32(r.NormFloat64() * math.Pow(10, float64(j-6))))
			if text := fmt.Sprint(v); lacks && j < 3 && r.IntN(50) == 0 {
				v = math.NaN()
				lines[i] += "NaN,"
			} else {
				lines[i] += text + ","
			}
			x.Numbers = append(x.Numbers, v)
		}
		y.Numbers, sex.Texts, part.Texts = append(y.Numbers, float64(r.IntN(2))), append(sex.Texts, []string{"f", "m", "m "}[r.IntN(3)]), append(part.Texts, []string{"train", "test", "train", "valid"}[r.IntN(4)])
		id.Numbers = append(id.Numbers, float64(7*i+3))
		beside[i] = fmt.Sprintf("%v,%s,%s", y.Numbers[i], sex.Texts[i], part.Texts[i])
		numbers[i] = fmt.Sprintf("%d,%d", 7*i+3, i)
		lines[i] += beside[i]
	}
	write := func(name, text string) string { return datatest.Write(t, dir, name, []byte(text)) }
	table := func(header string, lines []string) string { return header + "\n" + strings.Join(lines, "\n") + "\n" }
	order := r.Perm(rows)[:rows-10]
	var keyed, withKey []string
	for _, i := range order {
		keyed, withKey = append(keyed, lines[i]), append(withKey, numbers[i]+","+beside[i])
	}
	fortran := x
	fortran.Fortran, fortran.Type = true, ">f4"
	npy, keys := write("x.npy", string(x.NPY())), write("keys.csv", table("id,row,y,sex,part", withKey))
	return embedded{
		csv: write("all.csv", table(header+"y,sex,part", lines)), keyed: write("keyed.csv", table(header+"y,sex,part", keyed)),
		arrays: map[string]tabular.TableOptions{
			"npz":        {File: write("x.npz", string(datatest.NPZ(t, false, y, x, sex, part)))},
			"compressed": {File: write("c.npz", string(datatest.NPZ(t, true, x, sex, y, part)))},
			"fortran":    {File: write("f.npz", string(datatest.NPZ(t, false, sex, fortran, y, part)))},
			"gzip":       {File: write("x.npy.gz", string(datatest.Gzipped(x.NPY()))), JoinFile: write("rows.csv", table("y,sex,part", beside))},
			"table":      {File: npy, JoinFile: write("rows.tsv", strings.ReplaceAll(table("y,sex,part", beside), ",", "\t"))},
			"row key":    {File: npy, JoinFile: keys, Key: "row"},
			"array key":  {File: write("i.npz", string(datatest.NPZ(t, false, x, id))), JoinFile: keys, Key: "id"},
		},
	}
}

// sameTables compares two loaded tables, and their features by bits.
func sameTables(t *testing.T, name string, want, got *tabular.Tables) {
	t.Helper()
	slices.Sort(want.Reading.Required) // the order of the columns in the file
	slices.Sort(got.Reading.Required)
	if diff := cmp.Diff(want.Preparation.Encodings, got.Preparation.Encodings) + cmp.Diff(want.Label, got.Label) + cmp.Diff(want.Reading, got.Reading); diff != "" {
		t.Fatalf("%s: %s", name, diff)
	}
	blanks := func(tables *tabular.Tables) []string { // notes on values with blanks around them
		return slices.DeleteFunc(slices.Clone(tables.Notes), func(note string) bool { return !strings.Contains(note, "with blanks around it") })
	}
	if diff := cmp.Diff(blanks(want), blanks(got)); diff != "" {
		t.Fatalf("%s: %s", name, diff)
	}
	for k, p := range want.Parts() {
		one, own := *p.Table, *got.Parts()[k].Table
		rows, cols := one.Features.Dims()
		from, mine := 0, own.Features
		if part, ok := own.Features.(*matrix.Part); ok {
			from, mine = part.From, part.Own
			rows, _ = mine.Dims()
		}
		a, b := make([]float64, rows*cols), make([]float64, rows*cols)
		one.Features.Float64(a, from, from+rows)
		mine.Float64(b, 0, rows)
		for i := range a {
			if math.Float64bits(a[i]) != math.Float64bits(b[i]) {
				t.Fatalf("%s, %s rows: feature %d of row %d is %v, want %v", name, p.Name, i%cols, from+i/cols, b[i], a[i])
			}
		}
		one.Features, own.Features = nil, nil
		if !reflect.DeepEqual(one, own) { // faster than cmp.Diff
			t.Fatalf("%s, %s rows: %s", name, p.Name, cmp.Diff(one, own))
		}
	}
}

// Arrays are the same table as text with the same rows: in memory, in pages, and shared by
// processes.
func TestArraysAreTheSameTable(t *testing.T) {
	require.NoRace(t, "TestArraysWithATestFile starts the same goroutines")
	pages, err := mapped.New(t.TempDir(), 1<<40)
	require.NoError(t, err)
	defer pages.Close()
	for name, opts := range map[string]tabular.TableOptions{
		"":           {Groups: []string{"sex"}},
		"conditions": {Groups: []string{"X3>=0"}, Attributes: []string{"sex", "X4<0.1"}, Ignore: []string{"X5", "X11"}},
		"chosen":     {SplitColumn: "part", Features: []string{"X9", "X1", "X2"}},
		"label":      {Label: "X7>=0"},
		"impute":     {Attributes: []string{"sex"}, Missing: tabular.MissingImputed},
		"flag":       {Groups: []string{"X0>0"}, Missing: tabular.MissingFlagged},
		"drop":       {Groups: []string{"sex"}, Missing: tabular.MissingDropped},
	} {
		rows := 500
		if name == "" || name == "impute" {
			rows = 4200 // more than a part
		}
		from := embeddings(t, rows, opts.Missing != "")
		if opts.Label == "" {
			opts.Label = "y"
		}
		text := opts
		if text.Features == nil { // columns of one number are no features of arrays
			for _, column := range []string{"y", "sex", "part"} {
				if column != opts.Label {
					text.Ignore = append(slices.Clone(text.Ignore), column)
				}
			}
		}
		wants := map[string]*tabular.Tables{}
		for _, path := range []string{from.csv, from.keyed} {
			text.File = path
			if wants[path], err = LoadTable("", "csv", text); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		for kind, files := range from.arrays {
			own, want := opts, wants[from.csv]
			own.File, own.JoinFile, own.Key = files.File, files.JoinFile, files.Key
			if files.Key != "" {
				want = wants[from.keyed]
			}
			title := name + " " + kind
			got, err := LoadTable("", "csv", own)
			if err != nil {
				t.Fatalf("%s: %v", title, err)
			}
			sameTables(t, title, want, got)
			own.Pages = pages
			if got, err = LoadTable("", "csv", own); err != nil {
				t.Fatalf("%s in pages: %v", title, err)
			}
			if _, ok := got.Train.Features.(*loader.EncodedRows); !ok {
				t.Errorf("%s in pages: %T", title, got.Train.Features)
			}
			sameTables(t, title+" in pages", want, got)
			own.Pages = nil
			all, errs := shared(t, 3, 240, func(_ int, s tabular.Share) (*tabular.Tables, error) {
				own := own
				own.Share = s
				return LoadTable("", "csv", own)
			})
			if err := errors.Join(errs...); err != nil {
				t.Fatalf("%s shared: %v", title, err)
			}
			for rank, got := range all {
				sameTables(t, fmt.Sprint(title, " process ", rank), want, got)
			}
		}
	}
}

// The test rows may be in a file of their own: arrays or text.
func TestArraysWithATestFile(t *testing.T) {
	train, test := embeddings(t, 300, false), embeddings(t, 90, false)
	opts := tabular.TableOptions{File: train.csv, TestFile: test.csv, Label: "y", Ignore: []string{"sex", "part"}}
	want := loaded(t, "csv", opts)
	for _, c := range [][2]string{{train.arrays["npz"].File, test.arrays["npz"].File}, {train.arrays["fortran"].File, test.csv}, {train.csv, test.arrays["compressed"].File}} {
		opts.File, opts.TestFile = c[0], c[1]
		got := loaded(t, "csv", opts)
		sameTables(t, fmt.Sprint(c), want, got)
	}
	opts.File, opts.TestFile = train.arrays["npz"].File, embeddings(t, 90, true).arrays["npz"].File
	_, err := LoadTable("", "csv", opts)
	datatest.CheckError(t, err, dataerr.ErrMissing, opts.TestFile+": row ")
}

// With an array of keys, one table has the labels of both files, in any order and beside rows of
// other files. A table that is joined by place belongs to the first file alone.
func TestTableOfTwoFiles(t *testing.T) {
	const rows = 60
	dir, r := t.TempDir(), rand.New(rand.NewPCG(5, 6))
	var arrays, places, texts [2][]byte
	lines := make([]string, 3*rows) // of the table
	order := r.Perm(len(lines))
	var features [2][]string
	for file := range 2 {
		x := datatest.Array{Name: "X", Type: "<f8", Shape: []int{rows, 2}}
		id := datatest.Array{Name: "id", Type: "<U4", Shape: []int{rows}}
		for i := range rows {
			x.Numbers = append(x.Numbers, r.NormFloat64(), r.NormFloat64())
			id.Texts = append(id.Texts, fmt.Sprint("r", order[file*rows+i]))
			features[file] = append(features[file], fmt.Sprintf("%v,%v", x.Numbers[2*i], x.Numbers[2*i+1]))
		}
		arrays[file], places[file] = datatest.NPZ(t, file == 0, x, id), x.NPY()
		texts[file] = []byte("X0,X1,y,sex\n")
	}
	for at := range lines {
		beside := fmt.Sprintf("%d,%s", r.IntN(2), []string{"f", "m"}[r.IntN(2)])
		lines[at] = fmt.Sprintf("r%d,%s", at, beside)
		if own := slices.Index(order, at); own < 2*rows {
			texts[own/rows] = fmt.Appendf(texts[own/rows], "%s,%s\n", features[own/rows][own%rows], beside)
		}
	}
	write := func(name string, content []byte) string { return datatest.Write(t, dir, name, content) }
	table := write("rows.csv", []byte("id,y,sex\n"+strings.Join(lines, "\n")+"\n"))
	first := write("first.csv", []byte("id,y,sex\n"+strings.Join(lines[:rows], "\n")+"\n"))
	opts := tabular.TableOptions{File: write("0.csv", texts[0]), TestFile: write("1.csv", texts[1]), Label: "y", Groups: []string{"sex=m"}, Ignore: []string{"sex"}}
	want := loaded(t, "csv", opts)
	opts.File, opts.TestFile, opts.JoinFile, opts.Key = write("0.npz", arrays[0]), write("1.npz", arrays[1]), table, "id"
	got := loaded(t, "csv", opts)
	sameTables(t, "one table of two files", want, got)
	for _, file := range []string{opts.File, opts.TestFile} {
		if note := fmt.Sprintf("%d of %d rows of %s are left out, because the array id of %s does not have their keys.", 2*rows, 3*rows, table, file); !slices.Contains(got.Notes, note) {
			t.Errorf("notes %q, want %q", got.Notes, note)
		}
	}
	opts.File, opts.TestFile, opts.JoinFile, opts.Key = write("0.npy", places[0]), write("1.npy", places[1]), first, ""
	_, err := LoadTable("", "csv", opts)
	datatest.CheckError(t, err, dataerr.ErrColumn, fmt.Sprintf("%s is joined to %s row by row: the test file needs", first, opts.File))
	opts.JoinFile, opts.Key = write("numbers.csv", []byte("row,y,sex\n0,1,f\n1,0,m\n")), "row"
	_, err = LoadTable("", "csv", opts)
	datatest.CheckError(t, err, dataerr.ErrColumn, "the file has no array row; row numbers in ")
}

// A file of arrays in the order of C, with the elements of the machine, is mapped and not copied.
// A later change of the file is an error.
func TestArraysAreMapped(t *testing.T) {
	pages := require.Value(mapped.New(t.TempDir(), 1<<40))(t)
	defer pages.Close()
	opts := embeddings(t, 500, false).arrays["table"]
	opts.Label, opts.Pages = "y", pages
	got := loaded(t, "csv", opts)
	require.NoError(t, pages.Check())
	file := require.Value(os.OpenFile(opts.File, os.O_RDWR, 0))(t)
	defer file.Close()
	require.Value(file.WriteAt(make([]byte, 500*12*4), 128))(t)
	x := make([]float64, 12)
	got.Train.Features.Float64(x, 0, 1)
	e := got.Preparation.Encodings
	if x[0] != -e[0].Center/e[0].Scale {
		t.Error("the features are a copy of the file")
	}
	if err := pages.Check(); err == nil || !strings.Contains(err.Error(), opts.File) {
		t.Errorf("%v, want an error about %s", err, opts.File)
	}
}

// Wrong arrays, and tables that do not fit, are one line with the place.
func TestWrongArrays(t *testing.T) {
	dir := t.TempDir()
	x := datatest.Array{Name: "X", Type: "<f8", Shape: []int{4, 2}, Numbers: []float64{1, 2, 3, 4, 5, 7, 7, 8}}
	y := datatest.Array{Name: "y", Type: "<i8", Shape: []int{4}, Numbers: []float64{0, 1, 0, 1}}
	twice := datatest.Array{Name: "id", Type: "<U1", Shape: []int{4}, Texts: []string{"a", "b", "a", "c"}}
	nan, inf, short := x, x, y
	nan.Numbers, inf.Numbers = slices.Clone(x.Numbers), slices.Clone(x.Numbers)
	nan.Numbers[5], inf.Numbers[4] = math.NaN(), math.Inf(-1)
	column := y
	short.Shape, column.Shape = []int{3}, []int{4, 1}
	short.Numbers = y.Numbers[:3]
	notText := datatest.Array{Name: "sex", Type: "|S2", Shape: []int{4}, Texts: []string{"a", "b", "\xe4", "c"}}
	empty := datatest.Array{Name: "X", Type: "<f8", Shape: []int{0, 2}}
	for says, c := range map[string]struct {
		content []byte
		beside  string
		key     string
		want    error
	}{
		`row 3, column 2: X1: missing value: "NaN" in 1 of 4 rows`:                  {datatest.NPZ(t, false, nan, y), "", "", dataerr.ErrMissing},
		`row 3, column 1: X0: "-Inf" is not a finite number`:                        {datatest.NPZ(t, false, inf, y), "", "", dataerr.ErrNumber},
		"array y has 3 rows, but array X has 4":                                     {datatest.NPZ(t, false, x, short), "", "", dataerr.ErrFormat},
		"row 3, column 4: wrong format: the text is not in UTF-8":                   {datatest.NPZ(t, false, x, y, notText), "", "", dataerr.ErrFormat},
		`no column "y"; did you mean "y0"? an array of two dimensions`:              {datatest.NPZ(t, false, x, column), "", "", dataerr.ErrColumn},
		"it is an empty zip archive, want text":                                     {append([]byte("PK\x05\x06"), make([]byte, 18)...), "", "", dataerr.ErrFormat},
		"the file has no rows":                                                      {datatest.NPZ(t, false, empty, datatest.Array{Name: "y", Type: "<i8", Shape: []int{0}}), "", "", dataerr.ErrTruncated},
		"name the table that has the column with --table FILE":                      {x.NPY(), "", "", dataerr.ErrColumn},
		"the table has 3 rows, but ":                                                {x.NPY(), "y\n0\n1\n0\n", "", dataerr.ErrMismatch},
		`rows.csv: line 3, column 1: files disagree: the key "4", want a row of`:    {x.NPY(), "k,y\n0,0\n4,1\n", "k", dataerr.ErrMismatch},
		`rows.csv: line 4, column 1: files disagree: the key "1" is also in line 2`: {x.NPY(), "k,y\n1,0\n2,0\n1,1\n", "k", dataerr.ErrMismatch},
		`rows.csv: line 1: --key: invalid column: no column "key"`:                  {x.NPY(), "k,y\n1,0\n2,0\n1,1\n", "key", dataerr.ErrColumn},
		`the key "z", want a value of the array id in`:                              {datatest.NPZ(t, false, x, datatest.Array{Name: "id", Type: "<U1", Shape: []int{4}, Texts: []string{"a", "b", "d", "c"}}), "id,y\nz,1\ny,0\n", "id", dataerr.ErrMismatch},
		"rows.csv: truncated: the file has no rows":                                 {x.NPY(), "k,y\n", "k", dataerr.ErrNoRows},
		`row 3, column 3: files disagree: the key "a" is also in row 1`:             {datatest.NPZ(t, false, x, twice), "id,y\na,1\nb,0\n", "id", dataerr.ErrMismatch},
		`rows.csv: line 3, column 1: y: missing value: "" in 1 of 4 rows`:           {x.NPY(), "y,z\n0,1\n,1\n0,1\n1,1\n", "", dataerr.ErrMissing},
		"--table needs a file of arrays, and this file has no arrays":               {[]byte("a,y\n1,0\n2,1\n"), "y\n0\n1\n", "", dataerr.ErrFormat},
		"byte 0: truncated: the file is empty":                                      {nil, "y\n0\n1\n", "", dataerr.ErrTruncated},
		"--key needs the table that has this column (--table FILE)":                 {x.NPY(), "", "k", dataerr.ErrOption},
	} {
		opts := tabular.TableOptions{File: datatest.Write(t, dir, "x.npz", c.content), Label: "y", Key: c.key, Split: tabular.Split{Train: 100}}
		if c.beside != "" {
			opts.JoinFile = datatest.Write(t, dir, "rows.csv", []byte(c.beside))
		}
		_, err := LoadTable("", "csv", opts)
		datatest.CheckError(t, err, c.want, says)
	}
	if _, err := LoadTable("", "csv", tabular.TableOptions{File: filepath.Join(dir, "none.npy"), Label: "y"}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// A key that is an array and a column of the table, whose values are equal then, is one column.
func TestKeyOfBothFiles(t *testing.T) {
	dir := t.TempDir()
	arrays := datatest.NPZ(t, false, datatest.Array{Name: "X", Type: "<f8", Shape: []int{4, 1}, Numbers: []float64{1, 2, 3, 5}},
		datatest.Array{Name: "id", Type: "<i8", Shape: []int{4}, Numbers: []float64{10, 20, 30, 40}})
	got := require.Value(LoadTable("", "csv", tabular.TableOptions{File: datatest.Write(t, dir, "x.npz", arrays), Label: "y", Key: "id", Features: []string{"X0", "id"},
		JoinFile: datatest.Write(t, dir, "rows.csv", []byte("sex,id,y\nf,40,1\nm,10,0\nf,20,1\nm,30,0\n")), Groups: []string{"sex=m"}, Split: tabular.Split{Train: 100}}))(t)
	x := make([]float64, 8)
	got.Train.Features.Float64(x, 0, 4)
	e := got.Preparation.Encodings
	for i, want := range []float64{5, 40, 1, 10, 2, 20, 3, 30} {
		if v := x[i]*e[i%2].Scale + e[i%2].Center; math.Abs(v-want) > 1e-9 {
			t.Errorf("element %d is %v, want %v", i, v, want)
		}
	}
	if want := []int{1, -1, 1, -1}; !slices.Equal(got.Train.Labels, want) {
		t.Errorf("labels %v, want %v", got.Train.Labels, want)
	}
}

// A file without a label names y if it is an archive.
func TestLabelOfAnArchive(t *testing.T) {
	from := embeddings(t, 200, false)
	got, err := LoadTable("", "csv", from.arrays["npz"])
	if err != nil || got.Label.Column != "y" {
		t.Error(got, err)
	}
	_, err = LoadTable("", "csv", from.arrays["table"])
	datatest.CheckError(t, err, dataerr.ErrOption, "csv needs the label's column")
}

// New rows and test rows from arrays wider than those of training are refused in all formats,
// because a name such as X4 says the place of a column only. A narrower array that lacks columns
// says so. A preparation of an earlier version does not know the widths.
func TestArraysOfOtherWidths(t *testing.T) {
	const rows, columns = 60, 12
	width := func(shape []int) int {
		n := 1
		for _, k := range shape {
			n *= k
		}
		return n
	}
	x := func(shape ...int) datatest.Array {
		a := datatest.Array{Name: "X", Type: "<f4", Shape: append([]int{rows}, shape...)}
		for i := range rows * width(shape) {
			a.Numbers = append(a.Numbers, float64(i%7))
		}
		return a
	}
	y := datatest.Array{Name: "y", Type: "|u1", Shape: []int{rows}}
	for i := range rows {
		y.Numbers = append(y.Numbers, float64(i%2))
	}
	fortran := func(a datatest.Array) datatest.Array { a.Fortran = true; return a }
	formats := map[string]func(a datatest.Array) []byte{
		"npy": datatest.Array.NPY, "fortran": func(a datatest.Array) []byte { return fortran(a).NPY() },
		"gzip":       func(a datatest.Array) []byte { return datatest.Gzipped(a.NPY()) },
		"npz":        func(a datatest.Array) []byte { return datatest.NPZ(t, false, y, a) },
		"compressed": func(a datatest.Array) []byte { return datatest.NPZ(t, true, a, y) },
	}
	read := func(p *tabular.Preparation, content []byte, beside string) error {
		n := newrows.NewRows{Preparation: p, JoinFile: beside, Work: func(x, results []float64) ([]float64, error) { return append(results, x...), nil },
			Emit: func(*newrows.Block) error { return nil }}
		return n.Read(bytes.NewReader(content), "new")
	}
	beside := datatest.Write(t, t.TempDir(), "beside.csv", []byte("y\n"+strings.Repeat("0\n1\n", rows/2)))
	for kind, opts := range embeddings(t, rows, false).arrays {
		opts.Label = "y"
		got := loaded(t, "csv", opts)
		p := got.Preparation
		if diff := cmp.Diff(map[string]int{"X": columns}, p.Arrays); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
		older := *p
		older.Arrays = nil
		for format, write := range formats {
			for _, table := range []string{"", beside} {
				if table != "" && (p.Key != "" || format == "npz" || format == "compressed") {
					continue // the table has no key, or the archive has y
				}
				for _, shape := range [][]int{{columns + 1}, {columns, 2}} {
					datatest.CheckError(t, read(p, write(x(shape...)), table), dataerr.ErrColumn, fmt.Sprintf("new: invalid column: the array X has %d columns, and training had 12: give", width(shape)))
				}
				datatest.CheckError(t, read(p, write(x(columns-1)), table), dataerr.ErrColumn, "the array X has 11 columns, and training had 12")
				for _, err := range []error{read(p, write(x(columns)), table), read(p, write(x(3, 4)), table), read(&older, write(x(columns+1)), table)} {
					if err != nil {
						t.Errorf("%s, %s: %v", kind, format, err)
					}
				}
			}
		}
		if kind == "npz" {
			opts.TestFile = datatest.Write(t, t.TempDir(), "test.npz", formats["npz"](x(columns+1)))
			_, err := LoadTable("", "csv", opts)
			datatest.CheckError(t, err, dataerr.ErrColumn, opts.TestFile+": invalid column: the array X has 13 columns")
		}
	}
	texts := datatest.Array{Name: "T", Type: "<U1", Shape: []int{rows, 2}, Texts: slices.Repeat([]string{"a", "b", "b", "a"}, rows/2)}
	unused := x(2)
	unused.Name = "Z"
	opts := tabular.TableOptions{File: datatest.Write(t, t.TempDir(), "x.npz", datatest.NPZ(t, false, texts, unused, x(3), y)), Label: "y", Ignore: []string{"Z0", "Z1", "X2"}}
	got := loaded(t, "csv", opts)
	if diff := cmp.Diff(map[string]int{"X": 3, "T": 2}, got.Preparation.Arrays); diff != "" {
		t.Error(diff)
	}
	more := texts
	more.Shape, more.Texts = []int{rows, 3}, slices.Repeat(texts.Texts[:3], rows)
	datatest.CheckError(t, read(got.Preparation, datatest.NPZ(t, false, x(3), more), ""), dataerr.ErrColumn, "the array T has 3 columns, and training had 2")
	unused.Shape, unused.Numbers = []int{rows, 1}, unused.Numbers[:rows]
	if err := read(got.Preparation, datatest.NPZ(t, false, x(2), texts, unused), ""); err != nil { // X2 is ignored
		t.Error(err)
	}
}
