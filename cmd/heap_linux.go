package cmd

import "golang.org/x/sys/unix"

// adviseHugePages asks the kernel to back b with huge pages where it can.
func adviseHugePages(b []byte) {
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE) // without huge pages, ppal works as well
}
