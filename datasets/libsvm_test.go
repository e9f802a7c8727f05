package datasets

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/datasets/dataerr"
	"ppal/internal/datatest"
	"ppal/internal/loader"
	"ppal/internal/require"
)

// describeLIBSVM formats the content value by value.
func describeLIBSVM(s *loader.LIBSVM) []byte {
	var b bytes.Buffer
	rows, cols := s.X.Dims()
	fmt.Fprintf(&b, "%d x %d, %d entries, values %t\n", rows, cols, len(s.X.Columns), s.X.Values != nil)
	for i := range rows {
		fmt.Fprintf(&b, "%v", s.Labels[i])
		if s.Queries != nil {
			fmt.Fprintf(&b, " query %s", s.Queries.Names[s.Queries.Of[i]])
		}
		for e := s.X.Starts[i]; e < s.X.Starts[i+1]; e++ {
			fmt.Fprintf(&b, " [%d]=%v", s.X.Columns[e], s.X.EntryValues()[e])
		}
		fmt.Fprintln(&b)
	}
	return b.Bytes()
}

// TestLIBSVMGolden reads a file with comments, blank lines, queries, tabs, all notations of
// numbers, and no last line end.
func TestLIBSVMGolden(t *testing.T) {
	s := require.Value(loader.LoadLIBSVM("testdata/mixed.libsvm", 0))(t)
	require.Golden(t, "testdata/mixed.golden", describeLIBSVM(s))
}

// TestReadLIBSVMErrors checks what a text in testdata/readers.txt cannot say.
func TestReadLIBSVMErrors(t *testing.T) {
	const good = "1 1:1\n"
	t.Run("compressed file cut", func(t *testing.T) {
		data := datatest.Gzipped([]byte(strings.Repeat(good, 99)))
		_, err := (&loader.SparseRows{Cols: 5}).Read(bytes.NewReader(data[:len(data)-9]), "file")
		datatest.CheckError(t, err, dataerr.ErrTruncated, "the file ends too early")
	})
	t.Run("missing", func(t *testing.T) {
		_, err := loader.LoadLIBSVM(filepath.Join(t.TempDir(), "none"), 5)
		datatest.CheckError(t, err, os.ErrNotExist, "none")
	})
	t.Run("dimension", func(t *testing.T) {
		for _, cols := range []int{-1, math.MaxInt32 + 1} {
			if _, err := (&loader.SparseRows{Cols: cols}).Read(strings.NewReader(good), "file"); err == nil {
				t.Errorf("%d features gave no error", cols)
			}
		}
	})
}
