package atomicfile

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// withoutName creates a file without a name in a folder, if the file system has such files.
func withoutName(folder string) (Handle, error) {
	return Disk.OpenFile(folder, unix.O_TMPFILE|os.O_RDWR, 0o600)
}

// link gives a file without a name a new name.
func link(f Handle, path string) error {
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", f.Fd()), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
}
