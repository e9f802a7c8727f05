package mapped

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"ppal/internal/disk"
)

// reserve sets the size of a file, and allocates its space on the disk. Without the space, a write
// to a mapped page on a full disk would end the process.
func reserve(f disk.Handle, size int64) error {
	err := unix.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, unix.EOPNOTSUPP) { // this file system cannot allocate space
		err = writeZeros(f, size)
	}
	if err != nil {
		return fmt.Errorf("reserve the space: %w", err)
	}
	return nil
}

// writeZeros writes size zeros from the beginning of a file.
func writeZeros(f disk.Handle, size int64) error {
	buffer := make([]byte, min(1<<20, size))
	for at := int64(0); at < size; at += int64(len(buffer)) {
		if _, err := f.WriteAt(buffer[:min(int64(len(buffer)), size-at)], at); err != nil {
			return err
		}
	}
	return nil
}

// ours reports whether this user owns the file and nobody else can write to it.
func ours(f *os.File) bool {
	var st unix.Stat_t
	return unix.Fstat(int(f.Fd()), &st) == nil && st.Uid == uint32(os.Geteuid()) && st.Mode&0o022 == 0
}

// smallPieces makes the system cache the file in single pages; see pieceBytes.
func smallPieces(f disk.Handle) { _ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_RANDOM) }

// mapFile maps the first size bytes of a file.
func mapFile(f disk.Handle, size int64, writable bool) ([]byte, error) {
	protection := unix.PROT_READ
	if writable {
		protection |= unix.PROT_WRITE
	}
	return unix.Mmap(int(f.Fd()), 0, int(size), protection, unix.MAP_SHARED)
}

func unmap(m []byte) error { return unix.Munmap(m) }

// giveBack releases the pages of the process. Their contents stay in the file or in the system's
// cache of the file.
func giveBack(m []byte) { _ = unix.Madvise(m, unix.MADV_DONTNEED) }

// readAhead loads and maps the pages of x in one call. An old kernel only starts to load the pages,
// and maps each page at its first access.
func readAhead(x []byte) {
	page := uintptr(os.Getpagesize())
	x = whole(x, page)
	if len(x) > 0 && unix.Madvise(x, unix.MADV_POPULATE_READ) != nil {
		_ = unix.Madvise(x, unix.MADV_WILLNEED)
	}
}

// whole returns the part of x that begins at the first address in x that is a multiple of page.
func whole(x []byte, page uintptr) []byte {
	past := uintptr(unsafe.Pointer(&x[0])) % page
	if past == 0 {
		return x
	}
	if cut := page - past; cut < uintptr(len(x)) {
		return x[cut:]
	}
	return nil
}

// hugePages implements HugePages.
func hugePages(b []byte) {
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE) // without huge pages, ppal works as well
}
