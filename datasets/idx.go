package datasets

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"os"
	"strings"
)

// idxBytes is the type code of unsigned 8-bit values in an IDX magic number
// (0, 0, type, number of dimensions).
const idxBytes = 0x08

// readIDX reads one IDX file of 8-bit values with the given number of
// dimensions, plain or gzip, and nothing after it:
//
//	0, 0, 8, ndims, dims[0..ndims-1] as big-endian uint32, then the values.
//
// what names the values in errors ("pixels", "labels").
func readIDX(r io.Reader, name, what string, ndims int) (dims []int, data []byte, err error) {
	c, err := newContent(r, name)
	if err != nil {
		return nil, nil, err
	}
	magic, err := c.readExactly(4, "the magic number")
	if err != nil {
		return nil, nil, err
	}
	if want := [4]byte{0, 0, idxBytes, byte(ndims)}; [4]byte(magic) != want {
		return nil, nil, &FileError{Path: name, Offset: 0,
			Err: fmt.Errorf("%w: magic number % x, IDX %s start with % x", ErrFormat, magic, what, want)}
	}
	header, err := c.readExactly(uint64(4*ndims), "the dimensions")
	if err != nil {
		return nil, nil, err
	}
	total := uint64(1)
	for i := range ndims {
		n := binary.BigEndian.Uint32(header[4*i:])
		hi, lo := bits.Mul64(total, uint64(n))
		if n == 0 || n > 1<<31-1 || hi != 0 || lo > 1<<62 {
			return nil, nil, &FileError{Path: name, Offset: int64(4 + 4*i),
				Err: fmt.Errorf("%w: dimension %d is %d", ErrFormat, i, n)}
		}
		total = lo
		dims = append(dims, int(n))
	}
	if data, err = c.readExactly(total, what); err != nil {
		return nil, nil, err
	}
	return dims, data, c.expectEnd()
}

// readIDXFile is readIDX on a file by its path.
func readIDXFile(path, what string, ndims int) ([]int, []byte, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return readIDX(f, path, what, ndims)
}

// readIDXPair reads an image file and its label file. Each may also lie
// decompressed beside its usual place, without the ".gz".
func readIDXPair(imagePath, labelPath string, classes []string) (*Images, error) {
	imagePath, labelPath = orUnzipped(imagePath), orUnzipped(labelPath)
	labelDims, labels, err := readIDXFile(labelPath, "labels", 1)
	if err != nil {
		return nil, err
	}
	if err := checkLabels(labels, len(classes), labelPath, 8, 1); err != nil {
		return nil, err
	}
	dims, pixels, err := readIDXFile(imagePath, "pixels", 3)
	if err != nil {
		return nil, err
	}
	if dims[0] != labelDims[0] {
		return nil, &FileError{Path: imagePath, Offset: 4,
			Err: fmt.Errorf("%w: %d images, %d labels in %s", ErrMismatch, dims[0], labelDims[0], labelPath)}
	}
	shape := Shape{Height: dims[1], Width: dims[2], Channels: 1}
	return &Images{
		Pixels:  &Bytes{Rows: dims[0], Cols: shape.Pixels(), Data: pixels, Scale: PixelScale},
		Labels:  labels,
		Classes: classes,
		Shape:   shape,
	}, nil
}

// checkLabels refuses labels beyond the declared classes. Label i lies at byte
// first + i*stride of the file.
func checkLabels(labels []byte, classes int, path string, first, stride int64) error {
	for i, label := range labels {
		if int(label) >= classes {
			return &FileError{Path: path, Offset: first + int64(i)*stride,
				Err: fmt.Errorf("%w: row %d has label %d, classes are 0 to %d", ErrLabel, i, label, classes-1)}
		}
	}
	return nil
}

// openFile opens path, with a FileError where it cannot.
func openFile(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	return f, nil
}

// fileError drops the operation and the path that os errors repeat.
func fileError(path string, err error) error {
	if pe, ok := err.(*os.PathError); ok {
		err = pe.Err
	}
	return &FileError{Path: path, Offset: -1, Err: err}
}

// orUnzipped returns path, or path without ".gz" where only that exists.
func orUnzipped(path string) string {
	plain, ok := strings.CutSuffix(path, ".gz")
	if !ok || exists(path) || !exists(plain) {
		return path
	}
	return plain
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
