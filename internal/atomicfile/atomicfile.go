// Package atomicfile replaces files atomically. It has the only way to the file system for writers
// of durable files, so that tests can inject faults in all of them (Faults).
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
)

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
	f, err := Disk.OpenFile(from, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := Disk.Rename(from, path); err != nil {
		return err
	}
	return SyncFolder(path)
}

// File is a new file that replaces path when Commit is called.
type File struct {
	handle Handle
	path   string
	temp   string // the name of the new file before Commit; "": none
	closed bool   // nothing is left to close
	ended  bool   // committed or discarded
}

// unfinished are the files that have been created and neither committed nor discarded.
var unfinished sync.Map

// DiscardAll removes all files of the process that are not committed: the process ends while its
// goroutines still work, so that no deferred Discard runs. It does not wait for a Commit that has
// begun, which syncs a large file for seconds: the Commit then fails.
func DiscardAll() {
	unfinished.Range(func(f, _ any) bool {
		_ = Disk.Remove(f.(*File).temp) // there is none without a name, or if a Commit has just ended
		return true
	})
}

// Create begins a file in the directory of path: only a file in the same file system can be renamed
// to path, and the directory gives the file its group. The caller calls Commit, or Discard, which
// may follow Commit.
func Create(path string, perm os.FileMode) (*File, error) {
	old, err := os.Lstat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	h, err := Temporary(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)), perm)
	if err != nil {
		return nil, err
	}
	f := &File{handle: h, path: path, temp: h.Name()}
	unfinished.Store(f, nil)
	if old != nil && old.Mode().IsRegular() {
		if err := h.Chmod(old.Mode().Perm()); err != nil {
			return nil, errors.Join(err, f.Discard())
		}
	}
	return f, nil
}

// Temporary creates a file whose name is the prefix and a random number.
func Temporary(prefix string, perm os.FileMode) (Handle, error) {
	for {
		f, err := Disk.OpenFile(fmt.Sprint(prefix, rand.Uint64()), os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// Write implements io.Writer.
func (f *File) Write(p []byte) (int, error) { return f.handle.Write(p) }

// Commit syncs the file, replaces path by it and syncs the directory.
func (f *File) Commit() error {
	if err := f.handle.Sync(); err != nil {
		return err
	}
	f.closed = true
	if err := f.handle.Close(); err != nil {
		return err
	}
	if err := f.rename(f.temp); err != nil {
		return err
	}
	return SyncFolder(f.path)
}

// rename replaces path by the new file, which has the given name.
func (f *File) rename(name string) error {
	if err := Disk.Rename(name, f.path); err != nil {
		return err
	}
	f.ended = true
	unfinished.Delete(f)
	return nil
}

// Discard removes the new file and leaves path unchanged. After Commit it does nothing.
func (f *File) Discard() error {
	if f.ended {
		return nil
	}
	f.ended = true
	unfinished.Delete(f)
	var err error
	if !f.closed {
		err = f.handle.Close()
	}
	if f.temp != "" {
		err = errors.Join(err, Disk.Remove(f.temp))
	}
	return err
}
