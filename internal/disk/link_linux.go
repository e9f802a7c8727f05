package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Unnamed implements System, if link can give the file a name.
func (OS) Unnamed(path string, perm os.FileMode) (Handle, error) {
	if _, err := os.Stat(descriptors); err != nil {
		return nil, err
	}
	for {
		fd, err := unix.Open(filepath.Dir(path), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, uint32(perm.Perm()))
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), path), nil
		case !errors.Is(err, unix.EINTR):
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// descriptors has a link to each open file of the process.
const descriptors = "/proc/self/fd"

// Link implements System.
func (OS) Link(f Handle, path string) error {
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprint(descriptors, "/", f.Fd()), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
}
