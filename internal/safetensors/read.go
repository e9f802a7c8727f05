package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
)

const (
	// lengthSize is the size of the header's length, in bytes.
	lengthSize = 8

	// maxHeader is the longest accepted header in bytes, as in the reference implementation.
	maxHeader = 100_000_000
)

// Read reads and checks a whole file: the tensors must cover the data without gaps, overlaps or
// remaining bytes. If the file is not valid, Read returns a [*FormatError]; it wraps errors of r.
// Memory grows with the bytes that r delivers, not with the sizes that the header states.
func Read(r io.Reader) (File, error) {
	length, err := readUpTo(r, lengthSize)
	if err != nil {
		return File{}, err
	}
	if len(length) < lengthSize {
		return File{}, truncated(len(length), "the header's length needs 8 bytes")
	}
	n := binary.LittleEndian.Uint64(length)
	if n > maxHeader {
		return File{}, &FormatError{Err: errHeader,
			Detail: fmt.Sprintf("length %d, at most %d is accepted", n, maxHeader)}
	}
	header, err := readUpTo(r, int64(n))
	if err != nil {
		return File{}, err
	}
	if len(header) < int(n) {
		return File{}, truncated(lengthSize+len(header), fmt.Sprintf("the header has %d bytes of %d", len(header), n))
	}
	metadata, entries, err := parseHeader(header)
	if err != nil {
		return File{}, err
	}
	size, err := checkLayout(entries)
	if err != nil {
		return File{}, err
	}
	start := lengthSize + len(header)
	data, err := readUpTo(r, size)
	if err != nil {
		return File{}, err
	}
	if int64(len(data)) < size {
		return File{}, truncated(start+len(data), fmt.Sprintf("the data has %d bytes of %d", len(data), size))
	}
	rest, err := readUpTo(r, 1)
	if err != nil {
		return File{}, err
	}
	if len(rest) > 0 {
		return File{}, &FormatError{Offset: int64(start) + size, Err: errLayout, Detail: "bytes follow the last tensor"}
	}
	file := File{Metadata: metadata}
	for _, e := range entries {
		file.Tensors = append(file.Tensors, Tensor{Name: e.name, Dtype: e.dtype, Shape: e.shape,
			Data: data[e.begin:e.end:e.end]})
	}
	return file, nil
}

// checkLayout sorts the entries by position and returns the size of the data. Every tensor must
// begin where the previous tensor ends and have the length of its shape.
func checkLayout(entries []entry) (int64, error) {
	slices.SortStableFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end))
	})
	var size int64
	for _, e := range entries {
		fail := func(format string, args ...any) (int64, error) {
			return 0, &FormatError{Offset: e.offset, Tensor: e.name, Err: errLayout, Detail: fmt.Sprintf(format, args...)}
		}
		bytes, ok := byteSize(e.dtype, e.shape)
		switch {
		case !ok:
			return fail("shape %v is too large", e.shape)
		case e.end-e.begin != bytes:
			return fail("data_offsets [%d, %d] do not hold %d bytes, shape %v of %s", e.begin, e.end, bytes, e.shape, e.dtype)
		case e.begin < size:
			return fail("begins at %d, inside the previous tensor, which ends at %d", e.begin, size)
		case e.begin > size:
			return fail("begins at %d, after a hole: the previous tensor ends at %d", e.begin, size)
		}
		size = e.end
	}
	return size, nil
}

// byteSize returns product(shape) * dtype.Size(), and false if a size is negative or the product
// overflows an int.
func byteSize(dtype Dtype, shape []int) (int64, bool) {
	size := uint64(dtype.Size())
	for _, n := range shape {
		hi, lo := bits.Mul64(size, uint64(n))
		if n < 0 || hi != 0 || lo > math.MaxInt {
			return 0, false
		}
		size = lo
	}
	return int64(size), true
}

// readUpTo reads n bytes, or fewer if r ends before.
func readUpTo(r io.Reader, n int64) ([]byte, error) {
	var buf bytes.Buffer
	if _, err := buf.ReadFrom(io.LimitReader(r, n)); err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	return buf.Bytes(), nil
}

func truncated(at int, detail string) error {
	return &FormatError{Offset: int64(at), Err: errTruncated, Detail: detail}
}
