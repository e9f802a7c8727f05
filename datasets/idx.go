package datasets

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"strings"
)

// idxBytes is the type code of unsigned 8-bit values in an IDX magic number
// (0, 0, type, number of dimensions).
const idxBytes = 0x08

// maxLabels is the largest number of values that readIDX reads. The largest published set has fewer
// than 10^6 labels; a small compressed file may claim 2^31.
const maxLabels = 1 << 24

// readIDX reads one IDX file of 8-bit values with the given number of dimensions, plain or gzip,
// with no trailing bytes:
//
//	0, 0, 8, ndims, dims[0..ndims-1] as big-endian uint32, then the values.
//
// what names the values in errors ("pixels", "labels").
func readIDX(r io.Reader, name, what string, ndims int) (dims []int, data []byte, err error) {
	c, err := newContent(r, name)
	if err != nil {
		return nil, nil, err
	}
	dims, total, err := c.readIDXHeader(what, ndims)
	if err != nil {
		return nil, nil, err
	}
	if ndims == 1 && total > maxLabels {
		return nil, nil, &FileError{Path: name, Offset: 4, Err: fmt.Errorf("%w: %d %s, want at most %d", ErrFormat, total, what, maxLabels)}
	}
	if data, err = c.readExactly(total, what); err != nil {
		return nil, nil, err
	}
	return dims, data, c.expectEnd()
}

// readIDXHeader reads the header before the values; total is the number of bytes of the values.
func (c *content) readIDXHeader(what string, ndims int) (dims []int, total uint64, err error) {
	magic, err := c.readExactly(4, "the magic number")
	if err != nil {
		return nil, 0, err
	}
	if want := [4]byte{0, 0, idxBytes, byte(ndims)}; [4]byte(magic) != want {
		return nil, 0, &FileError{Path: c.name, Offset: 0,
			Err: fmt.Errorf("%w: magic number % x, IDX %s start with % x", ErrFormat, magic, what, want)}
	}
	return c.readIDXSizes(ndims)
}

// readIDXSizes reads the dimensions, after the magic number.
func (c *content) readIDXSizes(ndims int) (dims []int, total uint64, err error) {
	header, err := c.readExactly(uint64(4*ndims), "the dimensions")
	if err != nil {
		return nil, 0, err
	}
	total = 1
	for i := range ndims {
		n := binary.BigEndian.Uint32(header[4*i:])
		hi, lo := bits.Mul64(total, uint64(n))
		if n == 0 || n > 1<<31-1 || hi != 0 || lo > 1<<62 {
			return nil, 0, &FileError{Path: c.name, Offset: int64(4 + 4*i),
				Err: fmt.Errorf("%w: dimension %d is %d", ErrFormat, i, n)}
		}
		total = lo
		dims = append(dims, int(n))
	}
	return dims, total, nil
}

// idxPair is an image file and its label file.
type idxPair struct {
	images, labels string
	of             Dataset
}

// openIDXPair reads the labels and prepares the image file for reading. Each file may be a gzip
// file, or a decompressed file at the same path without ".gz".
func openIDXPair(imagePath, labelPath string, d Dataset) (*Pictures, error) {
	p := idxPair{images: orUnzipped(imagePath), labels: orUnzipped(labelPath), of: d}
	f, err := openSteady(p.labels)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_, labels, err := readIDX(f, p.labels, "labels", 1)
	if err != nil {
		return nil, err
	}
	if err := checkLabels(labels, len(d.Classes), p.labels, 8, 1); err != nil {
		return nil, err
	}
	pixels := func() (io.ReadCloser, error) { return p.openPixels(len(labels)) }
	return &Pictures{Labels: labels, Classes: d.Classes, Shape: d.Shape, sections: []section{pixels}, advise: d.advise}, nil
}

// openPixels opens the image file at its first pixel, after checking its number of rows and its
// shape.
func (p idxPair) openPixels(rows int) (r io.ReadCloser, err error) {
	f, err := openSteady(p.images)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	c, err := newContent(f, p.images)
	if err != nil {
		return nil, err
	}
	dims, total, err := c.readIDXHeader("pixels", 3)
	if err != nil {
		return nil, err
	}
	if dims[0] != rows {
		return nil, &FileError{Path: p.images, Offset: 4,
			Err: fmt.Errorf("%w: %d images, %d labels in %s", ErrMismatch, dims[0], rows, p.labels)}
	}
	if have := (Shape{Height: dims[1], Width: dims[2], Channels: 1}); have != p.of.Shape {
		return nil, &FileError{Path: p.images, Offset: 8,
			Err: fmt.Errorf("%w: images of %v, %s has %v", ErrFormat, have, p.of.Name, p.of.Shape)}
	}
	return &whole{Closer: f, content: c, what: "pixels", want: total}, nil
}

// checkLabels returns an error for labels outside the declared classes. Label i is at byte first +
// i*stride of the file.
func checkLabels(labels []byte, classes int, path string, first, stride int64) error {
	for i, label := range labels {
		if int(label) >= classes {
			return &FileError{Path: path, Offset: first + int64(i)*stride,
				Err: fmt.Errorf("%w: row %d has label %d, classes are 0 to %d", ErrLabel, i, label, classes-1)}
		}
	}
	return nil
}

// fileError removes the operation and the path that errors of package os repeat.
func fileError(path string, err error) error {
	if errors.Is(err, ErrChanged) {
		return err // names the file
	}
	if pe, ok := err.(*os.PathError); ok {
		err = pe.Err
	}
	return &FileError{Path: path, Offset: -1, Err: err}
}

// orUnzipped returns path, or path without ".gz" if only that file exists.
func orUnzipped(path string) string {
	if plain := strings.TrimSuffix(path, ".gz"); !exists(path) && exists(plain) {
		return plain
	}
	return path
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
