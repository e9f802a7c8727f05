//go:build unix

package disk

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"ppal/internal/require"
)

// A process that looks at the lock holds a shared lock for a moment.
func TestLockWaits(t *testing.T) {
	open := func(name string) *os.File {
		f := require.Value(os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644))(t)
		t.Cleanup(func() { f.Close() })
		return f
	}
	defer func(old func()) { lockWait = old }(lockWait)
	for _, c := range []struct {
		moments, waits int // the other process holds the lock for so many waits
		held           bool
	}{{0, 0, false}, {3, 3, false}, {lockLooks - 1, lockLooks - 1, false}, {lockLooks, lockLooks - 1, true}} {
		name := filepath.Join(t.TempDir(), "lock")
		looking, waits := open(name), 0
		operation := unix.LOCK_SH
		if c.moments == 0 {
			operation = unix.LOCK_UN
		}
		require.NoError(t, unix.Flock(int(looking.Fd()), operation))
		lockWait = func() {
			if waits++; waits == c.moments {
				if err := unix.Flock(int(looking.Fd()), unix.LOCK_UN); err != nil {
					t.Error(err)
				}
			}
		}
		held, err := tryLock(open(name))
		if err != nil || held != c.held || waits != c.waits {
			t.Errorf("%+v: held %v after %d waits, %v", c, held, waits, err)
		}
	}
}
