//go:build unix

package disk

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockLooks is the number of times that lock looks at a held lock. It calls wait in between,
// because a process that looks at the lock (free) holds the lock for a moment.
const lockLooks = 10

// lockWait waits a moment. Tests replace the function.
var lockWait = func() { time.Sleep(5 * time.Millisecond) }

// tryLock takes the lock of the file for as long as the file is open, and reports whether the lock
// is held by another open file.
func tryLock(f *os.File) (held bool, err error) {
	for look := 1; ; {
		switch err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			if look++; look > lockLooks {
				return true, nil
			}
			lockWait()
		case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOLCK):
			return false, nil // the file system has no locks
		default:
			return false, err
		}
	}
}

// isFree reports whether no open file holds the lock of the file. It takes a shared lock for a
// moment, so that several processes can look at the same time; lock waits for such a moment.
func isFree(f *os.File) bool {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}
