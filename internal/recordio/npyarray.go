package recordio

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"ppal/internal/textvalue"
)

// array is an array in a file. The first index of the array counts the rows. The other indices
// count the columns, in the order of NumPy's reshape(rows, -1).
type array struct {
	Name string
	header
	r       io.ReaderAt
	base    int64 // position of r in the file, in bytes
	packed  bool  // r is a decompressed copy, not a part of the file
	columns int
	places  []int // place of each column in a row, if it is not the column's number: Fortran order
}

// newArray returns the array in r. r has size bytes.
func newArray(name string, r io.ReaderAt, size int64) (*array, error) {
	a := &array{Name: name, r: r, columns: 1}
	var err error
	if a.header, err = readHeader(r, size); err != nil {
		return nil, err
	}
	if len(a.shape) == 0 {
		return nil, fmt.Errorf("the shape () is a single number, want an array of rows")
	}
	for _, n := range a.shape[1:] {
		if n > maxColumns || n*a.columns > maxColumns {
			return nil, fmt.Errorf("the shape %s gives more than %d columns", a.shapeText(), maxColumns)
		}
		a.columns *= n
	}
	if a.fortran && len(a.shape) > 2 {
		a.places = make([]int, a.columns)
		for column := range a.places {
			rest, step := column, a.columns
			for k := len(a.shape) - 1; k > 0; k-- {
				step /= a.shape[k]
				a.places[column] += rest % a.shape[k] * step
				rest /= a.shape[k]
			}
		}
	}
	return a, nil
}

// Rows returns the number of rows.
func (a *array) Rows() int { return a.shape[0] }

// Block reports whether the array is a block of columns of numbers: an array of two dimensions or
// more. An array of one dimension is a single column.
func (a *array) Block() bool { return len(a.shape) > 1 && !a.text() }

// text reports whether the elements are texts.
func (a *array) text() bool { return a.kind == wideText || a.kind == byteText }

// Names returns the names of the columns: the array's name, followed by the column's number from 0
// if the array has two dimensions or more.
func (a *array) Names() (names []string) {
	if len(a.shape) == 1 {
		return []string{a.Name}
	}
	for column := range a.columns {
		names = append(names, a.Name+strconv.Itoa(column))
	}
	return names
}

// Single reports whether float32 represents the elements without rounding.
func (a *array) Single() bool {
	return a.kind == booleans || a.kind == floats && a.size <= 4 || (a.kind == integers || a.kind == naturals) && a.size <= 2
}

// bytes returns the elements of rows [from, to), row by row. The result uses the memory of buffer
// if the capacity of buffer is sufficient.
func (a *array) bytes(buffer []byte, from, to int) ([]byte, error) {
	rows, width := to-from, a.columns*a.size
	buffer = slices.Grow(buffer[:0], rows*width)[:rows*width]
	if !a.fortran || a.columns == 1 {
		return buffer, a.readAt(buffer, int64(from)*int64(width))
	}
	column := make([]byte, rows*a.size)
	for j := range a.columns {
		place := j
		if a.places != nil {
			place = a.places[j]
		}
		if err := a.readAt(column, (int64(place)*int64(a.Rows())+int64(from))*int64(a.size)); err != nil {
			return nil, err
		}
		for i := range rows {
			copy(buffer[i*width+j*a.size:][:a.size], column[i*a.size:])
		}
	}
	return buffer, nil
}

// readAt fills p with the bytes of the elements from position at.
func (a *array) readAt(p []byte, at int64) error {
	n, err := a.r.ReadAt(p, a.offset+at)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// file returns the regular file that holds the elements, and the position of the first element in
// bytes; nil if no regular file holds the elements.
func (a *array) file(source io.ReaderAt) (*os.File, int64) {
	if a.packed {
		return nil, 0
	}
	return regular(source), a.base + a.offset
}

// native reports whether the bytes of the elements are those of a Go slice of floating-point
// numbers of the given size.
func (a *array) native(size int) bool {
	one := uint16(1)
	little := *(*byte)(unsafe.Pointer(&one)) == 1
	return a.kind == floats && a.size == size && a.big != little
}

// readNumbers writes the elements of rows [from, to) to dst, row by row. For float32, the array
// must be Single. Integers beyond 2^53 are rounded to the nearest float64.
func readNumbers[T float32 | float64](a *array, dst []T, from, to int) error {
	size := int(unsafe.Sizeof(T(0)))
	if a.native(size) && (!a.fortran || a.columns == 1) {
		if len(dst) == 0 {
			return nil
		}
		return a.readAt(unsafe.Slice((*byte)(unsafe.Pointer(&dst[0])), len(dst)*size), int64(from)*int64(a.columns*size))
	}
	raw, err := a.bytes(nil, from, to)
	if err != nil {
		return err
	}
	for i := range dst {
		dst[i] = T(a.number(raw[i*a.size:]))
	}
	return nil
}

// number returns the element at the beginning of p as a float64.
func (a *array) number(p []byte) float64 {
	switch {
	case a.kind == integers:
		return float64(a.integer(p))
	case a.kind == booleans:
		return float64(min(p[0], 1))
	case a.kind == naturals:
		return float64(a.natural(p))
	case a.size == 2:
		return textvalue.Half(uint16(a.natural(p)))
	case a.size == 4:
		return float64(math.Float32frombits(uint32(a.natural(p))))
	}
	return math.Float64frombits(a.natural(p))
}

// natural returns the bits of the element at the beginning of p as an unsigned integer.
func (a *array) natural(p []byte) uint64 {
	switch {
	case a.size == 1:
		return uint64(p[0])
	case a.big && a.size == 2:
		return uint64(binary.BigEndian.Uint16(p))
	case a.big && a.size == 4:
		return uint64(binary.BigEndian.Uint32(p))
	case a.big:
		return binary.BigEndian.Uint64(p)
	case a.size == 2:
		return uint64(binary.LittleEndian.Uint16(p))
	case a.size == 4:
		return uint64(binary.LittleEndian.Uint32(p))
	}
	return binary.LittleEndian.Uint64(p)
}

// integer returns the signed integer at the beginning of p.
func (a *array) integer(p []byte) int64 {
	shift := 64 - 8*a.size
	return int64(a.natural(p)<<shift) >> shift
}

// codePoint returns the code point at the beginning of p.
func (a *array) codePoint(p []byte) uint32 {
	if a.big {
		return binary.BigEndian.Uint32(p)
	}
	return binary.LittleEndian.Uint32(p)
}

// appendText appends an element to a slice as text: a number with the fewest digits that its type
// distinguishes, True or False, or the text without trailing zeros. NaN appends nothing. An invalid
// code point appends a byte that is not UTF-8.
func (a *array) appendText(to, p []byte) []byte {
	switch a.kind {
	case booleans:
		if p[0] == 0 {
			return append(to, "False"...)
		}
		return append(to, "True"...)
	case integers:
		return strconv.AppendInt(to, a.integer(p), 10)
	case naturals:
		return strconv.AppendUint(to, a.natural(p), 10)
	case floats:
		x := a.number(p)
		if math.IsNaN(x) {
			return to
		}
		return strconv.AppendFloat(to, x, 'g', -1, 8*max(4, a.size))
	}
	begin := len(to)
	p = p[:a.size]
	if a.kind == byteText {
		to = append(to, p...)
	} else {
		for ; len(p) > 0; p = p[4:] {
			if c := a.codePoint(p); c > utf8.MaxRune || !utf8.ValidRune(rune(c)) {
				to = append(to, 0xff)
			} else {
				to = utf8.AppendRune(to, rune(c))
			}
		}
	}
	for len(to) > begin && to[len(to)-1] == 0 {
		to = to[:len(to)-1]
	}
	return to
}
