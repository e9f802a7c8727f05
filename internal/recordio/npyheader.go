package recordio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strconv"
	"strings"
)

// Magic is the first bytes of a .npy file.
const Magic = "\x93NUMPY"

// maxHeader is the largest accepted size of a header, 1 MiB. The headers of arrays of numbers and
// texts have about 100 bytes.
const maxHeader = 1 << 20

// maxColumns is the largest number of columns of an array.
const maxColumns = 1 << 20

// kind is the kind of the elements of an array.
type kind byte

const (
	floats   kind = 'f'
	integers kind = 'i'
	naturals kind = 'u'
	booleans kind = 'b'
	wideText kind = 'U' // texts of code points of 4 bytes, padded with zeros
	byteText kind = 'S' // texts of bytes, padded with zeros
)

// header is the header of a .npy file, which describes its array (NEP 1).
type header struct {
	kind    kind
	size    int  // bytes of an element
	big     bool // the first byte of an element is the most significant
	fortran bool // the first index changes fastest in the file, instead of the last
	shape   []int
	offset  int64 // bytes before the elements
}

// readHeader reads the header of an array. size is the number of bytes of the file. readHeader
// returns an error unless the header and the elements have exactly size bytes, so that a wrong
// shape allocates no memory.
func readHeader(r io.ReaderAt, size int64) (h header, err error) {
	var start [12]byte
	n, err := r.ReadAt(start[:], 0)
	if err != nil && err != io.EOF {
		return h, err
	}
	if n < 10 || string(start[:len(Magic)]) != Magic {
		return h, errors.New("the NumPy header is missing or incomplete")
	}
	version, length := start[6], int64(binary.LittleEndian.Uint16(start[8:]))
	switch h.offset = 10; {
	case version == 2 || version == 3:
		h.offset, length = 12, int64(binary.LittleEndian.Uint32(start[8:]))
	case version != 1:
		return h, fmt.Errorf("NumPy format version %d is not supported (supported: 1, 2, 3)", version)
	}
	if length > maxHeader || h.offset+length > size {
		return h, fmt.Errorf("the header states a length of %d bytes, but the file has %d", length, size)
	}
	text := make([]byte, length)
	if _, err := r.ReadAt(text, h.offset); err != nil && err != io.EOF {
		return h, err
	}
	h.offset += length
	if err := h.parse(string(text)); err != nil {
		return h, err
	}
	return h, h.checkSize(size)
}

// checkSize returns an error unless the header and the elements have size bytes.
func (h *header) checkSize(size int64) error {
	elements, empty := uint64(h.size), false
	for _, n := range h.shape {
		empty = empty || n == 0
	}
	for _, n := range h.shape {
		if empty {
			n = 0
		}
		high, low := bits.Mul64(elements, uint64(n))
		if elements = low; high > 0 || low > 1<<62 {
			return fmt.Errorf("the shape %s has more elements than a file can hold", h.shapeText())
		}
	}
	if have := uint64(size - h.offset); have != elements {
		return fmt.Errorf("the elements of shape %s need %d bytes, but the file has %d after its header", h.shapeText(), elements, have)
	}
	return nil
}

// shapeText returns the shape as NumPy writes it.
func (h *header) shapeText() string {
	var list []string
	for _, n := range h.shape {
		list = append(list, strconv.Itoa(n))
	}
	if len(list) == 1 {
		list = append(list, "")
	}
	return "(" + strings.TrimSpace(strings.Join(list, ", ")) + ")"
}

// parse reads the text of a header: a Python dictionary, such as
//
//	{'descr': '<f4', 'fortran_order': False, 'shape': (50000, 1280), }
func (h *header) parse(text string) error {
	p := &literal{rest: text}
	var descr, order string
	have := map[string]bool{}
	p.want("{")
	for !p.is("}") {
		key := p.quoted()
		p.want(":")
		if have[key] {
			p.fail()
		}
		have[key] = true
		switch key {
		case "descr":
			if descr = p.quoted(); p.failed && strings.HasPrefix(strings.TrimLeft(p.rest, " "), "[") {
				return errors.New("structured elements are not supported: write each field as a separate array")
			}
		case "fortran_order":
			order = p.word()
		case "shape":
			h.shape = p.numbers()
		default:
			p.fail()
		}
		if p.failed || !p.is(",") && !p.is("}") {
			return fmt.Errorf("the header cannot be read: %.80q", text)
		}
		p.accept(",")
	}
	p.want("}")
	p.failed = p.failed || strings.Trim(p.rest, " \n\x00") != ""
	if h.fortran = order == "True"; p.failed || len(have) != 3 || !h.fortran && order != "False" {
		return fmt.Errorf("the header cannot be read: %.80q", text)
	}
	return h.setType(descr)
}

// setType sets the type of the elements from its name in a header, such as "<f4".
func (h *header) setType(name string) error {
	wrong := fmt.Errorf("elements of type %.20q are not supported (supported: float16 to float64, integers, bool, str, bytes)", name)
	if len(name) < 2 {
		return wrong
	}
	if name[1] == 'O' {
		return errors.New("pickled Python objects are not supported: write numbers or texts, with x.astype(float) or x.astype(str)")
	}
	size, err := strconv.Atoi(name[2:])
	h.kind, h.size, h.big = kind(name[1]), size, name[0] == '>'
	if err != nil || strings.IndexByte("<>|", name[0]) < 0 {
		return wrong
	}
	sizes := map[kind][]int{floats: {2, 4, 8}, integers: {1, 2, 4, 8}, naturals: {1, 2, 4, 8}, booleans: {1}}
	if h.kind == wideText || h.kind == byteText {
		if size < 1 || size > maxText {
			return fmt.Errorf("the texts have %d characters, want 1 to %d", size, maxText)
		}
		if h.kind == wideText {
			h.size *= 4
		}
		return nil
	}
	for _, known := range sizes[h.kind] {
		if size == known {
			return nil
		}
	}
	return wrong
}

// maxText is the largest number of characters of a text.
const maxText = 1 << 16

// literal parses the Python literals of a header. failed is true after the first error.
type literal struct {
	rest   string
	failed bool
}

func (p *literal) fail() { p.failed = true }

// is reports whether the rest begins with the sign, after blanks.
func (p *literal) is(sign string) bool {
	p.rest = strings.TrimLeft(p.rest, " ")
	return strings.HasPrefix(p.rest, sign)
}

// accept skips the sign if the rest begins with the sign.
func (p *literal) accept(sign string) bool {
	is := p.is(sign)
	if is {
		p.rest = p.rest[len(sign):]
	}
	return is
}

// want skips the sign. The parsing fails if the rest does not begin with the sign.
func (p *literal) want(sign string) {
	if !p.accept(sign) {
		p.fail()
	}
}

// quoted reads a text in quotes.
func (p *literal) quoted() string {
	for _, quote := range []string{"'", `"`} {
		if p.is(quote) {
			if text, rest, found := strings.Cut(p.rest[1:], quote); found {
				p.rest = rest
				return text
			}
		}
	}
	p.fail()
	return ""
}

// word reads a word of letters, such as True.
func (p *literal) word() string {
	p.is("")
	end := strings.IndexFunc(p.rest, func(c rune) bool { return (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') })
	word := p.rest[:max(end, 0)]
	p.rest = p.rest[len(word):]
	return word
}

// numbers reads a tuple of natural numbers. Python 2 wrote an L after long integers.
func (p *literal) numbers() (list []int) {
	p.want("(")
	for !p.failed && !p.is(")") {
		end := strings.IndexFunc(p.rest, func(c rune) bool { return c < '0' || c > '9' })
		n, err := strconv.Atoi(p.rest[:max(end, 0)])
		if err != nil {
			p.fail()
			return nil
		}
		list, p.rest = append(list, n), p.rest[end:]
		p.accept("L")
		if !p.accept(",") && !p.is(")") {
			p.fail()
		}
	}
	p.want(")")
	return list
}
