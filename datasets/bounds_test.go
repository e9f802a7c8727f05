package datasets

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/inputfile"
	"ppal/internal/loader"
)

// TestIDXSizes checks the limits of the numbers in a header.
func TestIDXSizes(t *testing.T) {
	for _, test := range []struct {
		dims   []uint32
		offset int64 // of the refused number; 0: the number is accepted, and the values are missing
	}{
		{[]uint32{1<<31 - 1, 1, 1}, 0}, {[]uint32{1 << 31, 1, 1}, 4}, {[]uint32{1, 1 << 31, 1}, 8}, {[]uint32{1 << 30, 1 << 30, 4}, 0}, {[]uint32{1 << 30, 1 << 30, 5}, 12}, {[]uint32{1 << 30, 1 << 30, 16}, 12},
	} {
		_, _, err := inputfile.ReadIDX(bytes.NewReader(datatest.IDX(nil, test.dims...)), "file", "pixels", 3)
		var at *dataerr.FileError
		if !errors.As(err, &at) || test.offset > 0 && (at.Offset != test.offset || !errors.Is(err, dataerr.ErrFormat)) || test.offset == 0 && !errors.Is(err, dataerr.ErrTruncated) {
			t.Errorf("%v: %v", test.dims, err)
		}
	}
	for _, n := range []uint32{inputfile.MaxLabels, inputfile.MaxLabels + 1} {
		if _, _, err := inputfile.ReadIDX(bytes.NewReader(datatest.IDX(nil, n)), "file", "labels", 1); errors.Is(err, dataerr.ErrFormat) != (n > inputfile.MaxLabels) {
			t.Errorf("%d labels: %v", n, err)
		}
	}
	dims, data, err := inputfile.ReadIDX(bytes.NewReader(datatest.IDX([]byte{1, 2, 3, 4, 5, 6}, 3, 1, 2)), "file", "pixels", 3)
	if err != nil || !slices.Equal(dims, []int{3, 1, 2}) || !bytes.Equal(data, []byte{1, 2, 3, 4, 5, 6}) {
		t.Errorf("%v, %v, %v", dims, data, err)
	}
	for at, labels := range map[int64][]byte{-1: {0, 9}, 8 + 2*3: {0, 1, 10}} {
		err := inputfile.CheckLabels(labels, 10, "file", 8, 3)
		var file *dataerr.FileError
		if errors.As(err, &file) != (at >= 0) || at >= 0 && (file.Offset != at || !strings.Contains(err.Error(), "row 2 has label 10, classes are 0 to 9")) {
			t.Errorf("labels %v: %v", labels, err)
		}
	}
}

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

// TestReadExactly reads contents around the sizes of the buffer, and checks the position of errors.
func TestReadExactly(t *testing.T) {
	text := bytes.Repeat([]byte("abcdefg"), inputfile.ReadChunk/2)
	for _, want := range []int{0, 1, inputfile.ReadChunk - 1, inputfile.ReadChunk, inputfile.ReadChunk + 1, 2 * inputfile.ReadChunk, 2*inputfile.ReadChunk + 1, len(text)} {
		c, err := inputfile.NewContent(bytes.NewReader(text), "file")
		if err != nil {
			t.Fatal(err)
		}
		data, err := c.ReadExactly(uint64(want), "text")
		if err != nil || !bytes.Equal(data, text[:want]) || c.Offset != int64(want) {
			t.Errorf("%d bytes: %d, at %d, %v", want, len(data), c.Offset, err)
		}
		err = c.ExpectEnd()
		var at *dataerr.FileError
		if want == len(text) && err != nil || want < len(text) && (!errors.As(err, &at) || at.Offset != int64(want) || !errors.Is(err, dataerr.ErrTrailing)) {
			t.Errorf("the end after %d bytes: %v", want, err)
		}
	}
	c, _ := inputfile.NewContent(bytes.NewReader(text), "file")
	_, err := c.ReadExactly(uint64(len(text))+1, "text")
	datatest.CheckError(t, err, dataerr.ErrTruncated, fmt.Sprintf("byte %d: truncated: %d of %d bytes of text", len(text), len(text), len(text)+1))
	for size, want := range map[int]error{9: dataerr.ErrTrailing, 10: nil, 11: dataerr.ErrTruncated} {
		c, _ := inputfile.NewContent(strings.NewReader("0123456789"), "file")
		var read bytes.Buffer
		_, err := read.ReadFrom(&inputfile.Whole{Content: c, What: "text", Want: uint64(size)})
		if !errors.Is(err, want) || read.String() != "0123456789"[:min(size, 10)] {
			t.Errorf("%d of 10 bytes: %q, %v", size, &read, err)
		}
	}
	c, _ = inputfile.NewContent(strings.NewReader("0123456789"), "file")
	w, buf := &inputfile.Whole{Content: c, What: "text", Want: 9}, make([]byte, 20)
	for _, n := range []int{4, 5} {
		if got, err := w.Read(buf[:4*n-12]); got != n || err != nil { // a buffer of 4, and of 8 bytes for 5
			t.Errorf("%d bytes of 9, %v, want %d", got, err, n)
		}
	}
	c, _ = inputfile.NewContent(strings.NewReader(""), "file")
	c.R = &datatest.Once{Parts: []string{"0123456789", ""}, Err: errBroken}
	if _, err := io.Copy(io.Discard, &inputfile.Whole{Content: c, What: "text", Want: 10}); !errors.Is(err, errBroken) {
		t.Errorf("an error with the last byte: %v", err)
	}
	if _, err := inputfile.NewContent(io.MultiReader(strings.NewReader("\x1f"), broken{}), "file"); !errors.Is(err, errBroken) {
		t.Errorf("an error in the first two bytes: %v", err)
	}
}

var errBroken = errors.New("broken")

// broken is a reader that fails.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errBroken }

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

// TestDivideByHand divides 4 and 2 chosen rows, and checks the places of the rows in both parts.
func TestDivideByHand(t *testing.T) {
	set := &picture.Pictures{Labels: []byte{1, 0, 1, 2, 1, 0, 1}, Classes: []string{"a", "b", "c"}}
	c, err := set.Choose([]int{1, 0}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(8) {
		checkDivided(t, set, c, seed)
	}
	if _, err := c.Divide(tabular.Split{Train: 90, Validation: 10}, 3); !errors.Is(err, dataerr.ErrSplit) || !strings.Contains(err.Error(), "the class") {
		t.Errorf("a class without validation rows: %v", err)
	}
	if d, err := c.Divide(tabular.Split{Train: 100}, 3); err != nil || d.Train.Rows() != 6 || d.Validation.Rows() != 0 {
		t.Errorf("no validation rows: %v", err)
	}
}

func checkDivided(t *testing.T, set *picture.Pictures, c *picture.Choice, seed uint64) {
	t.Helper()
	d, err := c.Divide(tabular.Split{Train: 50, Validation: 50}, seed)
	if err != nil {
		t.Fatal(err)
	}
	for part, s := range map[string]picture.Selection{"training": d.Train, "validation": d.Validation} {
		if !slices.Equal(s.Offsets, []int{0, 2, 3}) || s.Rows() != 3 || !slices.Equal(s.Labels(), []int{0, 0, 1}) || !slices.Equal(s.Names, []string{"b", "a"}) {
			t.Errorf("%s: offsets %v, labels %v of %v", part, s.Offsets, s.Labels(), s.Names)
		}
		for i, row := range s.Source {
			if set.Labels[row] != []byte{1, 1, 0}[i] {
				t.Errorf("%s: row %d of the set at %d", part, row, i)
			}
		}
	}
	all := slices.Concat(d.Train.Source, d.Validation.Source)
	for at, row := range all {
		if d.Places[row] != at {
			t.Errorf("row %d of the set is at %d, want %d", row, d.Places[row], at)
		}
	}
	if d.Places[3] >= 0 || len(d.Places) != 7 || !slices.Equal(slices.Sorted(slices.Values(all)), []int{0, 1, 2, 4, 5, 6}) {
		t.Errorf("places %v of the rows %v", d.Places, all)
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

// TestUnzippedFiles checks which of a compressed and a decompressed file is read, and that an error
// does not repeat the path.
func TestUnzippedFiles(t *testing.T) {
	dir := t.TempDir()
	packed := filepath.Join(dir, "a.gz")
	if got := inputfile.OrUnzipped(packed); got != packed {
		t.Errorf("no file: %s", got)
	}
	plain := datatest.Write(t, dir, "a", nil)
	if inputfile.OrUnzipped(packed) != plain || inputfile.OrUnzipped(plain) != plain {
		t.Errorf("only the decompressed file: %s, %s", inputfile.OrUnzipped(packed), inputfile.OrUnzipped(plain))
	}
	datatest.Write(t, dir, "a.gz", nil)
	if got := inputfile.OrUnzipped(packed); got != packed {
		t.Errorf("both files: %s", got)
	}
	inner := errors.New("inner")
	for _, err := range []error{inner, &os.PathError{Op: "open", Path: "a", Err: inner}} {
		if got := inputfile.FileError("a", err).(*dataerr.FileError); got.Err != inner || got.Path != "a" || got.Offset != -1 {
			t.Errorf("%v becomes %+v", err, got)
		}
	}
}

// TestTwins lists the features that determine a group.
func TestTwins(t *testing.T) {
	// The entries of 4 rows: feature 0 is the group, 1 the rest, 2 everybody, 3 nobody, 4 a part of
	// the group, 5 the group and one more row.
	x := &matrix.CSR{Rows: 4, Cols: 6, Starts: []int{0, 4, 7, 10, 12}, Columns: []int32{0, 2, 4, 5, 0, 2, 5, 1, 2, 5, 1, 2}}
	for _, test := range []struct{ rows, want []int }{{[]int{0, 1}, []int{0, 1}}, {[]int{2, 3}, []int{0, 1}}, {[]int{0}, []int{4}}, {nil, nil},
		{[]int{0, 1, 2, 3}, nil}, {[]int{3}, []int{5}}} {
		var got []int
		for _, j := range loader.Twins(x, tabular.Group{Rows: test.rows}) {
			got = append(got, int(j))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("the group %v: features %v, want %v", test.rows, got, test.want)
		}
	}
	s := loader.NewSparse(x, &loader.SparseDesign{}, []int32{1, 4})
	if diff := cmp.Diff([]int32{0, -1, 1, 2, -1, 3}, s.Place) + cmp.Diff([]string{"1", "3", "4", "6"}, s.Names); diff != "" || s.Cols != 4 {
		t.Errorf("%d columns: %s", s.Cols, diff)
	}
	if diff := cmp.Diff([]int{1, 3, 4, 6}, s.Preparation().Numbers); diff != "" {
		t.Error(diff)
	}
}
