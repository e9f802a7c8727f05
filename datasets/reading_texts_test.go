package datasets

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	"ppal/internal/recordio"
	"ppal/internal/require"
)

// Each file that is not a table of the expected kind gives one line, which names what the file is
// and what to do.
func TestTextsOfForeignFiles(t *testing.T) {
	rows := strings.Repeat("1,2,yes\n3,4,no\n", 20)
	csv := tabular.TableOptions{Label: "y"}
	for _, c := range []struct {
		name, text string
		opts       tabular.TableOptions
		says       []string
	}{
		{"Excel", "PK\x03\x04" + strings.Repeat("\x00", 26) + "[Content_Types].xml", csv, []string{"an Excel file"}},
		{"Stata 118", "<stata_dta><header><release>118</release>", csv, []string{"a Stata file", "read_stata"}},
		{"Stata 114", "\x72\x02\x01\x00\x04\x00\x90\x01\x00\x00", csv, []string{"a Stata file", "read_stata"}},
		{"SPSS", "$FL2@(#) SPSS DATA FILE", csv, []string{"an SPSS file"}},
		{"SAS", strings.Repeat("\x00", 12) + "\xc2\xea\x81\x60\xb3\x14", csv, []string{"a SAS file"}},
		{"R", "X\n\x00\x00\x00\x03\x00\x04", csv, []string{"a file of R", "readRDS"}},
		{"HDF5", "\x89HDF\r\n\x1a\n", csv, []string{"an HDF5 file"}},
		{"PNG", "\x89PNG\r\n\x1a\n\x00\x00", csv, []string{"it is a picture", "to read it: name the folder that holds "}},
		{"JPEG", "\xff\xd8\xff\xe0\x00\x10JFIF", csv, []string{"it is a picture"}},
		{"bzip2", "BZh91AY&SY\x00\x01", csv, []string{"compressed by bzip2", "bunzip2"}},
		{"xz", "\xfd7zXZ\x00\x00", csv, []string{"compressed by xz", "xz -dc"}},
		{"zstd", "\x28\xb5\x2f\xfd\x04", csv, []string{"compressed by Zstandard", "zstd -dc"}},
		{"pickle", "\x80\x04\x95\x00\x01", csv, []string{"a Python pickle", "read_pickle"}},
		{"JSON", "{\"a\": [1, 2]}\n", csv, []string{"a JSON file", "read_json"}},
		{"JSON list", " [ {\"a\": 1}, {\"a\": 2} ]\n", csv, []string{"a JSON file", "read_json"}},
		{"JSON lines", "{\"a\": 1}\n{\"a\": 2}\n", csv, []string{"JSON lines", "lines=True"}},
		{"HTML", "\n<!DOCTYPE html>\n<html><body>\"not\" found</body></html>\n", csv, []string{"an HTML page"}},
		{"XML", "<?xml version=\"1.0\"?><a/>", csv, []string{"an XML file"}},
		{"ARFF", "% iris\n\n@RELATION iris\n@ATTRIBUTE x NUMERIC\n@DATA\n", csv, []string{"an ARFF file"}},
		{"Arrow", "ARROW1\x00\x00", csv, []string{"an Arrow file", "read_feather"}},
		{"Feather", "FEA1\x00\x00\x00\x00", csv, []string{"a Feather file"}},
		{"ORC", "ORC\x08\x03\x10", csv, []string{"an ORC file"}},
		{"SQLite", "SQLite format 3\x00", csv, []string{"an SQLite file", "sqlite3"}},
		{"tar", "a.csv" + strings.Repeat("\x00", 252) + "ustar\x00", csv, []string{"a tar archive"}},
		{"LFS", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", csv, []string{"a pointer of Git LFS"}},
		{"UTF-16", "\xff\xfea\x00,\x00", csv, []string{"UTF-16LE", "iconv -f UTF-16LE"}},
		{"CR", "x,z,y\r1,2,yes\r3,4,no\r", csv, []string{"the lines end in CR alone", "tr "}},
		{"open quote", "x,z,y\n" + rows + "1,\"2,yes\n" + rows, csv, []string{"line 42, column 2", "the quote is not closed"}},
		{"bare quote", "x,z,y\n1,2\",yes\n" + rows, csv, []string{"line 2, column 2", "--quote none"}},
		{"rows of LIBSVM", "+1 1:0.5 3:1\n-1 2:1\n", csv, []string{"LIBSVM's format", "--dataset libsvm"}},
		{"no names", "39, State-gov, 77516, 13\n50, Self-emp, 83311, 13\n", csv, []string{`no column "y"`, "the first line looks like values", "--columns", "--header none"}},
		{"no names, names twice", "4 A11 4\n3 A12 3\n", tabular.TableOptions{Label: "credit", Separator: ' '}, []string{"the first line looks like values", "--header none"}},
		{"numbers only", "1,2,3\n" + rows, csv, []string{"the first line holds numbers", "--header none"}},
		{"comments", "# made\n# today\nx,z,y\n" + rows, csv, []string{"only one column", "--skip 2"}},
		{"two lines of names", "a,b,c\nx,z,y\n" + rows, csv, []string{`no column "y"`, "line 2 seems to have the columns' names", "--skip 1"}},
		{"several spaces", "x   z   y\n1   2   yes\n", csv, []string{"only one column", "--separator ' '"}},
		{"line numbers after skipped lines", "#a\n#b\nx,z,y\n1,2\",yes\n" + rows, tabular.TableOptions{Label: "y", Skip: 2}, []string{"line 4, column 2", "--quote none"}},
		{"a name with a comma", "\"age, years\",z,y\n" + rows, tabular.TableOptions{Label: "pay"}, []string{`the columns are "age, years", z, y`}},
		{"a condition on no column", "x,z,y\n" + rows, tabular.TableOptions{Label: "pay=1"}, []string{`line 1: invalid column: no column "pay"; did you mean "y"?`}},
		{"fewer lines than skipped", "x,z,y\n", tabular.TableOptions{Label: "y", Skip: 3}, []string{"no line after the 3 lines to skip"}},
		{"fewer names than fields", rows, tabular.TableOptions{Label: "y", Columns: []string{"x", "y"}}, []string{"line 1", "3 fields, want 2", "--columns names 2 columns"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.opts.File = filepath.Join(t.TempDir(), "table")
			require.NoError(t, os.WriteFile(c.opts.File, []byte(c.text), 0o600))
			_, err := LoadTable("", "csv", c.opts)
			if err == nil || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%v, want one line", err)
			}
			for _, says := range c.says {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("%q does not say %q", err, says)
				}
			}
			if !errors.Is(err, dataerr.ErrFormat) && !errors.Is(err, dataerr.ErrColumn) && !errors.Is(err, dataerr.ErrTruncated) {
				t.Errorf("%v has no kind", err)
			}
			if c.opts.Skip == 0 && c.opts.Columns == nil && !strings.Contains(c.says[0], "column") { // the same file for a model
				p := &tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: 1}}}
				rows := newrows.NewRows{Preparation: p, Work: func(x, results []float64) ([]float64, error) { return append(results, x...), nil }, Emit: func(*newrows.Block) error { return nil }}
				if err := rows.Read(strings.NewReader(c.text), "new"); err == nil || strings.Contains(err.Error(), "\n") {
					t.Errorf("new rows: %v", err)
				}
			}
		})
	}
}

// Files that are not rows in LIBSVM's format are named, in training and for new rows.
func TestTextsOfForeignSparseFiles(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"CSV":       {"AGEP,COW,SCHL\n1,2,3\n", "it looks like text of separated fields, such as CSV"},
		"numbers":   {"1,2,3\n4,5,6\n", "such as CSV"},
		"tabs":      {"# a\n1\t2\t3\n", "such as CSV"},
		"Parquet":   {"PAR1\x15\x04", "a Parquet file"},
		"NumPy":     {"\x93NUMPY\x01\x00", "a NumPy array"},
		"NumPy zip": {"PK\x03\x04" + strings.Repeat("\x00", 26) + "x.npy\x93NUMPY", "an archive of NumPy arrays"},
		"bzip2":     {"BZh91AY&SY", "bunzip2"},
		"CR":        {"1 1:1\r-1 2:1\r", "CR alone"},
		"UTF-16":    {"\xff\xfe1\x00 \x00", "UTF-16LE"},
		"from 0":    {"1 0:1\n", "--zero-based"},
		"no number": {"yes 1:1\n", "not a finite number"},
		"too large": {"1 1:2\n-1 3:1.797e308\n", "line 2: invalid column: \"3:1.797e308\" is larger than 1e+18"},
	} {
		t.Run(name, func(t *testing.T) {
			path := datatest.Write(t, t.TempDir(), "rows", []byte(c.text))
			_, err := LoadTable("", "libsvm", tabular.TableOptions{File: path})
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %q in one line", err, c.says)
			}
			if name == "too large" {
				return
			}
			rows := newrows.NewRows{Preparation: &tabular.Preparation{Numbers: []int{1}, Indices: 3}, Work: func(x, results []float64) ([]float64, error) { return append(results, x...), nil },
				Emit: func(*newrows.Block) error { return nil }}
			if err := rows.Read(strings.NewReader(c.text), "new"); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("new rows: %v, want %q", err, c.says)
			}
		})
	}
	if err := recordio.CheckText([]byte(recordio.ByteOrderMark+"1 1:1\n"), "file", "rows"); err != nil {
		t.Error(err)
	}
}

// A table whose columns lie in files is the table in memory.
func TestPagesGiveTheSameTable(t *testing.T) {
	dir := t.TempDir()
	text := func(rows, seed int) []byte {
		var text strings.Builder
		text.WriteString("when,x,c,free,y\n")
		for i := seed; i < seed+rows; i++ {
			x := fmt.Sprint(i * i % 1009)
			if i%11 == 0 {
				x = "NA"
			}
			fmt.Fprintf(&text, "2024-%02d-%02d,%s,%s,%d,%d\n", 1+i%12, 1+i%28, x, []string{"b", "a", "", "c"}[i/4%4], i%5, i/3%2)
		}
		return []byte(text.String())
	}
	pages := require.Value(mapped.New(dir, 1<<40))(t)
	defer pages.Close()
	opts := tabular.TableOptions{File: datatest.Write(t, dir, "own.csv", text(15000, 0)), TestFile: datatest.Write(t, dir, "test.csv", text(3000, 7)), Label: "y", Dates: tabular.DatesExpanded,
		Groups: []string{"c"}, Attributes: []string{"free", "x<500"}, Features: []string{"when", "x", "c"}}
	for _, missing := range []string{tabular.MissingFlagged, tabular.MissingDropped} {
		opts.Missing, opts.Pages = missing, nil
		want := loaded(t, "csv", opts)
		opts.Pages = pages
		got := loaded(t, "csv", opts)
		if _, ok := got.Train.Features.(*loader.EncodedRows); !ok || pages.Bytes() < 15000*(6*8+4) {
			t.Errorf("%s: features %T, %d bytes", missing, got.Train.Features, pages.Bytes())
		}
		list := []int{7, 3, 3, 5000, 0}
		for i := range 3000 {
			list = append(list, i*3001%5000)
		}
		_, cols := got.Train.Features.Dims()
		some, same := make([]float64, len(list)*cols), make([]float64, len(list)*cols)
		matrix.Pick(got.Train.Features, list).Float64(some, 0, len(list))
		for k, i := range list {
			want.Train.Features.Float64(same[k*cols:(k+1)*cols], i, i+1)
		}
		if !slices.Equal(some, same) {
			t.Error("listed rows differ")
		}
		if diff := cmp.Diff(want.Preparation, got.Preparation) + cmp.Diff(want.Uses, got.Uses); diff != "" {
			t.Errorf("%s: %s", missing, diff)
		}
		for k, p := range want.Parts() {
			own := got.Parts()[k]
			rows, cols := p.Features.Dims()
			x, y := make([]float64, rows*cols), make([]float64, rows*cols)
			p.Features.Float64(x, 0, rows)
			own.Features.Float64(y, 0, rows)
			single, wanted := make([]float32, cols), make([]float32, cols)
			own.Features.Float32(single, rows-1, rows)
			own.Features.Float32(nil, rows, rows)
			p.Features.Float32(wanted, rows-1, rows)
			if !slices.Equal(x, y) || !slices.Equal(single, wanted) || own.Table.SHA256() != p.Table.SHA256() {
				t.Errorf("%s, %s: the features differ", missing, p.Name)
			}
			if diff := cmp.Diff(p.Groups, own.Groups, alike) + cmp.Diff(p.Attributes, own.Attributes, alike) + cmp.Diff(p.Labels, own.Labels, alike) + cmp.Diff(p.Source, own.Source, alike); diff != "" {
				t.Errorf("%s, %s: %s", missing, p.Name, diff)
			}
		}
	}
}
