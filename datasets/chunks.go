package datasets

import (
	"bytes"
	"fmt"
	"io"
)

// chunkBytes is the usual size of a chunk, about a thousand rows of a table. A chunk of this size
// and its features stay in a core's cache.
const chunkBytes = 256 << 10

// chunk is a piece of a text that holds whole records.
type chunk struct {
	text []byte
	line int  // number of the first line, from 1
	last bool // the text ends with this chunk
}

// chunker cuts a text into chunks at line ends outside quotes. In a valid text, a position is
// inside quotes if an odd number of quotes precede the position. In an invalid text, the cuts are
// correct up to the first wrong quote, and the parser reports an error at this quote.
type chunker struct {
	r    io.Reader
	line int
	rest []byte // bytes after the last cut
	// unquoted: the format has no quotes, so every line end is a possible cut
	unquoted bool
}

// next returns the next chunk, which owns its memory. next reuses buffer, the memory of an earlier
// chunk that the caller no longer needs; buffer may be nil. After the last chunk it returns io.EOF.
func (c *chunker) next(buffer []byte) (chunk, error) {
	buffer = append(buffer[:0], c.rest...)
	if cap(buffer) < chunkBytes {
		buffer = append(make([]byte, 0, chunkBytes), buffer...)
	}
	for {
		n, err := io.ReadFull(c.r, buffer[len(buffer):cap(buffer)])
		buffer = buffer[:len(buffer)+n]
		end := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !end {
			return chunk{}, err
		}
		cut := len(buffer)
		if !end {
			cut = c.lastRecordEnd(buffer)
		}
		switch {
		case end && len(buffer) == 0:
			return chunk{}, io.EOF
		case cut == 0 && len(buffer) > maxLine:
			cut = len(buffer) // the parser reports a quote that never closes
		case cut == 0: // one record is longer than the buffer
			buffer = append(make([]byte, 0, 2*cap(buffer)), buffer...)
			continue
		}
		c.rest = append(c.rest[:0], buffer[cut:]...)
		out := chunk{text: buffer[:cut], line: c.line, last: end}
		c.line += bytes.Count(out.text, []byte{'\n'})
		return out, nil
	}
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
