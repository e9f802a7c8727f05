package datasets

import (
	"bytes"
	"fmt"
	"io"
)

// chunkBytes is the usual size of a chunk: about a thousand rows of a table, so that a chunk and
// its features stay in a core's cache.
const chunkBytes = 256 << 10

// chunk is some whole records of a text.
type chunk struct {
	text []byte
	line int  // number of the first line, from 1
	last bool // the text ends with this chunk
}

// chunker cuts a text into chunks at line ends outside quotes. In a text without errors a quote is
// open where an odd number of quotes precede. A text with a wrong quote is cut correctly up to that
// quote, where the parser reports the error.
type chunker struct {
	r    io.Reader
	line int
	rest []byte // bytes after the last cut
	// unquoted: the format has no quotes, so every line end will do
	unquoted bool
}

// next returns the next chunk, which owns its memory; buffer may be memory of an earlier chunk that
// is no longer used. After the last chunk it returns io.EOF.
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
			cut = len(buffer) // the parser finds the quote that never closes, if that is the cause
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
