package newrows

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/loader"
	"ppal/internal/recordio"
	"ppal/internal/require"
)

// readers read a file of each format to its end, by each way that the package offers.
func readers(t *testing.T) map[string]struct {
	content string
	read    func(r recordio.Input, path string) error
} {
	t.Helper()
	csv := "x,y\n" + strings.Repeat("1,a\n2,b\n", 20)
	idx := "\x00\x00\x08\x02\x00\x00\x00\x02\x00\x00\x00\x02abcd"
	fresh := func(p *tabular.Preparation) func(r recordio.Input, path string) error {
		return func(r recordio.Input, path string) error {
			rows := NewRows{Preparation: p, Pixels: 2, Scale: 1, Work: func(_, results []float64) ([]float64, error) { return results, nil },
				Emit: func(*Block) error { return nil }}
			return rows.Read(r, path)
		}
	}
	table := &tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: 1}}}
	sparse := &tabular.Preparation{Numbers: []int{1, 2}, Indices: 2}
	own := func(r recordio.Input, path string) error {
		_, err := loader.ReadUserCSV(t.Context(), r, tabular.TableOptions{File: path, Label: "y=a", Split: tabular.Split{Train: 100}})
		return err
	}
	numbers := make([]float64, 20_000) // longer than all buffers
	for i := range numbers {
		numbers[i] = float64(i)
	}
	parquet := string(datatest.ParquetFile(t, numbers, strings.Repeat("ab", len(numbers)/2)))
	libsvm := strings.Repeat("+1 1:2 2:3\n-1 2:1\n", 20)
	return map[string]struct {
		content string
		read    func(r recordio.Input, path string) error
	}{
		"new rows, CSV":      {csv, fresh(table)},
		"new rows, gzip":     {string(datatest.Gzipped([]byte(csv))), fresh(table)},
		"new rows, Parquet":  {parquet, fresh(table)},
		"new rows, LIBSVM":   {libsvm, fresh(sparse)},
		"new rows, pictures": {idx, fresh(nil)},
		"table, CSV":         {csv, own},
		"table, Parquet":     {parquet, own},
		"table, LIBSVM": {libsvm, func(r recordio.Input, path string) error {
			_, err := (&loader.SparseRows{}).Read(r, path)
			return err
		}},
		"labels": {"\x00\x00\x08\x01\x00\x00\x00\x02ab", func(r recordio.Input, path string) error {
			_, err := ReadIDXLabels(r, path)
			return err
		}},
	}
}

// A regular file that shrinks, grows or is written again while it is read is an error of every
// reader.
func TestChangedWhileRead(t *testing.T) {
	for name, of := range readers(t) {
		for change, do := range map[string]func(path string) error{
			"none":    func(string) error { return nil },
			"shrinks": func(path string) error { return os.Truncate(path, int64(len(of.content))-2) },
			"grows":   func(path string) error { return os.WriteFile(path, []byte(of.content+of.content), 0o644) },
			"written": func(path string) error { return os.Chtimes(path, time.Time{}, time.Now().Add(time.Second)) },
		} {
			path := datatest.Write(t, t.TempDir(), "rows", []byte(of.content))
			f, err := recordio.OpenInput(t.Context(), path)
			require.NoError(t, err)
			require.NoError(t, do(path))
			err = of.read(f, path)
			var at *dataerr.FileError
			switch {
			case change == "none" && err != nil:
				t.Errorf("%s: %v", name, err)
			case change == "grows" && errors.Is(err, dataerr.ErrTrailing): // of a format that says its size
			case change != "none" && (!errors.Is(err, dataerr.ErrChanged) || errors.Is(err, dataerr.ErrFormat) || !errors.As(err, &at) ||
				strings.Count(err.Error(), path) != 1):
				t.Errorf("%s, %s: %v", name, change, err)
			}
			require.NoError(t, f.Close())
		}
	}
}

// Readers notice a change without an input of OpenInput: they recognise a file by themselves.
func TestChangedFileIsRecognised(t *testing.T) {
	path := datatest.Write(t, t.TempDir(), "rows", []byte("x,y\n"+strings.Repeat("1,2\n", recordio.ChunkBytes)))
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	_, _, _, err = newRows(&tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: 1}}}, struct{ io.Reader }{f}, NewRows{})
	if err != nil {
		t.Errorf("a reader that is not a file: %v", err)
	}
	require.Value(f.Seek(0, io.SeekStart))(t)
	rows := 0
	n := NewRows{Preparation: &tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: 1}}},
		Work: func(features, results []float64) ([]float64, error) {
			return append(results, features...), os.Truncate(path, 1<<19) // at a line end
		},
		Emit: func(b *Block) error {
			rows += b.Rows
			return nil
		}}
	if err := n.Read(f, path); !errors.Is(err, dataerr.ErrChanged) {
		t.Errorf("%d rows, %v", rows, err)
	}
}

// The content of a file that a program has opened is watched, too.
func TestChangedContent(t *testing.T) {
	path := datatest.Write(t, t.TempDir(), "rows", []byte(strings.Repeat("0123456789", 20_000)))
	f := require.Value(os.Open(path))(t)
	defer f.Close()
	c := require.Value(recordio.NewContent(f, path))(t)
	require.NoError(t, os.Truncate(path, 100_000))
	if n, err := io.Copy(io.Discard, c); !errors.Is(err, dataerr.ErrChanged) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestUnchanged(t *testing.T) {
	path := datatest.Write(t, t.TempDir(), "rows", []byte("x"))
	check := recordio.Unchanged(path, os.DevNull, "none")
	if err := check(); err != nil {
		t.Error(err)
	}
	require.NoError(t, os.Truncate(path, 0))
	if err := check(); !errors.Is(err, dataerr.ErrChanged) {
		t.Error(err)
	}
	require.NoError(t, os.Remove(path))
	if err := check(); !errors.Is(err, dataerr.ErrChanged) || !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
