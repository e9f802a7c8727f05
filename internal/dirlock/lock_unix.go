//go:build unix

package dirlock

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// looks is the number of times that lock looks at a held lock. It calls wait in between, because a
// process that looks at the lock (free) holds the lock for a moment.
const looks = 10

// wait waits a moment. Tests replace the function.
var wait = func() { time.Sleep(5 * time.Millisecond) }

// lock takes the lock of the file for as long as the file is open, and reports whether the lock is
// held by another open file.
func lock(f *os.File) (held bool, err error) {
	for look := 1; ; {
		switch err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			if look++; look > looks {
				return true, nil
			}
			wait()
		case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOLCK):
			return false, nil // the file system has no locks
		default:
			return false, err
		}
	}
}

// free reports whether no open file holds the lock of the file. It takes a shared lock for a
// moment, so that several processes can look at the same time; lock waits for such a moment.
func free(f *os.File) bool {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}
