//go:build linux

package datasets

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/loader"
	"ppal/internal/mapped"
	"ppal/internal/require"
)

// sparseText returns rows in LIBSVM's format. The first entry with a value other than 1 is in the
// given row.
func sparseText(rows, valued int, query bool) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for i := range rows {
		fmt.Fprintf(&b, "%+d", 2*rng.IntN(2)-1)
		if query {
			fmt.Fprintf(&b, " qid:%d", i/10)
		}
		for j := 1; j <= 20; j++ {
			switch {
			case rng.IntN(3) > 0:
			case i >= valued:
				fmt.Fprintf(&b, " %d:%.3f", j, rng.NormFloat64())
			default:
				fmt.Fprintf(&b, " %d:1", j)
			}
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func newPages(t *testing.T) *mapped.Dir {
	t.Helper()
	pages := require.Value(mapped.New(t.TempDir(), 1<<30))(t)
	t.Cleanup(func() {
		if err := pages.Close(); err != nil {
			t.Error(err)
		}
	})
	return pages
}

// sameRows compares two files. cmp.Diff would need minutes for as many differences.
func sameRows(a, b *loader.LIBSVM) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.X.Rows == b.X.Rows && a.X.Cols == b.X.Cols && slices.Equal(a.X.Starts, b.X.Starts) && slices.Equal(a.X.Columns, b.X.Columns) &&
		slices.Equal(a.X.Values, b.X.Values) && slices.Equal(a.Labels, b.Labels) && reflect.DeepEqual(a.Queries, b.Queries)
}

// Rows that are read to pages are the rows in memory, wherever the first value is, and a wrong line
// is the same error.
func TestLIBSVMInPages(t *testing.T) {
	const rows = 10_000 // of several chunks
	texts := map[string][]byte{"queries": sparseText(rows, 0, true), "no query in the last row": append(sparseText(rows, 0, true), "1 3:1\n"...),
		"a wrong line": append(sparseText(rows, rows, false), "1 3:x\n"...), "no entry": []byte(strings.Repeat("1\n", rows)), "empty": nil}
	for _, valued := range []int{0, 5, rows / 4, rows / 2, 3 * rows / 4, rows - 1, rows} {
		texts[fmt.Sprint("values from row ", valued)] = sparseText(rows, valued, false)
	}
	for name, text := range texts {
		want, wantErr := (&loader.SparseRows{}).Read(bytes.NewReader(text), "file")
		got, err := (&loader.SparseRows{Pages: newPages(t)}).Read(bytes.NewReader(text), "file")
		if !sameRows(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%s: other rows, or the error %v, want %v", name, err, wantErr)
		}
		if err == nil && (got.X.Values == nil) != (want.X.Values == nil) {
			t.Errorf("%s: values in pages: %t, in memory: %t", name, got.X.Values != nil, want.X.Values != nil)
		}
	}
}

// The second load of a LIBSVM file parses no row, with any split and any features for groups. A
// damaged or changed file is read again.
func TestKeptLIBSVM(t *testing.T) {
	require.NoRace(t, "the tests of kept CSV files and of LIBSVM files run the same goroutines")
	file, folder := filepath.Join(t.TempDir(), "rows.svm"), t.TempDir()
	save := func(path string, text []byte) {
		t.Helper()
		datatest.Write(t, "", path, text)
	}
	save(file, sparseText(1000, 20, false))
	load := func(folder, sum string, seed uint64) (all any, remarks string) {
		o := tabular.TableOptions{File: file, Seed: seed, Groups: []string{"3"}, Attributes: []string{"5"}, Ignore: []string{"7"}}
		if folder != "" {
			o.Pages = newPages(t)
			o.Keep = &tabular.Keep{Folder: folder, SHA256: func() (string, error) { return sum, nil }}
		}
		tables := loaded(t, "libsvm", o)
		var parts []any
		for _, p := range tables.Parts() {
			parts = append(parts, []any{p.Features, p.Labels, p.Source, p.Groups, p.Attributes})
		}
		return parts, strings.Join(append(tables.Notes, tables.Warnings...), " ")
	}
	expect := func(what, sum string, seed uint64, want any, remark string) {
		t.Helper()
		got, remarks := load(folder, sum, seed)
		if diff := cmp.Diff(want, got, alike); diff != "" || !strings.Contains(remarks, remark) {
			t.Errorf("%s: remarks %q, want %q: %.1000s", what, remarks, remark, diff)
		}
	}
	want, _ := load("", "", 1)
	other, _ := load("", "", 2)
	expect("first", "1", 1, want, keepsRows)
	text := require.Value(os.ReadFile(file))(t)
	save(file, []byte("no rows here\n"))
	expect("second", "1", 1, want, hasRows)
	expect("another seed", "1", 2, other, hasRows)
	save(file, text)
	path := keptFiles(t, folder)[0]
	kept := require.Value(os.ReadFile(path))(t)
	kept[len(kept)/2] ^= 1
	for what, bad := range map[string][]byte{"a damaged byte": kept, "a short file": kept[:len(kept)-7]} {
		save(path, bad)
		expect(what, "1", 1, want, "cannot be used")
		expect(what+", the load after", "1", 1, want, hasRows)
	}
	save(file, sparseText(1000, 0, false))
	want, _ = load("", "", 1)
	expect("a changed file", "2", 1, want, "has changed")
	expect("the load after", "2", 1, want, hasRows)
	if list := keptFiles(t, folder); len(list) != 1 {
		t.Errorf("files: %v", list)
	}
}

// TSV, compressed text and Parquet have the same rows in pages, and in kept rows, as in memory.
func TestOtherFormatsInPages(t *testing.T) {
	csv := require.Value(os.ReadFile(keptTable(t, 1)))(t)
	numbers, letters := []float64{}, []byte{}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		numbers, letters = append(numbers, rng.NormFloat64()), append(letters, "ab"[rng.IntN(2)])
	}
	parquet := datatest.ParquetFile(t, numbers, string(letters))
	for name, text := range map[string][]byte{"a.tsv": bytes.ReplaceAll(csv, []byte(","), []byte("\t")), "b.csv.gz": datatest.Gzipped(csv),
		"c.parquet": parquet, "d.parquet.gz": datatest.Gzipped(parquet)} {
		file, folder := filepath.Join(t.TempDir(), name), t.TempDir()
		datatest.Write(t, "", file, text)
		options := func(folder string) tabular.TableOptions {
			o := keptOptions(t, file, folder, "1")
			if strings.Contains(name, "parquet") {
				o.Label, o.Groups = "y=a", nil
			}
			return o
		}
		want, _ := contents(t, options(""))
		expectKept(t, name+", the first load", options(folder), want, keepsRows)
		expectKept(t, name+", the second load", options(folder), want, hasRows)
	}
}

// Rows that an earlier run has kept have their queries.
func TestKeptQueries(t *testing.T) {
	list := documents(50, 5)
	text, _ := gradedRows(3000, 20, 0.2, 0.9)
	for name, o := range map[string]tabular.TableOptions{
		"libsvm": {File: datatest.Write(t, t.TempDir(), "rows.txt", []byte(text)), Query: "qid", Ignore: []string{"3"}}, "csv": {File: csvOf(t, list), Label: "grade", Query: "user"},
	} {
		want := loaded(t, name, o)
		o.Keep = &tabular.Keep{Folder: filepath.Join(t.TempDir(), "kept"), SHA256: func() (string, error) { return "the same", nil }}
		for range 2 {
			o.Pages = newPages(t)
			got := loaded(t, name, o)
			if a, b := got.Test.Queries, want.Test.Queries; fmt.Sprint(*a) != fmt.Sprint(*b) || got.Test.SHA256() != want.Test.SHA256() {
				t.Errorf("%s: the kept rows have other queries", name)
			}
		}
	}
}
