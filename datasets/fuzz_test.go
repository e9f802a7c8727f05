package datasets

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/loader"
	"ppal/internal/recordio"
	"ppal/internal/require"
)

// expected lists the only errors that content may cause.
var expected = []error{dataerr.ErrFormat, dataerr.ErrTruncated, dataerr.ErrTrailing, dataerr.ErrLabel}

func checkFuzzError(t *testing.T, err error) {
	var fe *dataerr.FileError
	if !errors.As(err, &fe) {
		t.Fatalf("%T: %v", err, err)
	}
	for _, e := range expected {
		if errors.Is(err, e) {
			return
		}
	}
	t.Fatalf("unexpected kind of error: %v", err)
}

func FuzzIDX(f *testing.F) {
	good := datatest.IDX([]byte{1, 2, 3, 4, 5, 6}, 3, 1, 2)
	f.Add(good, 3)
	f.Add(datatest.Gzipped(good), 3)
	f.Add(datatest.IDX([]byte{1, 2, 3}, 3), 1)
	f.Add(datatest.IDX([]byte{1}, 1<<31-1, 1<<15, 1<<15), 3)
	f.Add(datatest.Gzipped(good)[:20], 3)
	f.Fuzz(func(t *testing.T, data []byte, ndims int) {
		ndims = 1 + ndims&3
		dims, values, err := recordio.ReadIDX(bytes.NewReader(data), "file", "values", ndims)
		if err != nil {
			checkFuzzError(t, err)
			return
		}
		n := 1
		for _, d := range dims {
			n *= d
		}
		if len(dims) != ndims || n != len(values) {
			t.Fatalf("dimensions %v, %d values", dims, len(values))
		}
		if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) && !bytes.Equal(data[4+4*ndims:], values) {
			t.Fatal("values are not the file's")
		}
	})
}

func FuzzCIFAR(f *testing.F) {
	f.Add(records(0, 1, 2), int64(0))
	f.Add(records(0, 10), int64(0))
	f.Add(records(0, 1), int64(cifarRecord))
	f.Add(records(0, 1), int64(1<<40))
	f.Fuzz(func(t *testing.T, data []byte, lie int64) {
		batch, err := readCIFAR(bytes.NewReader(data), "file", int64(len(data))+lie, 10)
		if err != nil {
			checkFuzzError(t, err)
			return
		}
		for i, label := range batch.labels {
			if label != data[i*cifarRecord] {
				t.Fatalf("label %d is not the file's", i)
			}
		}
		if !bytes.Equal(held(t, batch), data[:len(batch.labels)*cifarRecord]) {
			t.Fatal("records are not the file's")
		}
	})
}

// held returns the bytes of the records of a batch.
func held(t *testing.T, b cifarBatch) []byte {
	r := require.Value(b.open())(t)
	return require.Value(io.ReadAll(r))(t)
}

func FuzzCIFARArchive(f *testing.F) {
	whole := archive(cifarFiles(), batchNames...)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add(archive(cifarFiles(), "test_batch.bin", "test_batch.bin"))
	f.Add([]byte("no archive"))
	c := require.Value(recordio.NewContent(bytes.NewReader(whole), "seed"))(f)
	var unzipped bytes.Buffer
	require.Value(unzipped.ReadFrom(c))(f)
	f.Add(unzipped.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		batches, err := readCIFARArchive(bytes.NewReader(data), "file", cifar10())
		if err != nil {
			checkFuzzError(t, err)
			return
		}
		for _, b := range batches {
			if n := len(held(t, b)); len(b.labels) == 0 || n != len(b.labels)*cifarRecord {
				t.Fatalf("%d labels, %d bytes of records", len(b.labels), n)
			}
		}
	})
}

// tableErrors lists the additional errors that a user's table may cause.
var tableErrors = []error{dataerr.ErrNumber, dataerr.ErrMissing, dataerr.ErrColumn, dataerr.ErrGroup, dataerr.ErrEmpty}

func FuzzCSV(f *testing.F) {
	f.Add([]byte(wages), "paid", "age<45", false)
	f.Add([]byte("town,id,age,job,wage,age\nUlm,1,30,smith,?,1\n?,2,25.5,none,1e3,2\nBonn,3,-7,smith,0.25,3\n"), "job=smith", "town", true)
	f.Add([]byte(threeOfThem()), "y", "g=a", false)
	f.Add([]byte("\ufeffa\tb\r\n\"1\"\t2\r\n?\t3\r\n"), "b", "", true)
	f.Add(datatest.Gzipped([]byte(wages))[:60], "paid", "", false)
	f.Add([]byte("a,b\n1e308,0\n-1e308,1\n"), "b", "a", false)
	f.Fuzz(func(t *testing.T, data []byte, label, group string, impute bool) {
		opts := tabular.TableOptions{File: "file", Label: label, Split: tabular.Split{Train: 60, Validation: 20, Test: 20}}
		if impute {
			opts.Missing = tabular.MissingImputed
		}
		if group != "" {
			opts.Groups = []string{group}
		}
		source, err := loader.ReadUserCSV(t.Context(), bytes.NewReader(data), opts)
		var tables *tabular.Tables
		if err == nil {
			tables, err = source.Split(opts)
		}
		if err != nil {
			if !slices.ContainsFunc(slices.Concat(expected, tableErrors), func(e error) bool { return errors.Is(err, e) }) {
				t.Fatalf("unexpected kind of error: %v", err)
			}
			return
		}
		rows := 0
		for _, p := range tables.Parts() {
			checkTable(t, p.Table)
			rows += p.Rows()
		}
		if rows != len(source.Labels) {
			t.Fatalf("%d of %d rows are in a part", rows, len(source.Labels))
		}
	})
}

// checkTable checks that the shapes fit, that each label is a class's, and that features are
// finite.
func checkTable(t *testing.T, table *tabular.Table) {
	t.Helper()
	d := table.Features.(*matrix.Dense)
	if d.Rows != table.Rows() || d.Cols != len(table.Columns) || len(d.Data) != d.Rows*d.Cols || len(table.Source) != d.Rows {
		t.Fatalf("%d x %d features for %d rows, %d columns", d.Rows, d.Cols, table.Rows(), len(table.Columns))
	}
	for _, x := range d.Data {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			t.Fatalf("a feature is %v", x)
		}
	}
	for _, y := range table.Labels {
		if k := tabular.ClassOf(y, len(table.Classes)); k < 0 || k >= len(table.Classes) || table.Label(k) != y {
			t.Fatalf("a label is %d", y)
		}
	}
	for _, g := range table.Groups {
		if !slices.IsSorted(g.Rows) || len(g.Rows) > 0 && g.Rows[len(g.Rows)-1] >= d.Rows {
			t.Fatalf("group %s has rows %v of %d", g.Name, g.Rows, d.Rows)
		}
	}
}

// FuzzOwnOptions reads a user's table with options that FuzzCSV does not have: columns to ignore,
// categorical columns, several groups, a separator, a column of parts and a file of test rows. The
// options are fields of spec, separated by semicolons.
func FuzzOwnOptions(f *testing.F) {
	f.Add([]byte(wages), "label=paid;ignore=paid;group=sex")
	f.Add([]byte(wages), "label=paid=yes;ignore=name;categorical=zip;group=sex=F;group=age<45")
	f.Add([]byte("town,id,age,job,wage,age\nUlm,1,30,smith,?,1\n?,2,25.5,none,1e3,2\nBonn,3,-7,smith,0.25,3\n"), "label=job=smith;features=town;missing=drop;separator=,")
	f.Add([]byte("a,part,y\n1,train,0\n2,test,1\n3,train,1\n4,test,0\n"), "label=y;split=part;missing=flag")
	f.Add([]byte("a,y\n1,0\n2,1\n3,1\n4,0\n"), "label=y>=1;test=1;unknown=ignore;ignore=a;attribute=a")
	f.Fuzz(func(t *testing.T, data []byte, spec string) {
		opts := tabular.TableOptions{File: "file", Split: tabular.Split{Train: 60, Validation: 20, Test: 20}}
		for field := range strings.SplitSeq(spec, ";") {
			key, value, _ := strings.Cut(field, "=")
			switch key {
			case "label":
				opts.Label = value
			case "ignore":
				opts.Ignore = append(opts.Ignore, value)
			case "features":
				opts.Features = append(opts.Features, value)
			case "categorical":
				opts.Categorical = append(opts.Categorical, value)
			case "group":
				opts.Groups = append(opts.Groups, value)
			case "attribute":
				opts.Attributes = append(opts.Attributes, value)
			case "missing":
				opts.Missing = value
			case "unknown":
				opts.Unknown = value
			case "separator":
				opts.Separator, _ = utf8.DecodeRuneInString(value)
			case "split":
				opts.SplitColumn, opts.Split = value, tabular.Split{}
			case "test":
				opts.TestFile = filepath.Join(t.TempDir(), "test")
				require.NoError(t, os.WriteFile(opts.TestFile, data, 0o600))
			}
		}
		d := ownCSV()
		if err := checkOptions(&opts, d); err != nil {
			return
		}
		source, err := loader.ReadUserCSV(t.Context(), bytes.NewReader(data), opts)
		if err == nil {
			_, err = source.Split(opts)
		}
		if err != nil && err.Error() == "" {
			t.Error("an error without a text")
		}
	})
}

// FuzzUnzip extracts a file from any bytes in the place of a zip archive: the file has at most one
// byte more than its published size, and no other file appears.
func FuzzUnzip(f *testing.F) {
	zipped := func(names ...string) []byte {
		var buf bytes.Buffer
		w := zip.NewWriter(&buf)
		for _, name := range names {
			member := require.Value(w.Create(name))(f)
			if strings.HasSuffix(name, "/") {
				continue
			}
			require.Value(member.Write(bytes.Repeat([]byte("text"), 100)))(f)
		}
		require.NoError(f, w.Close())
		return buf.Bytes()
	}
	f.Add(zipped("folder/file.csv"))
	f.Add(zipped("../folder/file.csv", "folder/file.csv", "/folder/file.csv"))
	f.Add(zipped("folder/file.csv/", "folder/"))
	f.Add(zipped("folder/file.csv")[:100])
	f.Add([]byte("PK\x05\x06"))
	f.Fuzz(func(t *testing.T, data []byte) {
		const size = 50
		dir := t.TempDir()
		archive, path := filepath.Join(dir, "a.zip"), filepath.Join(dir, "inside", "file")
		require.NoError(t, errors.Join(os.WriteFile(archive, data, 0o600), os.Mkdir(filepath.Dir(path), 0o700)))
		err := unzip(archive, path, File{Path: "file", Zipped: "folder/file.csv", Size: size})
		if err != nil && !errors.Is(err, dataerr.ErrFormat) {
			t.Fatalf("unexpected kind of error: %v", err)
		}
		if info, statErr := os.Stat(path); err == nil && (statErr != nil || info.Size() > size+1) {
			t.Fatalf("the file: %v, %v", info, statErr)
		}
		for folder, most := range map[string]int{dir: 2, filepath.Dir(path): 1} {
			if entries, err := os.ReadDir(folder); err != nil || len(entries) > most {
				t.Fatalf("%v, %v: want %d at most", entries, err, most)
			}
		}
	})
}

// FuzzPublished reads any bytes as each of the published tables.
func FuzzPublished(f *testing.F) {
	f.Add([]byte("+1 5:1 7:1\n-1 1:1\n"))
	f.Add([]byte("\"age\";\"job\";\"marital\";\"education\";\"default\"\n30;\"unemployed\";\"married\";\"primary\";\"no\"\n"))
	f.Add([]byte("id,name,sex,age,race,priors_count,two_year_recid\n1,x,Male,30,Other,0,1\n"))
	f.Add([]byte("8,?,?,Lakewoodcity,1,0.19,0.33\n"))
	f.Add([]byte("\xff\xfe\n\n"))
	readers := map[string]func(path string) error{
		"adult":       func(path string) error { _, _, err := readAdult(path); return err },
		"bank":        func(path string) error { _, err := readBank(path, []string{"marital"}); return err },
		"compas":      func(path string) error { _, err := readCompas(path, []string{"race"}); return err },
		"communities": func(path string) error { _, err := readCommunities(path, nil); return err },
	}
	kinds := slices.Concat(expected, tableErrors, []error{dataerr.ErrIndex, dataerr.ErrCategory})
	f.Fuzz(func(t *testing.T, data []byte) {
		path := datatest.Write(t, t.TempDir(), "file", data)
		for name, read := range readers {
			if err := read(path); err != nil && !slices.ContainsFunc(kinds, func(e error) bool { return errors.Is(err, e) }) {
				t.Errorf("%s: unexpected kind of error: %v", name, err)
			}
		}
	})
}

// FuzzSplit parses splits: what ParseSplit accepts adds up to 100 and is the text of the split.
func FuzzSplit(f *testing.F) {
	for _, text := range []string{"70/15/15", "100/0/0", "0/50/50", "-1/1/100", "70/15", "70/15/15/0", " 70/15/15", "+70/15/15", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := tabular.ParseSplit(text)
		if err != nil {
			if !errors.Is(err, dataerr.ErrSplit) {
				t.Fatalf("unexpected kind of error: %v", err)
			}
			return
		}
		if again, err := tabular.ParseSplit(s.String()); err != nil || again != s {
			t.Fatalf("%q: %v, again %v, %v", text, s, again, err)
		}
		if min(s.Train-1, s.Validation, s.Test) < 0 || s.Train+s.Validation+s.Test != 100 {
			t.Fatalf("%q: %v", text, s)
		}
	})
}
