package loader_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/internal/datatest"
	"ppal/internal/loader"
	"ppal/internal/recordio"
	"ppal/internal/require"
	"ppal/internal/textvalue"
)

// The parser estimates the size of the matrix from the size of a file and its first lines.
func TestLIBSVMReserve(t *testing.T) {
	within := func(what string, n, least int) {
		t.Helper()
		if n < least || n > least+least/8 {
			t.Errorf("%s: memory for %d, want about %d", what, n, least)
		}
	}
	var text strings.Builder
	text.WriteString("1 1:1 2:1 3:1\n")
	for range 9000 {
		text.WriteString("1 1:1 2:1 3:1 # a comment is not an entry\n")
	}
	path := datatest.Write(t, t.TempDir(), "rows.libsvm", []byte(text.String()))
	s := require.Value(loader.LoadLIBSVM(path, 0))(t)
	within("entries", cap(s.X.Columns), len(s.X.Columns))
	within("rows", cap(s.Labels), len(s.Labels))
	within("starts", cap(s.X.Starts), len(s.X.Starts))
	f := require.Value(recordio.OpenSteady(path))(t)
	if n := recordio.Size(f); n != int64(text.Len()) {
		t.Errorf("a file of %d bytes has %d", text.Len(), n)
	}
	f.Close()
	folder := require.Value(os.Open(filepath.Dir(path)))(t)
	defer folder.Close()
	for _, r := range []io.Reader{recordio.Steady(folder), strings.NewReader("1"), io.LimitReader(nil, 1)} {
		if n := recordio.Size(r); n != 0 {
			t.Errorf("%T has %d bytes", r, n)
		}
	}
}

// TestLIBSVMLongLines checks that the parser reads lines longer than its buffer, and refuses an
// endless line before the line fills the memory.
func TestLIBSVMLongLines(t *testing.T) {
	var b strings.Builder
	for row := range 3 {
		fmt.Fprint(&b, row)
		for i := 1; i <= 60000; i += 1 + row {
			fmt.Fprintf(&b, " %d:1", i)
		}
		fmt.Fprintln(&b)
	}
	s, err := (&loader.SparseRows{}).Read(strings.NewReader(b.String()), "file")
	require.NoError(t, err)
	if diff := cmp.Diff([]int{0, 60000, 90000, 110000}, s.X.Starts); diff != "" {
		t.Error(diff)
	}
	if last := s.X.Columns[len(s.X.Columns)-1]; last != 59998-1 {
		t.Errorf("the last column is %d", last)
	}
	_, err = (&loader.SparseRows{}).Read(datatest.Again(strings.Repeat(" ", 1<<16)), "file")
	datatest.CheckError(t, err, dataerr.ErrFormat, "line 1: wrong format: a record of more than 67108864 bytes")
}

// FuzzLIBSVM reads any text. If the parser accepts the text, writing and reading the content does
// not change the content.
func FuzzLIBSVM(f *testing.F) {
	for _, seed := range []string{"-1 3:1 11:1 \n", "2 qid:1 1:3 2:0.25 # doc\r\n0 qid:1 5:-1e-3", "1\n", "1 2:1 1:1", "# c\n\n", "1 1:nan"} {
		f.Add([]byte(seed), 0)
		f.Add(datatest.Gzipped([]byte(seed)), 200)
	}
	f.Fuzz(func(t *testing.T, data []byte, cols int) {
		cols = max(0, cols) % textvalue.MaxIndex
		s, err := (&loader.SparseRows{Cols: cols}).Read(bytes.NewReader(data), "file")
		if err != nil {
			var fe *dataerr.FileError
			known := errors.Is(err, dataerr.ErrFormat) || errors.Is(err, dataerr.ErrNumber) || errors.Is(err, dataerr.ErrIndex) || errors.Is(err, dataerr.ErrTruncated)
			if !errors.As(err, &fe) || !known {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		again := require.Value((&loader.SparseRows{Cols: s.X.Cols}).Read(bytes.NewReader(writeLIBSVM(s)), "again"))(t)
		if diff := cmp.Diff(s, again); diff != "" {
			t.Fatal(diff)
		}
	})
}

// writeLIBSVM writes the content as a LIBSVM file.
func writeLIBSVM(s *loader.LIBSVM) []byte {
	var b bytes.Buffer
	values := s.X.EntryValues()
	for i, label := range s.Labels {
		fmt.Fprint(&b, label)
		if s.Queries != nil {
			fmt.Fprintf(&b, " qid:%s", s.Queries.Names[s.Queries.Of[i]])
		}
		for e := s.X.Starts[i]; e < s.X.Starts[i+1]; e++ {
			fmt.Fprintf(&b, " %d:%v", s.X.Columns[e]+1, values[e])
		}
		fmt.Fprintln(&b)
	}
	return b.Bytes()
}

// An error within a line is the error, even if the reader goes on.
func TestLIBSVMReadError(t *testing.T) {
	fire := errors.New("disk on fire")
	if _, err := (&loader.SparseRows{}).Read(&datatest.Once{Parts: []string{"1 1:1\n1 2", ":1\n"}, Err: fire}, "file"); !errors.Is(err, fire) {
		t.Errorf("%v, want %v", err, fire)
	}
	if s, err := (&loader.SparseRows{Cols: math.MaxInt32}).Read(strings.NewReader("1 1:1\n"), "file"); err != nil || s.X.Cols != math.MaxInt32 {
		t.Errorf("the largest number of features: %v", err)
	}
}
