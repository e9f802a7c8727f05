//go:build linux

package datasets

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/mapped"
	"ppal/internal/require"
)

// keptTable writes a table with numbers, categories, dates and missing values, and returns its
// path.
func keptTable(t *testing.T, seed uint64) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	b.WriteString("x,job,day,sex,w,y\n")
	for range 1000 {
		x := fmt.Sprintf("%.4f", rng.NormFloat64())
		if rng.IntN(10) == 0 {
			x = "NA"
		}
		fmt.Fprintf(&b, "%s,%s,2020-%02d-%02d,%c,%q,%t\n", x, []string{"b", "c", "a"}[rng.IntN(3)], 1+rng.IntN(12), 1+rng.IntN(28), "fm"[rng.IntN(2)], []string{"1,200.5", "900.25"}[rng.IntN(2)], rng.IntN(2) > 0)
	}
	path := datatest.Write(t, t.TempDir(), "table.csv", []byte(b.String()))
	return path
}

// keptOptions returns options that keep the rows of a table with the given checksum in a folder;
// "": they keep nothing, and read the table to memory.
func keptOptions(t *testing.T, file, folder, sum string) tabular.TableOptions {
	t.Helper()
	o := tabular.TableOptions{File: file, Label: "y", Groups: []string{"sex=m"}, Missing: tabular.MissingDropped, Dates: tabular.DatesExpanded, Seed: 3}
	if folder == "" {
		return o
	}
	pages := require.Value(mapped.New(t.TempDir(), 1<<30))(t)
	o.Pages = pages
	t.Cleanup(func() {
		if err := pages.Close(); err != nil {
			t.Error(err)
		}
	})
	o.Keep = &tabular.Keep{Folder: folder, SHA256: func() (string, error) { return sum, nil }}
	return o
}

// contents returns everything that a program sees of tables except the remarks about kept rows, and
// separately these remarks.
func contents(t *testing.T, o tabular.TableOptions) (all any, remarks []string) {
	t.Helper()
	tables := loaded(t, "csv", o)
	kept := func(s string) bool { return strings.Contains(s, "kept") }
	for _, s := range slices.Concat(tables.Notes, tables.Warnings) {
		if kept(s) {
			remarks = append(remarks, s)
		}
	}
	type part struct {
		Name           string
		Features       []float64
		Labels, Source []int
		Groups         []tabular.Group
		Attributes     []tabular.Attribute
	}
	var parts []part
	for _, p := range tables.Parts() {
		rows, cols := p.Features.Dims()
		own := part{p.Name, make([]float64, rows*cols), slices.Clone(p.Labels), slices.Clone(p.Source), p.Groups, nil}
		p.Features.Float64(own.Features, 0, rows)
		for _, a := range p.Attributes {
			a.Of = slices.Clone(a.Of)
			own.Attributes = append(own.Attributes, a)
		}
		parts = append(parts, own)
	}
	return []any{parts, tables.Preparation, tables.Uses, tables.Label, tables.Reading, slices.DeleteFunc(tables.Notes, kept), slices.DeleteFunc(tables.Warnings, kept)}, remarks
}

// expectKept loads a table and compares the contents and the only remark.
func expectKept(t *testing.T, what string, o tabular.TableOptions, want any, remark string) {
	t.Helper()
	got, remarks := contents(t, o)
	if diff := cmp.Diff(want, got, alike); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
	if !slices.ContainsFunc(remarks, func(s string) bool { return strings.Contains(s, remark) }) {
		t.Errorf("%s: the remarks are %q, want %q", what, remarks, remark)
	}
}

// forget leaves only the names of the columns in the table.
func forget(t *testing.T, path string) {
	t.Helper()
	datatest.Write(t, "", path, []byte("x,job,day,sex,w,y\nno,rows,are,parsed,here,too\n"))
}

func keptFiles(t *testing.T, folder string) []string {
	t.Helper()
	return require.Value(filepath.Glob(filepath.Join(folder, "*")))(t)
}

const (
	keepsRows = "are kept for later runs in"
	hasRows   = "are read from"
)

// The second load of a table parses no row and has the values of the first load. A load to memory
// has the same values. The seed, the split and the conditions on columns do not matter.
func TestSecondLoad(t *testing.T) {
	file, folder := keptTable(t, 1), filepath.Join(t.TempDir(), "a", "rows")
	want, _ := contents(t, keptOptions(t, file, "", ""))
	other := func(folder string) tabular.TableOptions {
		o := keptOptions(t, file, folder, "1")
		o.Seed, o.Groups, o.Attributes = 8, nil, []string{"sex", "w"}
		return o
	}
	wantOther, _ := contents(t, other(""))
	expectKept(t, "the first load", keptOptions(t, file, folder, "1"), want, keepsRows)
	forget(t, file)
	expectKept(t, "the second load", keptOptions(t, file, folder, "1"), want, hasRows)
	expectKept(t, "another seed", other(folder), wantOther, hasRows)
	if list := keptFiles(t, folder); len(list) != 1 {
		t.Errorf("files: %v", list)
	}
}

// A table with other contents is read again, and its rows replace the kept rows.
func TestChangedTable(t *testing.T) {
	file, folder := keptTable(t, 1), t.TempDir()
	contents(t, keptOptions(t, file, folder, "1"))
	text := require.Value(os.ReadFile(keptTable(t, 2)))(t)
	datatest.Write(t, "", file, text)
	want, _ := contents(t, keptOptions(t, file, "", ""))
	expectKept(t, "the changed table", keptOptions(t, file, folder, "2"), want, "has changed")
	forget(t, file)
	expectKept(t, "the second load", keptOptions(t, file, folder, "2"), want, hasRows)
	if list := keptFiles(t, folder); len(list) != 1 {
		t.Errorf("files: %v", list)
	}
}

// Options that read other columns, or the same columns in another way, have their own kept rows.
func TestOtherColumns(t *testing.T) {
	file, folder := keptTable(t, 1), t.TempDir()
	contents(t, keptOptions(t, file, folder, "1"))
	for name, change := range map[string]func(o *tabular.TableOptions){
		"without a column":    func(o *tabular.TableOptions) { o.Ignore = []string{"job"} },
		"imputed values":      func(o *tabular.TableOptions) { o.Missing = tabular.MissingImputed },
		"a condition":         func(o *tabular.TableOptions) { o.Label = "job!=a" },
		"another condition":   func(o *tabular.TableOptions) { o.Label = "job!=b" },
		"categories of dates": func(o *tabular.TableOptions) { o.Attributes = []string{"day=2020-01-01"} }, // the same name, other columns
	} {
		with := func(folder string) tabular.TableOptions {
			o := keptOptions(t, file, folder, "1")
			change(&o)
			return o
		}
		want, _ := contents(t, with(""))
		expectKept(t, name, with(folder), want, keepsRows)
		expectKept(t, name+", the second load", with(folder), want, hasRows)
	}
	if list := keptFiles(t, folder); len(list) != 5 {
		t.Errorf("files: %v", list)
	}
}

// Kept rows that are damaged or belong to another table give a warning, and are replaced.
func TestDamagedRows(t *testing.T) {
	file, folder := keptTable(t, 1), t.TempDir()
	want, _ := contents(t, keptOptions(t, file, folder, "1"))
	path := keptFiles(t, folder)[0]
	good := require.Value(os.ReadFile(path))(t)
	foreign := t.TempDir()
	contents(t, keptOptions(t, keptTable(t, 2), foreign, "2"))
	other := require.Value(os.ReadFile(keptFiles(t, foreign)[0]))(t)
	flipped := slices.Clone(good)
	flipped[len(good)/2] ^= 16
	for what, text := range map[string][]byte{"a damaged byte": flipped, "a short file": good[:len(good)-100], "another table": other, "no file": nil} {
		datatest.Write(t, "", path, text)
		expectKept(t, what, keptOptions(t, file, folder, "1"), want, "cannot be used")
		expectKept(t, what+", the load after", keptOptions(t, file, folder, "1"), want, hasRows)
	}
}

// Loads at the same time do not disturb each other.
func TestLoadsTogether(t *testing.T) {
	file, folder := keptTable(t, 1), t.TempDir()
	want, _ := contents(t, keptOptions(t, file, "", ""))
	var group sync.WaitGroup
	for range 4 {
		o := keptOptions(t, file, folder, "1")
		group.Go(func() {
			for range 2 {
				if got, _ := contents(t, o); !cmp.Equal(want, got, alike) {
					t.Error("a load has other rows")
				}
			}
		})
	}
	group.Wait()
	if list := keptFiles(t, folder); len(list) != 1 {
		t.Errorf("files: %v", list)
	}
	forget(t, file)
	expectKept(t, "the load after", keptOptions(t, file, folder, "1"), want, hasRows)
}

// Rows that cannot be kept give a warning, and so does a checksum that cannot be computed.
func TestNothingKept(t *testing.T) {
	file, folder := keptTable(t, 1), t.TempDir()
	want, _ := contents(t, keptOptions(t, file, "", ""))
	expectKept(t, "a file in place of the folder", keptOptions(t, file, filepath.Join(file, "rows"), "1"), want, "are not kept for later runs: mkdir")
	failing := keptOptions(t, file, folder, "")
	failing.Keep.SHA256 = func() (string, error) { return "", errors.New("no checksum") }
	expectKept(t, "no checksum", failing, want, "are not kept for later runs: no checksum")
	changing := keptOptions(t, file, folder, "1")
	changing.Keep.SHA256 = func() (string, error) {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		return "1", os.WriteFile(file, append(text, '\n'), 0o600)
	}
	expectKept(t, "a file that changes", changing, want, "changed while it was read")
	if list := keptFiles(t, folder); len(list) != 0 {
		t.Errorf("files: %v", list)
	}
}
