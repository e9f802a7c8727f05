package recordio

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"

	"ppal/datasets/dataerr"
)

// IDXBytes is the type code of unsigned 8-bit values in an IDX magic number
// (0, 0, type, number of dimensions).
const IDXBytes = 0x08

// MaxLabels is the largest number of values that ReadIDX reads. The largest published set has fewer
// than 10^6 labels; a small compressed file may claim 2^31.
const MaxLabels = 1 << 24

// ReadIDX reads one IDX file of 8-bit values with the given number of dimensions, plain or gzip,
// with no trailing bytes:
//
//	0, 0, 8, ndims, dims[0..ndims-1] as big-endian uint32, then the values.
//
// what names the values in errors ("pixels", "labels").
func ReadIDX(r io.Reader, name, what string, ndims int) (dims []int, data []byte, err error) {
	c, err := NewContent(r, name)
	if err != nil {
		return nil, nil, err
	}
	dims, total, err := ReadIDXHeader(c, what, ndims)
	if err != nil {
		return nil, nil, err
	}
	if ndims == 1 && total > MaxLabels {
		return nil, nil, &dataerr.FileError{Path: name, Offset: 4, Err: fmt.Errorf("%w: %d %s, want at most %d", dataerr.ErrFormat, total, what, MaxLabels)}
	}
	if data, err = c.ReadExactly(total, what); err != nil {
		return nil, nil, err
	}
	return dims, data, c.ExpectEnd()
}

// ReadIDXHeader reads the header before the values; total is the number of bytes of the values.
func ReadIDXHeader(c *Content, what string, ndims int) (dims []int, total uint64, err error) {
	magic, err := c.ReadExactly(4, "the magic number")
	if err != nil {
		return nil, 0, err
	}
	if want := [4]byte{0, 0, IDXBytes, byte(ndims)}; [4]byte(magic) != want {
		return nil, 0, &dataerr.FileError{Path: c.Name, Offset: 0,
			Err: fmt.Errorf("%w: magic number % x, IDX %s start with % x", dataerr.ErrFormat, magic, what, want)}
	}
	return ReadIDXSizes(c, ndims)
}

// ReadIDXSizes reads the dimensions, after the magic number.
func ReadIDXSizes(c *Content, ndims int) (dims []int, total uint64, err error) {
	header, err := c.ReadExactly(uint64(4*ndims), "the dimensions")
	if err != nil {
		return nil, 0, err
	}
	return idxSizes(header, c.Name)
}

// idxSizes returns the dimensions in the bytes after the magic number, and their product. A
// dimension of 0 or above 2^31-1 and a product above 2^62 are a *FileError.
func idxSizes(header []byte, name string) (dims []int, total uint64, err error) {
	total = 1
	for i := range len(header) / 4 {
		n := binary.BigEndian.Uint32(header[4*i:])
		hi, lo := bits.Mul64(total, uint64(n))
		if n == 0 || n > 1<<31-1 || hi != 0 || lo > 1<<62 {
			return nil, 0, &dataerr.FileError{Path: name, Offset: int64(4 + 4*i),
				Err: fmt.Errorf("%w: dimension %d is %d", dataerr.ErrFormat, i, n)}
		}
		total = lo
		dims = append(dims, int(n))
	}
	return dims, total, nil
}

// CheckLabels returns an error for labels outside the declared classes. Label i is at byte first +
// i*stride of the file.
func CheckLabels(labels []byte, classes int, path string, first, stride int64) error {
	for i, label := range labels {
		if int(label) >= classes {
			return &dataerr.FileError{Path: path, Offset: first + int64(i)*stride,
				Err: fmt.Errorf("%w: row %d has label %d, classes are 0 to %d", dataerr.ErrLabel, i, label, classes-1)}
		}
	}
	return nil
}
