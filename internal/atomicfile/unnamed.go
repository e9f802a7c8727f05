package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Unnamed begins a file in the directory of path, as Create does, for large contents whose readers
// find lost bytes by checksums. The file has no name before Keep, so nothing of it stays if the
// process is killed. On a file system without such files (NFS) it has a temporary name.
func Unnamed(path string) (*File, error) {
	h, temp, err := unnamed(filepath.Dir(path), filepath.Base(path))
	if err != nil {
		return nil, err
	}
	f := &File{handle: h, path: path, temp: temp}
	unfinished.Store(f, nil)
	return f, nil
}

// Scratch creates a file in a folder whose content disappears when the file is closed, however the
// process ends.
func Scratch(folder string) (Handle, error) {
	h, temp, err := unnamed(folder, "scratch")
	if err != nil || temp == "" {
		return h, err
	}
	if err := Disk.Remove(temp); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// unnamed creates a file in a folder without a name, or with a temporary name.
func unnamed(folder, base string) (h Handle, temp string, err error) {
	if h, err = withoutName(folder); err == nil {
		return h, "", nil
	}
	if h, err = Temporary(filepath.Join(folder, "."+base), 0o600); err != nil {
		return nil, "", err
	}
	return h, h.Name(), nil
}

// Handle returns the open file, which Discard closes.
func (f *File) Handle() Handle { return f.handle }

// Keep gives a file of Unnamed the permissions perm, and replaces path by it. It does not wait for
// the disk, and the file stays open.
func (f *File) Keep(perm os.FileMode) error {
	if err := f.handle.Chmod(perm); err != nil {
		return err
	}
	if f.temp != "" {
		return f.rename(f.temp)
	}
	name := fmt.Sprintf("%s.%d-%d", f.path, os.Getpid(), f.handle.Fd())
	if err := Disk.Link(f.handle, name); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := f.rename(name); err != nil {
		return errors.Join(err, Disk.Remove(name))
	}
	return nil
}
