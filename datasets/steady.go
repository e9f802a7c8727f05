package datasets

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// steadyFile is a regular file that must not change while it is read: at its end, the size and the
// modification time must be those of the beginning. Otherwise the end may be in the middle of the
// rows, and the error is a *FileError that wraps ErrChanged.
type steadyFile struct {
	file *os.File
	info fs.FileInfo // of the beginning
}

// steady returns r as a steadyFile if r is a regular file, else r.
func steady(r io.Reader) io.Reader {
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return &steadyFile{f, info}
		}
	}
	return r
}

// openSteady opens a regular file. Its errors are *FileError.
func openSteady(path string) (*steadyFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fileError(path, err), f.Close())
	}
	return &steadyFile{f, info}, nil
}

// unchanged returns ErrChanged if the file has changed since the beginning.
func (s *steadyFile) unchanged() error {
	now, err := s.file.Stat()
	if err == nil && same(s.info, now) {
		return nil
	}
	return changed(s.file.Name(), err)
}

// changedSince returns ErrChanged if r is a file that must not change, and the file has changed.
func changedSince(r any) error {
	if f, ok := r.(interface{ unchanged() error }); ok {
		return f.unchanged()
	}
	return nil
}

func same(a, b fs.FileInfo) bool { return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) }

// changed is the error of a file that has changed. err is an error of the file system, or nil.
func changed(path string, err error) error {
	return &FileError{Path: path, Offset: -1, Err: errors.Join(ErrChanged, err), Advice: "repeat the command when no program writes to the file"}
}

// atEnd replaces io.EOF by the error of a changed file.
func (s *steadyFile) atEnd(n int, err error) (int, error) {
	if err == io.EOF {
		if changed := s.unchanged(); changed != nil {
			return n, changed
		}
	}
	return n, err
}

// Read implements io.Reader.
func (s *steadyFile) Read(p []byte) (int, error) { return s.atEnd(s.file.Read(p)) }

// ReadAt implements io.ReaderAt.
func (s *steadyFile) ReadAt(p []byte, at int64) (int, error) { return s.atEnd(s.file.ReadAt(p, at)) }

// Seek implements io.Seeker.
func (s *steadyFile) Seek(offset int64, whence int) (int64, error) {
	return s.file.Seek(offset, whence)
}

// Close implements io.Closer.
func (s *steadyFile) Close() error { return s.file.Close() }

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
