// Package disk keeps files whole. It replaces files atomically, reads files of bounded size,
// compares their checksums, and locks folders against other processes of ppal. It has the only way
// to the file system for writers of durable files, so that tests can inject faults in all of them
// (Faults).
package disk

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
	f, err := Local.OpenFile(from, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := Local.Rename(from, path); err != nil {
		return err
	}
	return SyncFolder(path)
}

// File is a new file that replaces path when Commit or Replace is called. On Linux it has no name
// before, so nothing of it stays if the process is killed. On a file system without such files (NFS
// for example) it has a temporary name.
type File struct {
	handle Handle
	path   string
	temp   string // the temporary name; "": none
	ended  bool   // has replaced path, or is discarded
}

// unfinished are the files that have been created and have neither replaced their paths nor been
// discarded.
var unfinished sync.Map

// DiscardAll removes all files of the process that have not replaced their paths: the process ends
// while its goroutines still work, so that no deferred Discard runs. It does not wait for a Commit
// that has begun, which syncs a large file for seconds: the Commit then fails.
func DiscardAll() {
	unfinished.Range(func(f, _ any) bool {
		unfinished.Delete(f)
		if temp := f.(*File).temp; temp != "" {
			_ = Local.Remove(temp) // there is none if Replace has just ended
		}
		return true
	})
}

// Create begins a file in the directory of path: only a file in the same file system can get the
// name path, and the directory gives the file its group. An existing file keeps its permissions; a
// new file has perm without the bits of the umask. The caller calls Commit or Replace, or Discard,
// which may follow them.
func Create(path string, perm os.FileMode) (*File, error) {
	old, err := os.Lstat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	h, temp, err := unnamed(path, perm)
	if err != nil {
		return nil, err
	}
	f := &File{handle: h, path: path, temp: temp}
	unfinished.Store(f, nil)
	if old != nil && old.Mode().IsRegular() {
		if err := h.Chmod(old.Mode().Perm()); err != nil {
			return nil, errors.Join(err, f.Discard())
		}
	}
	return f, nil
}

// Scratch creates a file in a folder whose content disappears when the file is closed, however the
// process ends.
func Scratch(folder string) (Handle, error) {
	h, temp, err := unnamed(filepath.Join(folder, "scratch"), 0o600)
	if err != nil || temp == "" {
		return h, err
	}
	if err := Local.Remove(temp); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// unnamed creates a file without a name in the directory of path, or with a temporary name.
func unnamed(path string, perm os.FileMode) (h Handle, temp string, err error) {
	if h, err = Local.Unnamed(path, perm); err == nil {
		return h, "", nil
	}
	err = newName(path, func(name string) (err error) {
		h, err = Local.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return h, h.Name(), nil
}

// newName calls give with hidden names beside path until one does not exist.
func newName(path string, give func(name string) error) error {
	for {
		name := filepath.Join(filepath.Dir(path), fmt.Sprint(".", filepath.Base(path), rand.Uint64()))
		if err := give(name); !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

// Handle returns the open file.
func (f *File) Handle() Handle { return f.handle }

// Write implements io.Writer.
func (f *File) Write(p []byte) (int, error) { return f.handle.Write(p) }

// Commit syncs the file, replaces path by it, closes it and syncs the directory.
func (f *File) Commit() error {
	if err := f.handle.Sync(); err != nil {
		return err
	}
	if err := f.Replace(); err != nil {
		return err
	}
	if err := f.handle.Close(); err != nil {
		return err
	}
	return SyncFolder(f.path)
}

// Replace replaces path by the file, and leaves the file open. It does not wait for the disk: it is
// for large contents whose readers find lost bytes by checksums. A file without a name cannot
// replace another one at once, so it has a temporary name for a moment.
func (f *File) Replace() error {
	if _, found := unfinished.LoadAndDelete(f); !found {
		return fmt.Errorf("%s: %w", f.path, fs.ErrClosed) // DiscardAll
	}
	if f.temp == "" {
		if err := newName(f.path, func(name string) error { f.temp = name; return Local.Link(f.handle, name) }); err != nil {
			f.temp = ""
			return fmt.Errorf("%s: %w", f.path, err)
		}
	}
	if err := Local.Rename(f.temp, f.path); err != nil {
		return err
	}
	f.ended = true
	return nil
}

// Discard closes and removes the file and leaves path unchanged. After Commit or Replace it does
// nothing.
func (f *File) Discard() error {
	if f.ended {
		return nil
	}
	f.ended = true
	unfinished.Delete(f)
	err := f.handle.Close()
	if f.temp != "" {
		err = errors.Join(err, Local.Remove(f.temp))
	}
	return err
}
