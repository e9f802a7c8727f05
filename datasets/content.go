package datasets

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// content reads a file's content, decompresses gzip, and counts the bytes read. It recognises gzip
// by its two magic bytes, never by the file name. A regular file that changes while it is read is
// an error; see steadyFile.
type content struct {
	name   string // for errors
	r      io.Reader
	offset int64
	// pausing is the input if its writer may pause, else nil
	pausing *pausing
}

// newContent looks at the first bytes of r and returns a content with or without decompression.
func newContent(r io.Reader, name string) (*content, error) {
	waiting, _ := r.(*pausing)
	if waiting != nil {
		r = waiting.r
	}
	buffered := bufio.NewReaderSize(steady(r), 64<<10)
	c := &content{name: name, r: buffered, pausing: waiting}
	head, err := buffered.Peek(2)
	if err != nil && err != io.EOF {
		return nil, c.fail(err)
	}
	if string(head) == "\x1f\x8b" {
		unzipped, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, c.fail(gzipError(err))
		}
		c.r = unzipped
	}
	if waiting != nil {
		waiting.start(c.r)
		c.r = waiting
	}
	return c, nil
}

// Read counts the bytes it returns, and maps errors of the decompressor to this package's errors.
func (c *content) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.offset += int64(n)
	if err != nil && err != io.EOF {
		err = gzipError(err)
	}
	return n, err
}

// gzipError maps errors of a compressed stream to this package's errors; errors of the file system
// are unchanged.
func gzipError(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("%w: the file ends too early", ErrTruncated)
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return err
}

// fail adds the position to an error.
func (c *content) fail(err error) error {
	if errors.Is(err, ErrChanged) {
		return err // names the file
	}
	return &FileError{Path: c.name, Offset: c.offset, Err: err}
}

// readChunk is the largest buffer that readExactly allocates before it has read any bytes.
const readChunk = 1 << 20

// readExactly reads want bytes. Its buffer doubles as bytes arrive, up to want bytes, so a wrong
// size in a header costs no more memory than the file's content. where names the content in errors.
func (c *content) readExactly(want uint64, where string) ([]byte, error) {
	buf := make([]byte, min(want, readChunk))
	have := 0
	for {
		n, err := io.ReadFull(c, buf[have:])
		have += n
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return nil, c.fail(fmt.Errorf("%w: %d of %d bytes of %s", ErrTruncated, have, want, where))
		case err != nil:
			return nil, c.fail(err)
		case uint64(have) == want:
			return buf, nil
		}
		grown := make([]byte, min(want, 2*uint64(have)))
		copy(grown, buf)
		buf = grown
	}
}

// expectEnd returns an error unless the content ends here. Reading the end of a compressed file
// also makes the decompressor verify its checksum.
func (c *content) expectEnd() error {
	at := *c
	var extra [1]byte
	n, err := io.ReadFull(c, extra[:])
	switch {
	case n > 0:
		return at.fail(fmt.Errorf("%w after the content", ErrTrailing))
	case err == io.EOF:
		return nil
	}
	return at.fail(err)
}

// whole reads a file's content of a known size, want bytes. More or fewer bytes are an error.
type whole struct {
	io.Closer
	*content
	what       string // for errors
	have, want uint64
}

// Read returns io.EOF after the last byte if the content ends after want bytes.
func (w *whole) Read(p []byte) (int, error) {
	if w.have == w.want {
		if err := w.expectEnd(); err != nil {
			return 0, err
		}
		return 0, io.EOF
	}
	n, err := w.content.Read(p[:min(uint64(len(p)), w.want-w.have)])
	w.have += uint64(n)
	switch {
	case err == nil || err == io.EOF && w.have == w.want:
		return n, nil
	case err == io.EOF:
		err = fmt.Errorf("%w: %d of %d bytes of %s", ErrTruncated, w.have, w.want, w.what)
	}
	return n, w.fail(err)
}
