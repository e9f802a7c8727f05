package datasets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

// openUntilDone opens a file. Reading it ends with the error of the context.
func openUntilDone(ctx context.Context, path string) (input, error) {
	in, err := openInput(ctx, path)
	if err != nil {
		return nil, err
	}
	return untilDone{in, ctx}, nil
}

// untilDone is an input whose reads fail once the context is cancelled.
type untilDone struct {
	input
	ctx context.Context
}

// Read implements io.Reader.
func (u untilDone) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.input.Read(p)
}

// ReadAt implements io.ReaderAt.
func (u untilDone) ReadAt(p []byte, at int64) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.input.ReadAt(p, at)
}

// StandardInput is the path of a table on standard input.
const StandardInput = "-"

// input is an open file that can be read several times.
type input interface {
	io.ReadSeeker
	io.ReaderAt
	io.Closer
	// unchanged returns an error if the file has changed since it was opened
	unchanged() error
}

// isPipe reports whether the path is that of a pipe, which its writer may end early.
func isPipe(path string) bool {
	info, err := os.Stat(path) // fails for standard input
	return path == StandardInput || err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// openInput opens a file. A pipe, such as standard input, can be read only once, so openInput keeps
// the pipe's content for later calls with the same path. A cancelled ctx ends the reading of a
// pipe.
func openInput(ctx context.Context, path string) (input, error) {
	if path == StandardInput {
		return pipes.open(ctx, path, func() (io.ReadCloser, error) { return io.NopCloser(steady(os.Stdin)), nil })
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fileError(path, err)
	case info.IsDir():
		return nil, &FileError{Path: path, Offset: -1, Err: fmt.Errorf("%w: it is a directory, want a file", ErrFormat)}
	case !info.Mode().IsRegular():
		return pipes.open(ctx, path, func() (io.ReadCloser, error) { return os.Open(path) })
	}
	return openSteady(path)
}

// spooledInMemory is the largest content of a pipe that stays in memory, in bytes. Larger content
// goes to a temporary file.
const spooledInMemory = 64 << 20

// spools keeps the content of pipes by path.
type spools struct {
	mu sync.Mutex
	of map[string]*spool
}

// spool is the content of a pipe: in memory, or in a temporary file without a name.
type spool struct {
	text []byte
	file *os.File
	size int64
}

var pipes = spools{of: map[string]*spool{}}

// open returns a reader of the path's content. The first call reads the content from the pipe.
func (s *spools) open(ctx context.Context, path string, pipe func() (io.ReadCloser, error)) (input, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.of[path]
	if kept == nil {
		r, err := pipe()
		if err != nil {
			return nil, fileError(path, err)
		}
		defer r.Close()
		if kept, err = newSpool(contextReader{ctx, r}, spooledInMemory); err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, fileError(path, err)
		}
		s.of[path] = kept
	}
	return spoolReader{kept.reader()}, nil
}

// reader returns a reader of the content.
func (s *spool) reader() *io.SectionReader {
	if s.file != nil {
		return io.NewSectionReader(s.file, 0, s.size)
	}
	return io.NewSectionReader(bytes.NewReader(s.text), 0, s.size)
}

// newSpool reads r to its end. More than most bytes go to a file. The first most bytes need the end
// of a line: otherwise r, such as /dev/zero, may never end. The error then wraps ErrFormat.
func newSpool(r io.Reader, most int64) (*spool, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil || int64(len(text)) <= most {
		return &spool{text: text, size: int64(len(text))}, err
	}
	if bytes.IndexByte(text, '\n') < 0 {
		return nil, fmt.Errorf("%w: no line ends in the first %d bytes, want a table", ErrFormat, most)
	}
	file, err := os.CreateTemp("", "ppal-*")
	if err != nil {
		return nil, err
	}
	// The open file stays usable without its name, and a process that is killed leaves nothing.
	if err := os.Remove(file.Name()); err != nil {
		file.Close()
		return nil, err
	}
	size, err := io.Copy(file, io.MultiReader(bytes.NewReader(text), r))
	if err != nil {
		file.Close()
		return nil, err
	}
	return &spool{file: file, size: size}, nil
}

// spoolReader is a reader of a spool.
type spoolReader struct{ *io.SectionReader }

// unchanged implements input: nobody else can write the content.
func (spoolReader) unchanged() error { return nil }

// Close implements io.Closer. The spool stays open.
func (spoolReader) Close() error { return nil }

// fileError removes the operation and the path that errors of package os repeat.
func fileError(path string, err error) error {
	if errors.Is(err, ErrChanged) {
		return err // names the file
	}
	if pe, ok := err.(*os.PathError); ok {
		err = pe.Err
	}
	return &FileError{Path: path, Offset: -1, Err: err}
}

// orUnzipped returns path, or path without ".gz" if only that file exists.
func orUnzipped(path string) string {
	if plain := strings.TrimSuffix(path, ".gz"); !exists(path) && exists(plain) {
		return plain
	}
	return path
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// contextReader stops reading when its context is cancelled.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// OpenEnd returns the warning for a pipe, a terminal or a socket whose last line has no line end.
func OpenEnd(name string) string {
	if name == StandardInput {
		name = "standard input"
	}
	return fmt.Sprintf("the last line of %s has no line end: if its writer ended early, the last value may be incomplete", name)
}

// sizeOf returns the number of bytes of f.
func sizeOf(f io.Seeker) (int64, error) {
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	_, err = f.Seek(at, io.SeekStart)
	return size, err
}
