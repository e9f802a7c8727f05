//go:build unix

package rundir

import (
	"math"

	"golang.org/x/sys/unix"
)

// available returns the free bytes of the directory's file system for this user, and false if they
// are not known.
func available(dir string) (int64, bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil || s.Blocks == 0 {
		return 0, false
	}
	return int64(min(uint64(s.Bavail)*uint64(s.Bsize), math.MaxInt64)), true
}
