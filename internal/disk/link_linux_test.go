package disk

import "golang.org/x/sys/unix"

// hasUnnamed reports whether the file system of a folder has files without names.
func hasUnnamed(folder string) bool {
	fd, err := unix.Open(folder, unix.O_TMPFILE|unix.O_RDWR, 0o600)
	if err == nil {
		err = unix.Close(fd)
	}
	return err == nil
}
