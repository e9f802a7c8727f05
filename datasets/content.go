package datasets

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// content reads a file's content, decompressed where the file is gzip, and
// knows how many bytes of it have been read. gzip is told by its two magic
// bytes, never by the name.
type content struct {
	name   string // for errors
	r      io.Reader
	offset int64
}

// newContent looks at the first bytes of r and chooses.
func newContent(r io.Reader, name string) (*content, error) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	c := &content{name: name, r: buffered}
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
	return c, nil
}

// Read counts the bytes that it passes on, and turns the decompressor's errors
// into this package's.
func (c *content) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.offset += int64(n)
	if err != nil && err != io.EOF {
		err = gzipError(err)
	}
	return n, err
}

// gzipError maps what goes wrong in a compressed stream onto the sentinels;
// what the disk reports stays as it is.
func gzipError(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("%w: the file breaks off", ErrTruncated)
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return err
}

// fail puts the place to an error.
func (c *content) fail(err error) error {
	return &FileError{Path: c.name, Offset: c.offset, Err: err}
}

// readChunk is the most that readExactly allocates on a header's word alone.
const readChunk = 1 << 20

// readExactly reads want bytes. Its buffer doubles as bytes arrive, up to want
// and no further: a header that lies costs no more memory than the file has
// content. where names what is being read.
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

// expectEnd makes sure that nothing follows. In a compressed file it is also
// what makes the decompressor verify its checksum.
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

// whole reads a file's content as long as it should be: n bytes of what, then its end.
type whole struct {
	io.Closer
	*content
	what       string // for errors
	have, want uint64
}

// Read ends with io.EOF after the last byte wanted, where the content ends too.
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
