package datasets

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/datatest"
	"ppal/internal/loader"
	"ppal/internal/mapped"
	"ppal/internal/require"
)

// TestCIFARSizes checks the sizes of a batch.
func TestCIFARSizes(t *testing.T) {
	for size, want := range map[int64]int64{ // -1: accepted
		-1: 0, 0: 0, 1: 0, cifarRecord - 1: 0, cifarRecord: -1, cifarRecord + 1: cifarRecord, 2*cifarRecord + 1: 2 * cifarRecord,
		cifarRows * cifarRecord: -1, (cifarRows + 1) * cifarRecord: cifarRows * cifarRecord,
	} {
		var at *dataerr.FileError
		if err := checkCIFARSize(size, "file"); errors.As(err, &at) != (want >= 0) || want >= 0 && at.Offset != want {
			t.Errorf("%d bytes: %v, want an error at %d", size, err, want)
		}
	}
}

// stored is a row store that notes the calls.
type stored []string

func (s *stored) SetRows(i int, rows [][]uint8) { *s = append(*s, fmt.Sprint(i, rows)) }

// TestJoinedStores passes rows to two stores, before, at and after the border.
func TestJoinedStores(t *testing.T) {
	rows := [][]uint8{{1}, {2}, {3}}
	for _, test := range []struct {
		at            int
		first, second stored
	}{
		{0, stored{"0 [[1] [2] [3]]"}, nil}, {2, stored{"2 [[1] [2] [3]]"}, nil}, {3, stored{"3 [[1] [2]]"}, stored{"0 [[3]]"}},
		{4, stored{"4 [[1]]"}, stored{"0 [[2] [3]]"}}, {5, nil, stored{"0 [[1] [2] [3]]"}}, {7, nil, stored{"2 [[1] [2] [3]]"}},
	} {
		var first, second stored
		picture.Joined{First: &first, Second: &second, Rows: 5}.SetRows(test.at, rows)
		if diff := cmp.Diff(test.first, first) + cmp.Diff(test.second, second); diff != "" {
			t.Errorf("rows at %d: %s", test.at, diff)
		}
	}
}

// TestIntegersByHand checks the bytes of integers with a spread of 255, 127 and 0, and the first
// feature of two encodings that are not numbers.
func TestIntegersByHand(t *testing.T) {
	two := &tabular.Preparation{Encodings: []tabular.Encoding{
		{Column: "c", Categories: []string{"x", "y"}}, {Column: "n", Center: 2, Scale: 4, Missing: true}, {Column: "m", Center: 1, Scale: 0.5}}}
	center, deviation := loader.Affine(two, 5)
	if diff := cmp.Diff([]float64{0, 0, 2, 0, 1}, center) + cmp.Diff([]float64{1, 1, 4, 1, 0.5}, deviation); diff != "" {
		t.Error(diff)
	}
	d := &matrix.Dense{Rows: 2, Cols: 4, Data: []float64{0, 10, 5, -3, 255, 137, 5, 124}}
	list := alone((&tabular.Tables{Train: &tabular.Table{Features: d, Labels: []int{1, -1}}}))
	if list == nil {
		t.Fatal("no bytes")
	}
	if diff := cmp.Diff([]uint8{0, 0, 0, 0, 255, 254, 0, 254}, list[0].Values.Data) + cmp.Diff([]float64{1, 2, 255, 2}, list[0].Stretch) +
		cmp.Diff([]float64{0, 10, 5, -3}, list[0].First); diff != "" {
		t.Error(diff)
	}
	for entries, dense := range map[int]bool{1: false, 2: true} { // of 8 elements
		x := &matrix.CSR{Rows: 2, Cols: 4, Starts: []int{0, 1, entries}, Columns: []int32{1, 3}[:entries]}
		if got := alone((&tabular.Tables{Train: &tabular.Table{Features: x, Labels: []int{1, -1}}})) != nil; got != dense {
			t.Errorf("%d entries of 8 elements: bytes %t", entries, got)
		}
	}
}

// TestOneAttempt downloads a file that is shorter than the least progress, with a single attempt.
func TestOneAttempt(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("abc")) })
	sum := sha256.Sum256([]byte("abc"))
	file := File{Path: "a/b", Size: 3, SHA256: hex.EncodeToString(sum[:]), URLs: []string{s.URL}}
	opts := quick()
	opts.Attempts = 1
	dir := t.TempDir()
	if err := fetchFiles(context.Background(), dir, []File{file}, opts); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "a", "b")); string(data) != "abc" {
		t.Errorf("%q, %v", data, err)
	}
}

// TestArchiveSkipsFolders checks that a folder with the name of a batch is not a batch.
func TestArchiveSkipsFolders(t *testing.T) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	_ = w.WriteHeader(&tar.Header{Name: "other/data_batch_1.bin/", Typeflag: tar.TypeDir, Mode: 0o755})
	for name, data := range cifarFiles() {
		_ = w.WriteHeader(&tar.Header{Name: name, Size: int64(len(data)), Mode: 0o644})
		_, _ = w.Write(data)
	}
	_ = w.Close()
	if batches, err := readCIFARArchive(&buf, "file", cifar10()); err != nil || len(batches) != 6 || len(batches[5].labels) != 2 {
		t.Errorf("%d batches, %v", len(batches), err)
	}
}

// A reader stops soon after its rows need more memory than there is. Rows in pages need none.
func TestRoom(t *testing.T) {
	require.NoRace(t, "the tests of smaller files run the same goroutines")
	const rows = 300_000
	numbers, letters := make([]float64, rows), strings.Repeat("ab", rows/2)
	for name, tc := range map[string]struct {
		set, text string
		bytes     uint64 // of all rows
	}{
		"CSV":     {"csv", "x,y\n" + strings.Repeat("1,a\n2,b\n", rows/2), rows * 12},
		"Parquet": {"csv", string(datatest.ParquetFile(t, numbers, letters)), rows * 12},
		"LIBSVM":  {"libsvm", strings.Repeat("+1 1:1\n-1 2:1\n", rows/2), rows * 20},
		"values":  {"libsvm", strings.Repeat("+1 1:2 2:3\n-1 2:5\n", rows/2), rows * 34},
	} {
		path := datatest.Write(t, t.TempDir(), "rows", []byte(tc.text))
		full := errors.New("full")
		label := "y=a"
		if tc.set == "libsvm" {
			label = ""
		}
		load := func(most uint64, pages *mapped.Dir) (largest uint64, err error) {
			_, err = LoadTable("", tc.set, tabular.TableOptions{File: path, Label: label, Split: tabular.Split{Train: 100}, Pages: pages, CheckMemory: func(bytes uint64) error {
				if largest = max(largest, bytes); bytes > most {
					return full
				}
				return nil
			}})
			return largest, err
		}
		all, err := load(1<<62, nil)
		if want := columnar.RowCopies * tc.bytes; err != nil || all > want+want/20 || all < want*3/4 {
			t.Errorf("%s: %d bytes, want about %d; %v", name, all, want, err)
		}
		if got, err := load(all/4, nil); !errors.Is(err, full) || got > all*3/4 {
			t.Errorf("%s: %d of %d bytes before the error %v", name, got, all, err)
		}
		pages, err := mapped.New(t.TempDir(), 1<<30)
		if errors.Is(err, mapped.ErrUnsupported) {
			continue
		}
		require.NoError(t, err)
		defer pages.Close()
		if asked, err := load(0, pages); err != nil || asked > 0 {
			t.Errorf("%s in pages: %d bytes, %v", name, asked, err)
		}
	}
}
