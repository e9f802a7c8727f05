package disk

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// System is the part of a file system that the writers of durable files use.
type System interface {
	// OpenShared opens a file as os.OpenFile does.
	OpenFile(path string, flags int, perm os.FileMode) (Handle, error)
	Rename(from, to string) error
	Remove(path string) error
	// Unnamed creates a file without a name in the directory of path. Its errors name path. The
	// error is another one if the file system has no such files.
	Unnamed(path string, perm os.FileMode) (Handle, error)
	// Link gives a file without a name a new name.
	Link(f Handle, path string) error
}

// Handle is an open file. An *os.File is a Handle.
type Handle interface {
	io.ReadWriteCloser
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	Chmod(mode os.FileMode) error
	// Sync makes the contents durable, or the names in a directory.
	Sync() error
	Name() string
	Fd() uintptr
}

// OS is the file system of the operating system.
type OS struct{}

// OpenShared implements System.
func (OS) OpenFile(path string, flags int, perm os.FileMode) (Handle, error) {
	f, err := OpenShared(path, flags, perm)
	if err != nil {
		return nil, err // without a Handle that holds a nil *os.File
	}
	return f, nil
}

// OpenShared is os.OpenFile for files that are renamed or removed while they are open.
func OpenShared(path string, flags int, perm os.FileMode) (*os.File, error) {
	if runtime.GOOS == "windows" {
		return openShared(path, flags, perm)
	}
	return os.OpenFile(path, flags, perm)
}

// openShared opens a file through os.Root, because Windows neither renames nor removes the open
// files of os.OpenFile. Tests call it on every system.
func openShared(path string, flags int, perm os.FileMode) (*os.File, error) {
	folder, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	f, err := folder.OpenFile(filepath.Base(path), flags, perm)
	if failed := (*os.PathError)(nil); errors.As(err, &failed) {
		failed.Path = path
	}
	return f, errors.Join(err, folder.Close())
}

// Rename implements System.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements System.
func (OS) Remove(path string) error { return os.Remove(path) }

// Local is the file system to which the program writes. Only tests replace it: see Faults.
var Local System = OS{}

// Put writes data to the file at path, in place, and makes the contents durable, but not the name.
func Put(path string, data []byte) error {
	f, err := Local.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// SyncFolder makes the names in the folder of a file durable, if the file system can do that.
func SyncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil // it syncs files only
	}
	dir, err := Local.OpenFile(filepath.Dir(path), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	err = dir.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		err = nil
	}
	return errors.Join(err, dir.Close())
}
