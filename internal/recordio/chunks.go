// Package recordio opens the files that hold data, and reads tables as streams of typed records.
// The files are plain or compressed files that must not change, pipes that are read several times,
// inputs whose writer pauses, and folders of pictures.
//
// A file is cut into chunks of whole records, several goroutines decode the chunks, and the results
// keep the order of the file. The formats are text of separated fields, arrays of NumPy and IDX,
// and binary formats that a program registers, such as Parquet. Files of other formats and texts in
// other encodings are recognised.
package recordio

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"ppal/datasets/dataerr"
)

// ChunkBytes is the usual size of a chunk, about a thousand rows of a table. A chunk of this size
// and its features stay in a core's cache.
const ChunkBytes = 256 << 10

// MaxLine is the longest accepted line, 64 MiB: files in other formats may have no line ends.
const MaxLine = 64 << 20

// Chunk is a piece of a text that holds whole records.
type Chunk struct {
	Text []byte
	Line int  // number of the first line, from 1
	Last bool // the text ends with this chunk
	// Record is the number of the first record in the text, from 0, if the reader knows it
	Record int
	// number of records, if an earlier reading has counted them; see Only
	records int
	// Rows holds the rows of a binary format, instead of the text
	Rows any
}

// OpenEnd reports whether the chunk is the last of a text and has no line end.
func (c Chunk) OpenEnd() bool { return c.Last && !bytes.HasSuffix(c.Text, []byte{'\n'}) }

// Chunker cuts a text into chunks at line ends outside quotes. In a valid text, a position is
// inside quotes if an odd number of quotes precede the position. In an invalid text, the cuts are
// correct up to the first wrong quote, and the parser reports an error at this quote.
type Chunker struct {
	name   string // name of the file, for errors
	r      *bufio.Reader
	line   int    // number of lines before rest
	offset int64  // number of bytes read
	rest   []byte // bytes after the last cut
	err    error  // an error of r after rest
	Most   int    // largest number of bytes of a record
	// Unquoted says that the format has no quotes, so every line end is a possible cut.
	Unquoted bool
	// Pausing is the input of r if its writer may pause: a chunk then ends where the writer pauses
	Pausing *Pausing
}

// NewChunker returns a Chunker of r. name is used in errors.
func NewChunker(r io.Reader, name string) *Chunker {
	return &Chunker{name: name, r: bufio.NewReader(r), Most: MaxLine}
}

// Next returns the next chunk, which owns its memory. Next reuses buffer, the memory of an earlier
// chunk that the caller no longer needs; buffer may be nil. After the last chunk it returns io.EOF.
// Other errors are *FileError; the whole records before an error of the reader are returned first.
//
// If a record is too long, the chunk has a part of the record, and the parser reports an error
// because the record does not end. A second reading of the text gives the same chunks.
func (c *Chunker) Next(buffer []byte) (Chunk, error) {
	size := ChunkBytes
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
			return Chunk{}, io.EOF
		case cut == 0 && c.err != nil:
			return Chunk{}, c.Fail()
		case cut == 0 && len(buffer) > c.Most:
			cut = len(buffer)
		case cut == 0: // one record is longer than the buffer
			buffer = append(make([]byte, 0, max(min(2*cap(buffer), c.Most+1), len(buffer)+1)), buffer...)
			continue
		}
		c.rest = append(c.rest[:0], buffer[cut:]...)
		out := Chunk{Text: buffer[:cut], Line: c.line + 1, Last: end}
		c.line += bytes.Count(out.Text, []byte{'\n'})
		return out, nil
	}
}

// fill reads until the buffer is full, the text ends or reading fails. It reports whether the text
// ends.
func (c *Chunker) fill(buffer *[]byte) (end bool) {
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
	if errors.Is(c.err, ErrPaused) {
		c.err = nil
	}
	return c.err == io.EOF
}

// goAhead lets the next read end with ErrPaused if the text has whole records.
func (c *Chunker) goAhead(text []byte) {
	if c.Pausing != nil {
		c.Pausing.Ahead = c.lastRecordEnd(text) > 0
	}
}

// Fail returns the error of the reader with its position.
func (c *Chunker) Fail() error {
	var file *dataerr.FileError
	if errors.As(c.err, &file) {
		return c.err
	}
	return &dataerr.FileError{Path: c.name, Offset: c.offset, Err: c.err}
}

// lastRecordEnd returns the length of the text up to its last line end outside quotes, or 0.
func (c *Chunker) lastRecordEnd(text []byte) int {
	if c.Unquoted {
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

// ErrLongRecord is the error of a record that does not fit in memory.
var ErrLongRecord = fmt.Errorf("%w: a record of more than %d bytes", dataerr.ErrFormat, MaxLine)
