package rundir

import (
	"fmt"
	"syscall"
)

// CheckSpace returns an error that wraps syscall.ENOSPC if the directory's file system has less
// than the given number of free bytes. If the free bytes are not known, CheckSpace returns nil.
func (d Dir) CheckSpace(bytes int64) error {
	const mega = 1e6
	if free, known := available(string(d)); known && free < bytes {
		return fmt.Errorf("rundir: %s has %.1f MB of free space, and the files of the run need about %.1f MB: %w",
			d, float64(free)/mega, float64(bytes)/mega, syscall.ENOSPC)
	}
	return nil
}
