package atomicfile

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// link gives a file without a name a new name.
func link(f Handle, path string) error {
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", f.Fd()), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
}
