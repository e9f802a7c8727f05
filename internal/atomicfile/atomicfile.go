// Package atomicfile replaces files atomically.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
)

// disk holds the calls whose order makes a file durable. Tests replace them.
var disk = struct {
	write  func(f *os.File, p []byte) (int, error)
	sync   func(f *os.File) error
	close  func(f *os.File) error
	rename func(from, to string) error
}{(*os.File).Write, (*os.File).Sync, (*os.File).Close, os.Rename}

// Write replaces the file at path atomically: it writes and syncs a temporary file in the same
// directory, renames the temporary file, and syncs the directory. A reader never sees an incomplete
// file, not even after a power failure. An existing file keeps its permissions; a new file has perm
// without the bits of the umask. Errors come from the file system, and leave path unchanged unless
// only the sync of the directory fails.
func Write(path string, data []byte, perm os.FileMode) error {
	f, err := Create(path, perm)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return errors.Join(err, f.Discard())
	}
	if err := f.Commit(); err != nil {
		return errors.Join(err, f.Discard())
	}
	return nil
}

// Move renames the file from to path, which is in the same file system, after it has synced the
// file. Move then syncs the directory of path.
func Move(from, path string) error {
	f, err := os.OpenFile(from, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(disk.sync(f), disk.close(f)); err != nil {
		return err
	}
	if err := disk.rename(from, path); err != nil {
		return err
	}
	return syncFolder(path)
}

// File is a new file that replaces path when Commit is called.
type File struct {
	file *os.File
	path string
	open bool // the file is open
	made bool // the temporary file exists
}

// Create begins a file in the directory of path. The caller calls Commit, or Discard, which may
// follow Commit.
func Create(path string, perm os.FileMode) (*File, error) {
	f, err := temporary(path, perm)
	if err != nil {
		return nil, err
	}
	made := &File{file: f, path: path, open: true, made: true}
	if old, err := os.Lstat(path); err == nil && old.Mode().IsRegular() {
		if err := f.Chmod(old.Mode().Perm()); err != nil {
			return nil, errors.Join(err, made.Discard())
		}
	}
	return made, nil
}

// temporary makes a file with an unused name in the directory of path, because only a file in the
// same file system can be renamed to path.
func temporary(path string, perm os.FileMode) (*os.File, error) {
	const attempts = 100
	for i := 1; ; i++ {
		name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%08x", filepath.Base(path), rand.Uint32()))
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
		if !errors.Is(err, fs.ErrExist) || i == attempts {
			return f, err
		}
	}
}

// Write implements io.Writer.
func (f *File) Write(p []byte) (int, error) { return disk.write(f.file, p) }

// Commit syncs the file, replaces path by it and syncs the directory.
func (f *File) Commit() error {
	if err := disk.sync(f.file); err != nil {
		return err
	}
	f.open = false
	if err := disk.close(f.file); err != nil {
		return err
	}
	if err := disk.rename(f.file.Name(), f.path); err != nil {
		return err
	}
	f.made = false
	return syncFolder(f.path)
}

// Discard removes the new file and leaves path unchanged. After Commit it does nothing.
func (f *File) Discard() (err error) {
	if f.open {
		f.open = false
		err = f.file.Close()
	}
	if f.made {
		f.made = false
		err = errors.Join(err, os.Remove(f.file.Name()))
	}
	return err
}

// syncFolder syncs the directory of a file, if the file system can sync directories.
func syncFolder(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := disk.sync(dir); !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}
