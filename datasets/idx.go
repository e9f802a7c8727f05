package datasets

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
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
