package recordio

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"ppal/datasets/dataerr"
)

// SteadyFile is a regular file that must not change while it is read: at its end, the size and the
// modification time must be the same as at the beginning. Otherwise the end may be in the middle of
// the rows, and the error is a *FileError that wraps ErrChanged.
type SteadyFile struct {
	file *os.File
	Info fs.FileInfo // of the beginning
}

// Steady returns r as a SteadyFile if r is a regular file, else r.
func Steady(r io.Reader) io.Reader {
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return &SteadyFile{f, info}
		}
	}
	return r
}

// OpenSteady opens a regular file. Its errors are *FileError.
func OpenSteady(path string) (*SteadyFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, FileError(path, err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(FileError(path, err), f.Close())
	}
	return &SteadyFile{f, info}, nil
}

// unchanged returns ErrChanged if the file has changed since the beginning.
func (s *SteadyFile) unchanged() error {
	now, err := s.file.Stat()
	if err == nil && same(s.Info, now) {
		return nil
	}
	return changed(s.file.Name(), err)
}

// ChangedSince returns ErrChanged if r is a file that must not change, and the file has changed.
func ChangedSince(r any) error {
	if f, ok := r.(interface{ unchanged() error }); ok {
		return f.unchanged()
	}
	return nil
}

func same(a, b fs.FileInfo) bool { return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) }

// changed is the error of a file that has changed. err is an error of the file system, or nil.
func changed(path string, err error) error {
	return &dataerr.FileError{Path: path, Offset: -1, Err: errors.Join(dataerr.ErrChanged, err), Advice: "repeat the command when no program writes to the file"}
}

// atEnd replaces io.EOF by the error of a changed file.
func (s *SteadyFile) atEnd(n int, err error) (int, error) {
	if err == io.EOF {
		if changed := s.unchanged(); changed != nil {
			return n, changed
		}
	}
	return n, err
}

// Read implements io.Reader.
func (s *SteadyFile) Read(p []byte) (int, error) { return s.atEnd(s.file.Read(p)) }

// ReadAt implements io.ReaderAt.
func (s *SteadyFile) ReadAt(p []byte, at int64) (int, error) { return s.atEnd(s.file.ReadAt(p, at)) }

// Seek implements io.Seeker.
func (s *SteadyFile) Seek(offset int64, whence int) (int64, error) {
	return s.file.Seek(offset, whence)
}

// Close implements io.Closer.
func (s *SteadyFile) Close() error { return s.file.Close() }

// Unchanged notes the sizes and the modification times of the regular files among paths. The
// function that it returns compares them, and returns a *FileError that wraps ErrChanged for a file
// that has changed in between. It is for files that are opened several times.
func Unchanged(paths ...string) (check func() error) {
	before := map[string]fs.FileInfo{}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			before[path] = info
		}
	}
	return func() error {
		for _, path := range paths {
			if before[path] == nil {
				continue
			}
			if now, err := os.Stat(path); err != nil || !same(before[path], now) {
				return changed(path, err)
			}
		}
		return nil
	}
}

// Size returns the number of bytes of an open regular file, or 0 if r is not one. The text of a
// compressed file is longer.
func Size(r io.Reader) int64 {
	switch f := r.(type) {
	case *SteadyFile:
		return f.Info.Size()
	case untilDone:
		return Size(f.Input)
	}
	return 0
}

// regular returns the open regular file that r reads, or nil.
func regular(r any) *os.File {
	switch f := r.(type) {
	case *SteadyFile:
		return f.file
	case untilDone:
		return regular(f.Input)
	}
	return nil
}
