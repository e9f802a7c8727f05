package recordio

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ppal/datasets/dataerr"
)

// idxTypes are the codes of the types of values in the IDX format.
const idxTypes = "\x08\x09\x0b\x0c\x0d\x0e"

// idxFormat is the IDX format: 0, 0, the type, the number of dimensions.
var idxFormat = BinaryFormat{
	Magic: "\x00\x00",
	Is: func(head []byte) bool {
		return len(head) > 3 && slices.Contains([]byte(idxTypes), head[2]) && head[3] >= 1 && head[3] <= 4
	},
	Open: func(file RandomAccess, size int64, name string) (BinaryTable, error) {
		return openIDX(file, size, name)
	},
}

// IDX is a file of pictures or labels in the IDX format, 8 bits a value. As a table, it has one
// column, which is named as in the table of a folder: the number of each picture in the file, from
// 0, or the label of each picture.
type IDX struct {
	// channels, height and width are the shape of a picture; 0: the file has labels.
	channels, height, width int

	RowChunks
	name  string // for errors
	first int64  // byte of the first value
}

var _ ArrayTable = (*IDX)(nil)

// openIDX reads the head of a file, and compares the size with the dimensions.
func openIDX(file RandomAccess, size int64, name string) (*IDX, error) {
	fail := func(offset int64, kind error, format string, args ...any) (*IDX, error) {
		return nil, &dataerr.FileError{Path: name, Offset: offset, Err: fmt.Errorf("%w: %s", kind, fmt.Sprintf(format, args...))}
	}
	head := make([]byte, 4)
	if _, err := file.ReadAt(head, 0); err != nil {
		return fail(0, dataerr.ErrTruncated, "the file has no head of the IDX format")
	}
	n := int(head[3])
	if head[2] != IDXBytes || n == 2 {
		return fail(0, dataerr.ErrFormat, "magic number % x, want 00 00 08 03 or 00 00 08 04 for pictures of 8 bits, 00 00 08 01 for labels", head)
	}
	sizes := make([]byte, 4*n)
	if _, err := file.ReadAt(sizes, 4); err != nil {
		return fail(4, dataerr.ErrTruncated, "the file ends before its %d dimensions", n)
	}
	dims, total, err := idxSizes(sizes, name)
	if err != nil {
		return nil, err
	}
	t := &IDX{RowChunks: RowChunks{File: file, Count: dims[0], AtOnce: idxChunk}, name: name, first: int64(4 + 4*n)}
	switch n {
	case 3:
		t.channels, t.height, t.width = 1, dims[1], dims[2]
	case 4:
		if t.channels, t.height, t.width = dims[1], dims[2], dims[3]; t.channels != 1 && t.channels != 3 {
			return fail(8, dataerr.ErrFormat, "pictures of %d channels, want 1 or 3: rows, channels, height, width", t.channels)
		}
	}
	switch want := t.first + int64(total); {
	case size < want:
		return fail(size, dataerr.ErrTruncated, "the dimensions need %d bytes, the file has %d", want, size)
	case size > want:
		return fail(want, dataerr.ErrTrailing, "the dimensions need %d bytes, the file has %d", want, size)
	}
	return t, nil
}

// Pixels reads the picture with the given number in the file into dst, channel by channel.
func (t *IDX) Pixels(number int, dst []byte) error {
	_, err := t.File.ReadAt(dst, t.first+int64(number)*int64(len(dst)))
	return t.fail(err)
}

// fail adds the file's path to an error; nil for nil.
func (t *IDX) fail(err error) error {
	if err == nil || err == io.EOF {
		return nil
	}
	return FileError(t.name, err)
}

// Len returns the number of pictures or labels of the file.
func (t *IDX) Len() int { return t.RowChunks.Count }

// Dims returns the shape of a picture; 0: the file has labels.
func (t *IDX) Dims() (channels, height, width int) { return t.channels, t.height, t.width }

// ColumnNames implements BinaryTable.
func (t *IDX) ColumnNames() ([]string, error) {
	if t.height == 0 {
		return []string{FolderClass}, nil
	}
	return []string{FolderPicture}, nil
}

// Blocks implements ArrayTable: pixels are no columns.
func (t *IDX) Blocks() []Block { return nil }

// Auxiliary implements ArrayTable.
func (t *IDX) Auxiliary(int) bool { return true }

// Arrays implements ArrayTable.
func (t *IDX) Arrays() []Array { return nil }

// Single implements BinaryTable.
func (t *IDX) Single(int) bool { return false }

// idxChunk is the number of rows of a chunk.
const idxChunk = 1024

// Records implements BinaryTable.
func (t *IDX) Records() RecordReader { return &idxRecords{table: t} }

// idxRecords reads the rows of chunks.
type idxRecords struct {
	table *IDX
	row   int    // number in the file
	label byte   // of the row
	text  []byte // memory of the last text
}

// Each implements RecordReader.
func (r *idxRecords) Each(c Chunk, visit func() error) error {
	rows := c.Rows.(RowRange)
	for i := rows.From; i < rows.To; i++ {
		r.row = r.table.Row(i)
		if r.table.height == 0 {
			var value [1]byte
			if _, err := r.table.File.ReadAt(value[:], r.table.first+int64(r.row)); r.table.fail(err) != nil {
				return r.table.fail(err)
			}
			r.label = value[0]
		}
		if err := visit(); err != nil {
			return err
		}
	}
	return nil
}

// value returns the value of the row: the number of the picture, or the label.
func (r *idxRecords) value() int {
	if r.table.height == 0 {
		return int(r.label)
	}
	return r.row
}

// Text implements RecordReader.
func (r *idxRecords) Text(int) []byte {
	r.text = strconv.AppendInt(r.text[:0], int64(r.value()), 10)
	return r.text
}

// Number implements RecordReader.
func (r *idxRecords) Number(int) (x float64, ok bool) { return float64(r.value()), true }

// Key implements RecordReader.
func (r *idxRecords) Key(int) uint64 { return uint64(r.value()) }

// Padded implements RecordReader.
func (r *idxRecords) Padded(int) bool { return false }

// Position implements RecordReader: the row of the file, from 1.
func (r *idxRecords) Position(int) (line, column int) { return r.row + 1, 1 }

// Fail implements RecordReader.
func (r *idxRecords) Fail(_ int, err error) error {
	return &dataerr.FileError{Path: r.table.name, Offset: -1, Row: r.row + 1, Err: err}
}

// OpenIDX opens the file of pictures at a path, plain or gzip. The caller closes it. ok is false if
// the file is not in the IDX format.
func OpenIDX(path string) (pictures *IDX, closer io.Closer, ok bool, err error) {
	f, err := OpenSteady(path)
	if err != nil {
		return nil, nil, false, err
	}
	table, _, err := openTable(f, path)
	pictures, ok = table.(*IDX)
	if err != nil || !ok {
		f.Close()
		return nil, nil, false, err
	}
	return pictures, f, true, nil
}

// IsIDX reports whether the file at a path, plain or gzip, begins as a file in the IDX format. A
// named pipe is not opened, because its first bytes would be lost.
func IsIDX(path string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	c, err := NewContent(f, path)
	if err != nil {
		return false
	}
	head, err := c.ReadExactly(4, "the magic number")
	return err == nil && string(head[:2]) == idxFormat.Magic && idxFormat.Is(head)
}

// LabelsOf returns the path of the labels of pictures, by the names of MNIST's files:
// train-labels-idx1-ubyte.gz for train-images-idx3-ubyte.gz. It returns "" if there is no such
// file.
func LabelsOf(path string) string {
	folder, name := filepath.Split(path)
	labels := strings.Replace(strings.Replace(name, "images", "labels", 1), "idx3", "idx1", 1)
	for _, own := range []string{labels, strings.TrimSuffix(labels, ".gz"), labels + ".gz"} {
		if own != name && Exists(folder+own) {
			return folder + own
		}
	}
	return ""
}

// Pictures returns the IDX file of a table whose rows are pictures; nil: another table.
func (d *Delimited) Pictures() *IDX {
	table := d.binary
	if j, joined := table.(*joined); joined {
		table = j.ArrayTable
	}
	pictures, _ := table.(*IDX)
	return pictures
}
