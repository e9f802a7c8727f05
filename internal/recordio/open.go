package recordio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"ppal/datasets/dataerr"
)

// OpenUntilDone opens a file. Reading it ends with the error of the context.
func OpenUntilDone(ctx context.Context, path string) (Input, error) {
	in, err := OpenInput(ctx, path)
	if err != nil {
		return nil, err
	}
	return untilDone{in, ctx}, nil
}

// untilDone is an input whose reads fail once the context is cancelled.
type untilDone struct {
	Input
	ctx context.Context
}

// Read implements io.Reader.
func (u untilDone) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.Input.Read(p)
}

// ReadAt implements io.ReaderAt.
func (u untilDone) ReadAt(p []byte, at int64) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.Input.ReadAt(p, at)
}

// StandardInput is the path of a table on standard input.
const StandardInput = "-"

// Input is an open file that can be read several times.
type Input interface {
	io.ReadSeeker
	io.ReaderAt
	io.Closer
	// unchanged returns an error if the file has changed since it was opened
	unchanged() error
}

// IsPipe reports whether the path names a pipe, which its writer may end early.
func IsPipe(path string) bool {
	info, err := os.Stat(path) // fails for standard input
	return path == StandardInput || err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// OpenInput opens a file, or the table of the pictures in a folder. A pipe, such as standard input,
// can be read only once, so OpenInput keeps the pipe's content for later calls with the same path.
// A cancelled ctx ends the reading of a pipe.
func OpenInput(ctx context.Context, path string) (Input, error) {
	if path == StandardInput {
		return Pipes.Open(ctx, path, func() (io.ReadCloser, error) { return io.NopCloser(Steady(os.Stdin)), nil })
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, FileError(path, err)
	case info.IsDir():
		return OpenFolder(path, FolderPicture, FolderClass)
	case !info.Mode().IsRegular():
		return Pipes.Open(ctx, path, func() (io.ReadCloser, error) { return os.Open(path) })
	}
	return OpenSteady(path)
}

// spooledInMemory is the largest content of a pipe that stays in memory, in bytes. Larger content
// goes to a temporary file.
const spooledInMemory = 64 << 20

// Spools keeps the content of pipes by path.
type Spools struct {
	mu sync.Mutex
	Of map[string]*Spool
}

// Spool is the content of a pipe: in memory, or in a temporary file without a name.
type Spool struct {
	text []byte
	File *os.File
	size int64
}

// Pipes holds the contents of the pipes that the process has read.
var Pipes = Spools{Of: map[string]*Spool{}}

// Open returns a reader of the path's content. The first call reads the content from the pipe.
func (s *Spools) Open(ctx context.Context, path string, pipe func() (io.ReadCloser, error)) (Input, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.Of[path]
	if kept == nil {
		r, err := pipe()
		if err != nil {
			return nil, FileError(path, err)
		}
		defer r.Close()
		if kept, err = NewSpool(ContextReader{ctx, r}, spooledInMemory); err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, FileError(path, err)
		}
		s.Of[path] = kept
	}
	return spoolReader{kept.Reader()}, nil
}

// Reader returns a reader of the content.
func (s *Spool) Reader() *io.SectionReader {
	if s.File != nil {
		return io.NewSectionReader(s.File, 0, s.size)
	}
	return io.NewSectionReader(bytes.NewReader(s.text), 0, s.size)
}

// NewSpool reads r to its end. More than most bytes go to a file. If the first most bytes have no
// end of a line, the error wraps ErrFormat, because r, such as /dev/zero, may never end.
func NewSpool(r io.Reader, most int64) (*Spool, error) {
	return newSpool(r, most, func(text []byte) error {
		if bytes.IndexByte(text, '\n') < 0 {
			return fmt.Errorf("%w: no line ends in the first %d bytes, want a table", dataerr.ErrFormat, most)
		}
		return nil
	})
}

// spoolBinary does the work of NewSpool for content in a binary format, whose end r knows.
func spoolBinary(r io.Reader) (*Spool, error) {
	return newSpool(r, spooledInMemory, func([]byte) error { return nil })
}

// newSpool reads r to its end, unless check returns an error for the first most bytes.
func newSpool(r io.Reader, most int64, check func(text []byte) error) (*Spool, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil || int64(len(text)) <= most {
		return &Spool{text: text, size: int64(len(text))}, err
	}
	if err := check(text); err != nil {
		return nil, err
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
	return &Spool{File: file, size: size}, nil
}

// spoolReader is a reader of a spool.
type spoolReader struct{ *io.SectionReader }

// unchanged implements Input: nobody else can write the content.
func (spoolReader) unchanged() error { return nil }

// Close implements io.Closer. The spool stays open.
func (spoolReader) Close() error { return nil }

// FileError removes the operation and the path that errors of package os repeat.
func FileError(path string, err error) error {
	if errors.Is(err, dataerr.ErrChanged) {
		return err // names the file
	}
	if pe, ok := err.(*os.PathError); ok {
		err = pe.Err
	}
	return &dataerr.FileError{Path: path, Offset: -1, Err: err}
}

// OrUnzipped returns path, or path without ".gz" if only that file exists.
func OrUnzipped(path string) string {
	if plain := strings.TrimSuffix(path, ".gz"); !Exists(path) && Exists(plain) {
		return plain
	}
	return path
}

// Exists reports whether a file is at the path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ContextReader stops reading when its context is cancelled.
type ContextReader struct {
	Ctx context.Context
	R   io.Reader
}

// Read implements io.Reader.
func (c ContextReader) Read(p []byte) (int, error) {
	if err := c.Ctx.Err(); err != nil {
		return 0, err
	}
	return c.R.Read(p)
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
