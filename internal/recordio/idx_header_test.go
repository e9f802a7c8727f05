package recordio_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppal/datasets/dataerr"
	"ppal/internal/datatest"
	"ppal/internal/recordio"
	"ppal/internal/require"
)

func TestReadIDXErrors(t *testing.T) {
	good := datatest.IDX([]byte{1, 2, 3, 4, 5, 6}, 3, 1, 2)
	zipped := datatest.Gzipped(good)
	flipped := bytes.Clone(zipped)
	flipped[len(flipped)-5] ^= 1 // a byte of the checksum
	for _, test := range []struct {
		name   string
		data   []byte
		want   error
		offset int64
	}{
		{"empty", nil, dataerr.ErrTruncated, 0},
		{"magic cut", good[:3], dataerr.ErrTruncated, 3},
		{"wrong magic", append([]byte{0, 0, 8, 1}, good[4:]...), dataerr.ErrFormat, 0},
		{"wrong type", append([]byte{0, 0, 13, 3}, good[4:]...), dataerr.ErrFormat, 0},
		{"dimensions cut", good[:9], dataerr.ErrTruncated, 9},
		{"no rows", datatest.IDX(nil, 0, 1, 2), dataerr.ErrFormat, 4},
		{"zero width", datatest.IDX(nil, 1, 1, 0), dataerr.ErrFormat, 12},
		{"product overflows", datatest.IDX(nil, 1<<31-1, 1<<31-1, 1<<31-1), dataerr.ErrFormat, 12},
		{"lying header", datatest.IDX([]byte{1}, 1<<31-1, 1<<15, 1<<15), dataerr.ErrTruncated, 17},
		{"pixels cut", good[:len(good)-1], dataerr.ErrTruncated, 21},
		{"trailing", append(bytes.Clone(good), 7), dataerr.ErrTrailing, 22},
		{"gzip cut in its header", zipped[:5], dataerr.ErrTruncated, 0},
		{"gzip cut before its checksum", zipped[:len(zipped)-8], dataerr.ErrTruncated, 22},
		{"gzip checksum", flipped, dataerr.ErrFormat, 22},
		{"gzip trailing", append(bytes.Clone(zipped), 1, 2, 3), dataerr.ErrTruncated, 22},
		{"gzip trailing, long", append(bytes.Clone(zipped), make([]byte, 20)...), dataerr.ErrFormat, 22},
		{"gzip content trailing", datatest.Gzipped(append(bytes.Clone(good), 7)), dataerr.ErrTrailing, 22},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := recordio.ReadIDX(bytes.NewReader(test.data), "file", "pixels", 3)
			datatest.CheckError(t, err, test.want, "file: byte ")
			var fe *dataerr.FileError
			if !errors.As(err, &fe) || fe.Offset != test.offset {
				t.Errorf("%v: offset %d, want %d", err, fe.Offset, test.offset)
			}
			if streamed := streamIDX(test.data); streamed == nil || streamed.Error() != err.Error() {
				t.Errorf("some at a time: %v, want %v", streamed, err)
			}
		})
	}
}

// streamIDX reads a file of images in the same way as training.
func streamIDX(data []byte) error {
	c, err := recordio.NewContent(bytes.NewReader(data), "file")
	if err != nil {
		return err
	}
	_, total, err := recordio.ReadIDXHeader(c, "pixels", 3)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, &recordio.Whole{Content: c, What: "pixels", Want: total})
	return err
}

// TestIDXSizes checks the limits of the numbers in a header.
func TestIDXSizes(t *testing.T) {
	for _, test := range []struct {
		dims   []uint32
		offset int64 // of the refused number; 0: the number is accepted, and the values are missing
	}{
		{[]uint32{1<<31 - 1, 1, 1}, 0}, {[]uint32{1 << 31, 1, 1}, 4}, {[]uint32{1, 1 << 31, 1}, 8}, {[]uint32{1 << 30, 1 << 30, 4}, 0}, {[]uint32{1 << 30, 1 << 30, 5}, 12}, {[]uint32{1 << 30, 1 << 30, 16}, 12},
	} {
		_, _, err := recordio.ReadIDX(bytes.NewReader(datatest.IDX(nil, test.dims...)), "file", "pixels", 3)
		var at *dataerr.FileError
		if !errors.As(err, &at) || test.offset > 0 && (at.Offset != test.offset || !errors.Is(err, dataerr.ErrFormat)) || test.offset == 0 && !errors.Is(err, dataerr.ErrTruncated) {
			t.Errorf("%v: %v", test.dims, err)
		}
	}
	for _, n := range []uint32{recordio.MaxLabels, recordio.MaxLabels + 1} {
		if _, _, err := recordio.ReadIDX(bytes.NewReader(datatest.IDX(nil, n)), "file", "labels", 1); errors.Is(err, dataerr.ErrFormat) != (n > recordio.MaxLabels) {
			t.Errorf("%d labels: %v", n, err)
		}
	}
	dims, data, err := recordio.ReadIDX(bytes.NewReader(datatest.IDX([]byte{1, 2, 3, 4, 5, 6}, 3, 1, 2)), "file", "pixels", 3)
	if err != nil || !slices.Equal(dims, []int{3, 1, 2}) || !bytes.Equal(data, []byte{1, 2, 3, 4, 5, 6}) {
		t.Errorf("%v, %v, %v", dims, data, err)
	}
	for at, labels := range map[int64][]byte{-1: {0, 9}, 8 + 2*3: {0, 1, 10}} {
		err := recordio.CheckLabels(labels, 10, "file", 8, 3)
		var file *dataerr.FileError
		if errors.As(err, &file) != (at >= 0) || at >= 0 && (file.Offset != at || !strings.Contains(err.Error(), "row 2 has label 10, classes are 0 to 9")) {
			t.Errorf("labels %v: %v", labels, err)
		}
	}
}

// TestReadExactly reads contents around the sizes of the buffer, and checks the position of errors.
func TestReadExactly(t *testing.T) {
	text := bytes.Repeat([]byte("abcdefg"), recordio.ReadChunk/2)
	for _, want := range []int{0, 1, recordio.ReadChunk - 1, recordio.ReadChunk, recordio.ReadChunk + 1, 2 * recordio.ReadChunk, 2*recordio.ReadChunk + 1, len(text)} {
		c := require.Value(recordio.NewContent(bytes.NewReader(text), "file"))(t)
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
	c, _ := recordio.NewContent(bytes.NewReader(text), "file")
	_, err := c.ReadExactly(uint64(len(text))+1, "text")
	datatest.CheckError(t, err, dataerr.ErrTruncated, fmt.Sprintf("byte %d: truncated: %d of %d bytes of text", len(text), len(text), len(text)+1))
	for size, want := range map[int]error{9: dataerr.ErrTrailing, 10: nil, 11: dataerr.ErrTruncated} {
		c, _ := recordio.NewContent(strings.NewReader("0123456789"), "file")
		var read bytes.Buffer
		_, err := read.ReadFrom(&recordio.Whole{Content: c, What: "text", Want: uint64(size)})
		if !errors.Is(err, want) || read.String() != "0123456789"[:min(size, 10)] {
			t.Errorf("%d of 10 bytes: %q, %v", size, &read, err)
		}
	}
	c, _ = recordio.NewContent(strings.NewReader("0123456789"), "file")
	w, buf := &recordio.Whole{Content: c, What: "text", Want: 9}, make([]byte, 20)
	for _, n := range []int{4, 5} {
		if got, err := w.Read(buf[:4*n-12]); got != n || err != nil { // a buffer of 4, and of 8 bytes for 5
			t.Errorf("%d bytes of 9, %v, want %d", got, err, n)
		}
	}
	c, _ = recordio.NewContent(strings.NewReader(""), "file")
	c.R = &datatest.Once{Parts: []string{"0123456789", ""}, Err: errBroken}
	if _, err := io.Copy(io.Discard, &recordio.Whole{Content: c, What: "text", Want: 10}); !errors.Is(err, errBroken) {
		t.Errorf("an error with the last byte: %v", err)
	}
	if _, err := recordio.NewContent(io.MultiReader(strings.NewReader("\x1f"), broken{}), "file"); !errors.Is(err, errBroken) {
		t.Errorf("an error in the first two bytes: %v", err)
	}
}

var errBroken = errors.New("broken")

// broken is a reader that fails.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errBroken }

// TestUnzippedFiles checks which of a compressed and a decompressed file is read, and that an error
// does not repeat the path.
func TestUnzippedFiles(t *testing.T) {
	dir := t.TempDir()
	packed := filepath.Join(dir, "a.gz")
	if got := recordio.OrUnzipped(packed); got != packed {
		t.Errorf("no file: %s", got)
	}
	plain := datatest.Write(t, dir, "a", nil)
	if recordio.OrUnzipped(packed) != plain || recordio.OrUnzipped(plain) != plain {
		t.Errorf("only the decompressed file: %s, %s", recordio.OrUnzipped(packed), recordio.OrUnzipped(plain))
	}
	datatest.Write(t, dir, "a.gz", nil)
	if got := recordio.OrUnzipped(packed); got != packed {
		t.Errorf("both files: %s", got)
	}
	inner := errors.New("inner")
	for _, err := range []error{inner, &os.PathError{Op: "open", Path: "a", Err: inner}} {
		if got := recordio.FileError("a", err).(*dataerr.FileError); got.Err != inner || got.Path != "a" || got.Offset != -1 {
			t.Errorf("%v becomes %+v", err, got)
		}
	}
}
