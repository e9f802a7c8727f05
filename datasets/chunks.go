package datasets

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// chunkBytes is the usual size of a chunk, about a thousand rows of a table. A chunk of this size
// and its features stay in a core's cache.
const chunkBytes = 256 << 10

// maxLine is the longest accepted line, 64 MiB: files in other formats may have no line ends.
const maxLine = 64 << 20

// chunk is a piece of a text that holds whole records.
type chunk struct {
	text []byte
	line int  // number of the first line, from 1
	last bool // the text ends with this chunk
	// number of the first record in the text, from 0, if the reader knows it
	record int
	offset int64 // bytes of the text before the chunk
	// rows of a binary format, instead of the text
	rows any
}

// openEnd reports whether the chunk is the last of a text and has no line end.
func (c chunk) openEnd() bool { return c.last && !bytes.HasSuffix(c.text, []byte{'\n'}) }

// chunker cuts a text into chunks at line ends outside quotes. In a valid text, a position is
// inside quotes if an odd number of quotes precede the position. In an invalid text, the cuts are
// correct up to the first wrong quote, and the parser reports an error at this quote.
type chunker struct {
	name   string // name of the file, for errors
	r      *bufio.Reader
	line   int    // number of lines before rest
	offset int64  // number of bytes read
	cut    int64  // number of bytes before rest
	rest   []byte // bytes after the last cut
	err    error  // an error of r after rest
	most   int    // largest number of bytes of a record
	// unquoted: the format has no quotes, so every line end is a possible cut
	unquoted bool
	// pausing is the input of r if its writer may pause: a chunk then ends where the writer pauses
	pausing *pausing
}

// newChunker returns a chunker of r. name is used in errors.
func newChunker(r io.Reader, name string) *chunker {
	return &chunker{name: name, r: bufio.NewReader(r), most: maxLine}
}

// next returns the next chunk, which owns its memory. next reuses buffer, the memory of an earlier
// chunk that the caller no longer needs; buffer may be nil. After the last chunk it returns io.EOF.
// Other errors are *FileError; the whole records before an error of the reader are returned first.
//
// If a record is too long, the chunk has a part of the record, and the parser reports an error
// because the record does not end. A second reading of the text gives the same chunks.
func (c *chunker) next(buffer []byte) (chunk, error) {
	size := chunkBytes
	if len(c.rest) >= size {
		size = 2 * len(c.rest)
	}
	if cap(buffer) < size {
		buffer = make([]byte, 0, size)
	}
	buffer = append(buffer[:0:size], c.rest...)
	for {
		end := c.fill(&buffer)
		cut := len(buffer)
		if !end {
			cut = c.lastRecordEnd(buffer)
		}
		switch {
		case end && len(buffer) == 0:
			return chunk{}, io.EOF
		case cut == 0 && c.err != nil:
			return chunk{}, c.fail()
		case cut == 0 && len(buffer) > c.most:
			cut = len(buffer)
		case cut == 0: // one record is longer than the buffer
			buffer = append(make([]byte, 0, max(min(2*cap(buffer), c.most+1), len(buffer)+1)), buffer...)
			continue
		}
		c.rest = append(c.rest[:0], buffer[cut:]...)
		out := chunk{text: buffer[:cut], line: c.line + 1, last: end, offset: c.cut}
		c.cut += int64(cut)
		c.line += bytes.Count(out.text, []byte{'\n'})
		return out, nil
	}
}

// fill reads until the buffer is full, the text ends or reading fails. It reports whether the text
// ends.
func (c *chunker) fill(buffer *[]byte) (end bool) {
	for c.err == nil && len(*buffer) < cap(*buffer) {
		have := len(*buffer)
		c.goAhead(*buffer)
		var n int
		n, c.err = c.r.Read((*buffer)[have:cap(*buffer)])
		c.offset += int64(n)
		*buffer = (*buffer)[:have+n]
	}
	if c.err == nil {
		c.goAhead(*buffer)
		_, c.err = c.r.Peek(1)
	}
	if errors.Is(c.err, errPaused) {
		c.err = nil
	}
	return c.err == io.EOF
}

// goAhead lets the next read end with errPaused if the text has whole records.
func (c *chunker) goAhead(text []byte) {
	if c.pausing != nil {
		c.pausing.ahead = c.lastRecordEnd(text) > 0
	}
}

// fail returns the error of the reader with its position.
func (c *chunker) fail() error {
	var file *FileError
	if errors.As(c.err, &file) {
		return c.err
	}
	return &FileError{Path: c.name, Offset: c.offset, Err: c.err}
}

// lastRecordEnd returns the length of the text up to its last line end outside quotes, or 0.
func (c *chunker) lastRecordEnd(text []byte) int {
	if c.unquoted {
		return bytes.LastIndexByte(text, '\n') + 1
	}
	quotes := bytes.Count(text, []byte{'"'})
	for end := len(text); ; {
		at := bytes.LastIndexByte(text[:end], '\n')
		if at < 0 {
			return 0
		}
		quotes -= bytes.Count(text[at:end], []byte{'"'})
		if quotes%2 == 0 {
			return at + 1
		}
		end = at
	}
}

// errLongRecord is the error of a record that does not fit in memory.
var errLongRecord = fmt.Errorf("%w: a record of more than %d bytes", ErrFormat, maxLine)
