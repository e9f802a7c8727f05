package datasets

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/loader"
	"ppal/internal/require"
)

// TestTables loads the tables of testdata/tables.txt.
//
//	csv      an own file of separated fields
//	libsvm   an own file in LIBSVM's format
//
// The output has the columns of the features, the classes and labels of the rows, the groups and
// attributes, what became of the columns, notes and warnings, or the error with its kind. With
// show, the output has only these parts, perhaps the features and the encodings of numbers. The
// other arguments are fields of TableOptions: label=y, groups=age<45;sex=F. name=wages names the
// text for later cases, which have of=wages.
func TestTables(t *testing.T) {
	const path = "testdata/tables.txt"
	named := map[string]string{}
	for _, c := range require.ReadCases(t, path) {
		if name := c.Arg("name"); name != "" {
			named[name] = c.Input
		}
	}
	require.Cases(t, path, func(t *testing.T, c *require.Case) string {
		text := c.Input + named[c.Arg("of")]
		dir := t.TempDir()
		opts := optionsOf(t, c)
		opts.File = datatest.Write(t, dir, "own."+c.Command, []byte(text))
		got, err := LoadTable("", c.Command, opts)
		if err != nil {
			return strings.ReplaceAll(kindOf(err)+err.Error(), dir+string(filepath.Separator), "")
		}
		if opts.Missing != tabular.MissingDropped { // whose rows are no rows to prepare
			preparesAlike(t, got, text)
		}
		return tablesText(got, strings.Split(c.Arg("show"), ","))
	})
}

// optionsOf reads the arguments of a case.
func optionsOf(t *testing.T, c *require.Case) tabular.TableOptions {
	t.Helper()
	o := tabular.TableOptions{
		Label: c.Arg("label"), Missing: c.Arg("missing"), Dates: c.Arg("dates"), Decimal: c.Arg("decimal"), Header: c.Arg("header"), Quote: c.Arg("quote"),
		Unknown: c.Arg("unknown"), SplitColumn: c.Arg("split-column"), DropSensitive: c.Has("drop-sensitive"),
		Groups: c.List("groups"), Attributes: c.List("attributes"), Values: c.List("values"), Ignore: c.List("ignore"), Classes: c.List("classes"),
		Features: c.List("features"), Categorical: c.List("categorical"), MissingValues: c.List("missing-values"), Columns: c.List("columns"),
		Split: tabular.Split{Train: 100},
	}
	if c.Arg("separator") != "" {
		o.Separator = []rune(c.Arg("separator"))[0]
	}
	if o.SplitColumn != "" {
		o.Split = tabular.Split{}
	}
	if text := c.Arg("split"); text != "" {
		require.Value(fmt.Sscanf(text, "%d/%d/%d", &o.Split.Train, &o.Split.Validation, &o.Split.Test))(t)
	}
	return o
}

// kindOf returns the names of the errors that err is.
func kindOf(err error) string {
	text := ""
	for _, kind := range []struct {
		err  error
		name string
	}{
		{dataerr.ErrFormat, "ErrFormat"}, {dataerr.ErrTruncated, "ErrTruncated"}, {dataerr.ErrLabel, "ErrLabel"}, {dataerr.ErrNumber, "ErrNumber"}, {dataerr.ErrIndex, "ErrIndex"},
		{dataerr.ErrMissing, "ErrMissing"}, {dataerr.ErrCategory, "ErrCategory"}, {dataerr.ErrClass, "ErrClass"}, {dataerr.ErrOption, "ErrOption"}, {dataerr.ErrColumn, "ErrColumn"},
		{dataerr.ErrGroup, "ErrGroup"}, {dataerr.ErrSplit, "ErrSplit"}, {dataerr.ErrEmpty, "ErrEmpty"},
	} {
		if errors.Is(err, kind.err) {
			text += kind.name + ": "
		}
	}
	return text
}

// preparesAlike checks that new rows are prepared as the rows of the file were.
func preparesAlike(t *testing.T, got *tabular.Tables, text string) {
	t.Helper()
	if got.Preparation == nil || len(got.Preparation.Encodings) == 0 {
		return
	}
	if err := got.Preparation.Check(); err != nil {
		t.Error(err)
	}
	features := streamed(t, got.Preparation, text)
	for _, p := range got.Parts() {
		_, cols := p.Features.Dims()
		row := make([]float64, cols)
		for i, source := range p.Source {
			p.Features.Float64(row, i, i+1)
			for j, x := range row {
				if y := features[source*cols+j]; x != y {
					t.Fatalf("%s row %d, %s: %v, and %v as a new row", p.Name, i, p.Columns[j], x, y)
				}
			}
		}
	}
}

// tablesText describes tables: the given parts; "" stands for all parts but features and encodings.
func tablesText(tables *tabular.Tables, show []string) string {
	var b strings.Builder
	part := func(name, value string) {
		for _, s := range show {
			if value != "" && (s == name || s == "" && name != "features" && name != "encodings") {
				fmt.Fprintf(&b, "%s: %s\n", name, value)
			}
		}
	}
	list := func(values []string) string { return strings.Join(values, "; ") }
	for _, p := range tables.Parts() {
		if len(tables.Parts()) > 1 {
			fmt.Fprintf(&b, "%s rows %v\n", p.Name, p.Source)
		}
		part("columns", list(p.Columns))
		part("classes", list(p.Classes))
		part("labels", fmt.Sprint(p.Labels))
		for _, g := range p.Groups {
			part("groups", fmt.Sprintf("%s %v, of %q", g.Name, g.Rows, g.Conditions))
		}
		for _, a := range p.Attributes {
			var rows []string
			for _, k := range a.Of {
				if k < 0 {
					rows = append(rows, "none")
				} else {
					rows = append(rows, a.Values[k])
				}
			}
			part("attributes", fmt.Sprintf("%s of %s: %s", a.Name, list(a.Values), list(rows)))
		}
		rows, cols := p.Features.Dims()
		row := make([]float64, cols)
		for i := range rows {
			p.Features.Float64(row, i, i+1)
			var numbers []string
			for _, x := range row {
				numbers = append(numbers, strconv.FormatFloat(x, 'g', 5, 64))
			}
			part("features", strings.Join(numbers, " "))
		}
	}
	for _, e := range tables.Preparation.Encodings {
		text := fmt.Sprintf("%s with mean %.8g and deviation %.8g", e.Column, e.Center, e.Scale)
		if e.Part != "" {
			text = fmt.Sprintf("%s of %s as %s", e.Part, text, e.Date)
		}
		if len(e.Categories) == 0 {
			part("encodings", text)
		}
	}
	for _, u := range tables.Uses {
		text := u.Name + " is " + u.Text()
		if u.Missing > 0 {
			text += fmt.Sprintf(", misses %d", u.Missing)
		}
		part("uses", text)
	}
	for _, n := range tables.Notes {
		part("note", n)
	}
	for _, w := range tables.Warnings {
		part("warning", w)
	}
	return b.String()
}

// TestReaders reads the texts of testdata/readers.txt.
//
//	fields   the records of a text of separated fields, the header first; header=a;b replaces it
//	libsvm   the rows of a text in LIBSVM's format, with cols=N features
//
// Each text is read as it is and compressed. An error is a FileError.
func TestReaders(t *testing.T) {
	require.Cases(t, "testdata/readers.txt", func(t *testing.T, c *require.Case) string {
		read := func(text string) string {
			var out string
			var err error
			switch c.Command {
			case "fields":
				var records [][]string
				records, err = allRecords(text, 0, c.List("header"))
				for _, r := range records {
					out += fmt.Sprintf("%q\n", r)
				}
			case "libsvm":
				cols, _ := strconv.Atoi(c.Arg("cols"))
				var got *loader.LIBSVM
				if got, err = (&loader.SparseRows{Cols: cols}).Read(strings.NewReader(text), "file"); err == nil {
					out = string(describeLIBSVM(got))
				}
			default:
				t.Fatal("unknown command")
			}
			var fe *dataerr.FileError
			if err != nil && !errors.As(err, &fe) {
				t.Errorf("%T is no *FileError", err)
			}
			if err != nil {
				return kindOf(err) + err.Error()
			}
			return out
		}
		out := read(c.Input)
		if again := read(string(datatest.Gzipped([]byte(c.Input)))); again != out {
			t.Errorf("compressed: %s", again)
		}
		return out
	})
}
