package datasets

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/loader"
	"ppal/internal/newrows"
	"ppal/internal/recordio"
	"ppal/internal/require"
	"ppal/internal/vec"
)

// layoutNames are the columns of the tables in TestLayouts.
var layoutNames = []string{"sex", "age, years", "x", "pay"}

// layoutRows returns rows of these columns; "" is a missing value.
func layoutRows() (rows [][]string) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 80 {
		x := fmt.Sprintf("%.3f", random.Float64())
		if i%7 == 3 {
			x = ""
		}
		rows = append(rows, []string{[]string{"F", "M"}[i%2], fmt.Sprint(20 + random.IntN(50)), x, []string{"yes", "no"}[random.IntN(2)]})
	}
	return rows
}

// written returns the rows as text; field writes a field.
func written(rows [][]string, separator string, field func(text string) string) string {
	var out strings.Builder
	for _, row := range rows {
		for i, text := range row {
			if i > 0 {
				out.WriteString(separator)
			}
			out.WriteString(field(text))
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// Every layout of a file gives the same table, and its preparation, after a round trip through
// YAML, reads new rows in the same layout.
func TestLayouts(t *testing.T) {
	rows := layoutRows()
	quoted := func(text string) string {
		if strings.ContainsAny(text, `,"`) {
			return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
		}
		return text
	}
	instead := func(mark string) func(string) string {
		return func(text string) string {
			if text == "" {
				return mark
			}
			return text
		}
	}
	as := func(text string) string { return text }
	header := written([][]string{layoutNames}, ",", quoted)
	names := layoutNames
	body := written(rows, ",", as)
	for _, c := range []struct {
		name, text string
		set        func(o *tabular.TableOptions)
	}{
		{"plain", header + body, func(*tabular.TableOptions) {}},
		{"no names in the file", body, func(o *tabular.TableOptions) { o.Header, o.Columns = tabular.HeaderNone, names }},
		{"no names, tabs, no detection", written(rows, "\t", as), func(o *tabular.TableOptions) { o.Columns, o.Separator = names, '\t' }},
		{"no names, blanks", written(rows, "   ", instead("?")), func(o *tabular.TableOptions) { o.Columns, o.Separator = names, ' ' }},
		{"comments before the names", "# written by hand\n# twice\n" + header + body, func(o *tabular.TableOptions) { o.Skip = 2 }},
		{"two lines of names", "a,b,c,d\n" + header + body, func(o *tabular.TableOptions) { o.Skip = 1 }},
		{"names replaced", header + body, func(o *tabular.TableOptions) { o.Skip, o.Columns = 1, names }},
		{"Excel's sep=", "sep=;\r\n" + written([][]string{names}, ";", as) + written(rows, ";", as), func(*tabular.TableOptions) {}},
		{"sep= in quotes, an unusual separator", "\"sep=^\"\n" + written([][]string{names}, "^", as) + written(rows, "^", as), func(*tabular.TableOptions) {}},
		{"sep= and no names", "sep=;\n" + written(rows, ";", as), func(o *tabular.TableOptions) { o.Columns = names }},
		{"-200 is missing", header + written(rows, ",", instead("-200")), func(o *tabular.TableOptions) { o.MissingValues = []string{"-200"} }},
		{"several marks", header + written(rows, ",", instead("-9e9")), func(o *tabular.TableOptions) { o.MissingValues = []string{"x", "-9e9", ""} }},
		{"quotes are ordinary", written([][]string{names}, "\t", as) + written(rows, "\t", as), func(o *tabular.TableOptions) { o.Quote = tabular.QuoteNone }},
		{"two byte order marks", recordio.ByteOrderMark + recordio.ByteOrderMark + header + body, func(*tabular.TableOptions) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := datatest.Write(t, t.TempDir(), "table.csv", []byte(c.text))
			opts := tabular.TableOptions{File: path, Label: "pay=yes", Missing: tabular.MissingImputed, Groups: []string{"age, years<45"}}
			c.set(&opts)
			got := loaded(t, "csv", opts)
			plain := datatest.Write(t, t.TempDir(), "plain.csv", []byte(header+body))
			want := loaded(t, "csv", tabular.TableOptions{File: plain, Label: "pay=yes", Missing: tabular.MissingImputed, Groups: []string{"age, years<45"}})
			for i, p := range got.Parts() {
				if p.SHA256() != want.Parts()[i].SHA256() {
					t.Errorf("the %s rows differ", p.Name)
				}
			}
			saved := require.Value(yaml.Marshal(got.Preparation))(t)
			var read tabular.Preparation
			require.NoError(t, yaml.Unmarshal(saved, &read))
			if diff := cmp.Diff(*got.Preparation, read); diff != "" {
				t.Fatal(diff)
			}
			require.NoError(t, read.Check())
			width := len(read.Columns())
			features := prepared(t, &read, c.text)
			row := make([]float64, width)
			for _, p := range got.Parts() {
				for i, source := range p.Source {
					if p.Features.Float64(row, i, i+1); !slices.Equal(row, features[source*width:][:width]) {
						t.Fatalf("%s row %d: %v, want %v", p.Name, i, features[source*width:][:width], row)
					}
				}
			}
		})
	}
}

// Quotes that are ordinary characters, and texts that are missing values elsewhere.
func TestOrdinaryTexts(t *testing.T) {
	var text strings.Builder
	text.WriteString("disk\tcountry\ty\n")
	for i := range 40 {
		fmt.Fprintf(&text, "%s\t%s\t%d\n", []string{`5" disk`, `"3`, `a\"b`}[i%3], []string{"NA", "DE"}[i/2%2], i/5%2)
	}
	path := datatest.Write(t, t.TempDir(), "disks.tsv", []byte(text.String()))
	_, err := LoadTable("", "csv", tabular.TableOptions{File: path, Label: "y"})
	if err == nil || !strings.Contains(err.Error(), "--quote none") {
		t.Errorf("%v, want advice", err)
	}
	tables := loaded(t, "csv", tabular.TableOptions{File: path, Label: "y", Quote: tabular.QuoteNone, MissingValues: []string{"?"}})
	want := []string{`disk="3`, `disk=5" disk`, `disk=a\"b`, "country=DE", "country=NA"}
	if diff := cmp.Diff(want, tables.Preparation.Columns()); diff != "" {
		t.Error(diff)
	}
}

// A text that the user takes for a missing value is one although it is a number or a date.
func TestNumbersAsMissingValues(t *testing.T) {
	for _, mark := range []string{"-200", "1900-01-01", "1,5"} {
		path := datatest.Write(t, t.TempDir(), "air.csv", []byte("co;y\n"+strings.Repeat("2;0\n"+mark+";1\n3;1\n", 20)))
		_, err := LoadTable("", "csv", tabular.TableOptions{File: path, Label: "y", MissingValues: []string{mark}})
		datatest.CheckError(t, err, dataerr.ErrMissing, fmt.Sprintf("line 3, column 1: co: missing value: %q in 20 of 60 rows", mark))
	}
}

// A note says that no field is one of the texts of missing values, such as -200.0 for -200.
func TestUnseenMissingValues(t *testing.T) {
	path := datatest.Write(t, t.TempDir(), "air.csv", []byte("co,y\n"+strings.Repeat("2,0\n-200,1\n3,1\n", 20)))
	for mark, unseen := range map[string]bool{"-200.0": true, "-200": false} {
		tables := loaded(t, "csv", tabular.TableOptions{File: path, Label: "y=1", Missing: tabular.MissingImputed, MissingValues: []string{mark, "?"}})
		if notes := strings.Join(tables.Notes, " "); strings.Contains(notes, "No field is "+mark+", ?") != unseen {
			t.Errorf("%s: notes %s", mark, notes)
		}
	}
}

// Names of columns without a line of names.
func TestNamesByPlace(t *testing.T) {
	path := datatest.Write(t, t.TempDir(), "german.data", []byte(strings.Repeat("A11 6 A34 1\nA12 48 A32 2\nA11 24 A34 2\n", 12)))
	tables := loaded(t, "csv", tabular.TableOptions{File: path, Label: "column 4=2", Header: tabular.HeaderNone, Separator: ' '})
	want := tabular.Layout{Header: []string{"column 1", "column 2", "column 3", "column 4"}, Separator: " "}
	if diff := cmp.Diff(want, tables.Preparation.Layout); diff != "" {
		t.Error(diff)
	}
	if n := tables.Train.Rows() + tables.Validation.Rows() + tables.Test.Rows(); n != 36 {
		t.Errorf("%d rows, want 36: the first line is a row", n)
	}
}

// A column without a name that pandas writes with the numbers of rows is left out, in any order of
// the rows; other columns without a name stay.
func TestNumbersOfRows(t *testing.T) {
	const rows = 1500
	shuffled := rand.New(rand.NewPCG(3, 4)).Perm(2 * rows)
	for name, c := range map[string]struct {
		first   func(i int) string
		header  string
		opts    tabular.TableOptions
		ignored bool
	}{
		"all rows":              {func(i int) string { return fmt.Sprint(i) }, ",x,y", tabular.TableOptions{}, true},
		"selected rows":         {func(i int) string { return fmt.Sprint(3*i + i%2) }, ",x,y", tabular.TableOptions{}, true},
		"shuffled rows":         {func(i int) string { return fmt.Sprint(shuffled[i]) }, ",x,y", tabular.TableOptions{}, true},
		"a number twice":        {func(i int) string { return fmt.Sprint(i % 900) }, ",x,y", tabular.TableOptions{}, false},
		"a number twice, early": {func(i int) string { return fmt.Sprint(max(i, 1)) }, ",x,y", tabular.TableOptions{}, false},
		"points":                {func(i int) string { return fmt.Sprint(i) + ".5" }, ",x,y", tabular.TableOptions{}, false},
		"a name":                {func(i int) string { return fmt.Sprint(shuffled[i]) }, "id,x,y", tabular.TableOptions{}, false},
		"a chosen feature":      {func(i int) string { return fmt.Sprint(shuffled[i]) }, ",x,y", tabular.TableOptions{Features: []string{"column 1", "x"}}, false},
		"pandas' name":          {func(i int) string { return fmt.Sprint(shuffled[i]) }, "Unnamed: 0,x,y", tabular.TableOptions{}, true},
		"pandas' index":         {func(i int) string { return fmt.Sprint(shuffled[i]) }, "__index_level_0__,x,y", tabular.TableOptions{}, true},
		"pandas' name of codes": {func(i int) string { return fmt.Sprint(i % 900) }, "Unnamed: 0,x,y", tabular.TableOptions{}, false},
		"no names":              {func(i int) string { return fmt.Sprint(shuffled[i]) }, "99999,0.5,a", tabular.TableOptions{Header: tabular.HeaderNone, Label: "column 3=b"}, false},
		"a value is absent":     {func(i int) string { return []string{fmt.Sprint(i), ""}[vec.Indicator(i == 7)] }, ",x,y", tabular.TableOptions{Missing: tabular.MissingImputed}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var text strings.Builder
			text.WriteString(c.header + "\n")
			for i := range rows {
				fmt.Fprintf(&text, "%s,%d.5,%s\n", c.first(i), i%13, []string{"a", "b"}[i%2])
			}
			path := datatest.Write(t, t.TempDir(), "table.csv", []byte(text.String()))
			opts := c.opts
			if opts.File = path; opts.Label == "" {
				opts.Label = "y=b"
			}
			got := loaded(t, "csv", opts)
			notes := strings.Join(got.Notes, " ")
			if ignored := len(got.Train.Columns) == 1; ignored != c.ignored || strings.Contains(notes, "Column 1 has ") != c.ignored {
				t.Errorf("features %v, notes %s", got.Train.Columns, notes)
			}
		})
	}
}

// Columns of whole numbers with few values are named, because they may be codes.
func TestCodes(t *testing.T) {
	var text strings.Builder
	text.WriteString("code,\"kind, of\",two,many,part,share,y\n")
	for i := range 2000 {
		fmt.Fprintf(&text, "%d,%d,%d,%d,%d.5,%d,%d\n", 100+i%70, i%3, i%2, i/2, i%5, i%150, i%2)
	}
	path := datatest.Write(t, t.TempDir(), "codes.csv", []byte(text.String()))
	got := loaded(t, "csv", tabular.TableOptions{File: path, Label: "y"})
	want := `These columns hold whole numbers with few different values: code (70), "kind, of" (3). If some are codes of categories: --categorical 'code,"kind, of"'.`
	if !slices.Contains(got.Notes, want) {
		t.Errorf("%q", got.Notes)
	}
	got = loaded(t, "csv", tabular.TableOptions{File: path, Label: "y", Categorical: []string{"code", "kind, of"}})
	if strings.Contains(strings.Join(got.Notes, " "), "codes") {
		t.Error(got.Notes)
	}
}

// Of two columns of one name, the advice keeps the first; then new rows of the same file are read.
func TestColumnsOfOneName(t *testing.T) {
	text := "x,when,x,y\n"
	for i := range 40 {
		text += fmt.Sprintf("%d.5,2024-01-%02d,%d.5,%d\n", i%7, 1+i%28, i%5, i/2%2)
	}
	path := datatest.Write(t, t.TempDir(), "twice.csv", []byte(text))
	_, err := LoadTable("", "csv", tabular.TableOptions{File: path, Label: "y"})
	checkProblems(t, err, 2, dataerr.ErrColumn, `two columns are named "x"; keep the first (--ignore 'column 3')`, "for all of them: --ignore 'column 3' --dates expand")
	got := loaded(t, "csv", tabular.TableOptions{File: path, Label: "y", Ignore: []string{"column 3"}, Dates: tabular.DatesExpanded})
	if got.Train.Columns[0] != "x" || got.Uses[2].Became != "ignored" || got.Uses[0].Became != "number" {
		t.Errorf("%v %v", got.Train.Columns, got.Uses)
	}
	features := streamed(t, got.Preparation, text)
	row := make([]float64, len(got.Train.Columns))
	for i, source := range got.Train.Source {
		if got.Train.Features.Float64(row, i, i+1); !slices.Equal(row, features[source*len(row):][:len(row)]) {
			t.Fatalf("row %d: %v, want %v", i, features[source*len(row):][:len(row)], row)
		}
	}
}

// A file that counts from 0 gives the rows of the file that counts from 1, with its own numbers.
func TestZeroBased(t *testing.T) {
	var zero, one strings.Builder
	for i := range 60 {
		fmt.Fprintf(&zero, "%d 0:1 %d:%d.5 9:1\n", i%2, 1+i%5, i)
		fmt.Fprintf(&one, "%d 1:1 %d:%d.5 10:1\n", i%2, 2+i%5, i)
	}
	load := func(text string, opts tabular.TableOptions) *tabular.Tables {
		t.Helper()
		opts.File = datatest.Write(t, t.TempDir(), "rows.svm", []byte(text))
		tables := loaded(t, "libsvm", opts)
		return tables
	}
	want := load(one.String(), tabular.TableOptions{Groups: []string{"3"}, Ignore: []string{"1"}, Attributes: []string{"4"}})
	got := load(zero.String(), tabular.TableOptions{Groups: []string{"2"}, Ignore: []string{"0"}, Attributes: []string{"3"}, ZeroBased: true})
	if got.Train.SHA256() != want.Train.SHA256() {
		t.Error("the rows differ")
	}
	if diff := cmp.Diff([]string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}, got.Train.Columns); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(got.Train.Columns, got.Preparation.Columns()); diff != "" {
		t.Error(diff)
	}
	if g, a := got.Train.Groups[0], got.Train.Attributes[0]; g.Name != "feature 2" || g.Conditions[0] != "2" || a.Name != "3" || a.Values[0] != "feature 3" {
		t.Errorf("group %v, attribute %v", g.Name, a)
	}
	all := load(zero.String(), tabular.TableOptions{ZeroBased: true})
	if diff := cmp.Diff(all.Train.Columns, all.Preparation.Columns()); diff != "" || all.Train.Columns[0] != "0" {
		t.Errorf("%v %s", all.Train.Columns, diff)
	}
	x, row, own := prepared(t, got.Preparation, zero.String()), make([]float64, 9), []float64(nil)
	for i, source := range got.Train.Source {
		got.Train.Features.Float64(row, i, i+1)
		if !slices.Equal(row, x[9*source:][:9]) {
			t.Fatalf("row %d: %v, want %v", i, x[9*source:][:9], row)
		}
	}
	var kept [][]string
	new := newrows.NewRows{Preparation: got.Preparation, Keep: []string{"", "2"}, Work: func(x, results []float64) ([]float64, error) { return append(results, x...), nil },
		Emit: func(b *newrows.Block) error {
			kept = append(kept, slices.Clone(b.Kept[1]))
			own = b.Results[:9]
			return nil
		}}
	require.NoError(t, new.Read(strings.NewReader(zero.String()), "new"))
	if !slices.Equal(x[:9], own) || kept[0][0] != "0" || kept[0][1] != "1" {
		t.Errorf("%v %v", own, kept[0][:2])
	}
	for _, text := range []string{zero.String(), "1 0:1\n"} {
		if _, err := (&loader.SparseRows{}).Read(bytes.NewReader([]byte(text)), "file"); err == nil || !strings.Contains(err.Error(), "--zero-based") {
			t.Errorf("%v, want advice", err)
		}
	}
	if _, err := (&loader.SparseDesign{Shift: 1}).Find([]string{"10"}, 10); err == nil || !strings.Contains(err.Error(), "want a number from 0 to 9") {
		t.Error(err)
	}
}
