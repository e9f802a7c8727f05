// Package mapped keeps the features of rows in memory-mapped files, for data that are larger than
// the memory. A mapped array is an ordinary slice. The system loads the pages of the file when the
// program reads the slice, and the program releases the pages when its resident memory approaches a
// limit. Results do not depend on the limit. Vectors of a few bytes for each row, such as labels
// and scores, stay in the process's own memory.
package mapped

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"unsafe"

	"ppal/internal/disk"
)

// ErrUnsupported is the error of an operating system on which ppal cannot map files.
var ErrUnsupported = errors.New("mapped: this system cannot keep memory in files")

// Dir allocates memory in files of a directory. The files have no names, so the system removes them
// when the process ends, also after a crash. A nil *Dir allocates the process's own memory. Several
// goroutines may call the methods at the same time.
type Dir struct {
	path  string
	limit uint64
	usage func() (all, own uint64) // MemoryUsage

	mutex  sync.Mutex
	maps   [][]byte
	bytes  int64 // sum of the sizes of the files
	kept   []*Kept
	shared []sharedFile
	given  int    // number of releases of the pages
	least  uint64 // resident pages after the last release, in bytes
	stop   func() // ends Watch; nil: Watch does not run
}

// New returns a Dir for files in the directory path. limit is the bound on the resident memory of
// the process, in bytes. Let room be the limit less the process's own memory. Watch releases
// the pages when they take more than half of room, because the process may load as many pages again
// before the next check. New returns an error if the directory cannot hold mapped
// files.
func New(path string, limit uint64) (*Dir, error) {
	d := &Dir{path: path, limit: limit, usage: MemoryUsage}
	probe, err := Make[byte](d, 1)
	if err != nil {
		return nil, err
	}
	probe[0] = 1
	return d, d.Close()
}

// Make returns n zeros in a new file, from the beginning of a page, or in the process's own memory
// if d is nil. Make allocates the space of the file on the disk, so that a full disk is an error of
// Make.
func Make[T any](d *Dir, n int) ([]T, error) {
	if d == nil || n == 0 {
		return make([]T, n), nil
	}
	f, err := d.create()
	if err != nil {
		return nil, err
	}
	defer f.Close() // a mapping outlives the descriptor
	size := int64(n) * int64(sizeOf[T]())
	if err := reserve(f, size); err != nil {
		return nil, d.fail(size, err)
	}
	return mapFirst[T](d, f, n, true)
}

// create creates a file without a name.
func (d *Dir) create() (disk.Handle, error) {
	f, err := disk.Scratch(d.path)
	if err != nil {
		return nil, fmt.Errorf("mapped: %w", err)
	}
	return f, nil
}

// fail returns the error of a file of the given size.
func (d *Dir) fail(size int64, err error) error {
	return fmt.Errorf("mapped: a file of %d MiB in %s for rows beyond the memory: %w", size>>20, filepath.Clean(d.path), err)
}

// mapFirst maps the first n elements of a file.
func mapFirst[T any](d *Dir, f disk.Handle, n int, writable bool) ([]T, error) {
	size := int64(n) * int64(sizeOf[T]())
	m, err := mapFile(f, size, writable)
	if err != nil {
		return nil, d.fail(size, err)
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.maps = append(d.maps, m)
	d.bytes += size
	faults.add(m, f.Name())
	return unsafe.Slice((*T)(unsafe.Pointer(&m[0])), n), nil
}

// Shared maps n elements of a user's file without a copy. offset is the position of the first
// element, a multiple of the element size. The elements are read-only. Check returns an error if
// the file changes.
func Shared[T any](d *Dir, f *os.File, offset int64, n int) ([]T, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	end := offset + int64(n)*int64(sizeOf[T]())
	if end > info.Size() {
		return nil, fmt.Errorf("mapped: %s: %w", f.Name(), errChanging)
	}
	bytes, err := mapFirst[byte](d, f, int(end), false)
	if err != nil {
		return nil, err
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.shared = append(d.shared, sharedFile{f.Name(), stamp(info)})
	return unsafe.Slice((*T)(unsafe.Pointer(&bytes[offset])), n), nil
}

// sharedFile is a file of the user whose bytes the process uses.
type sharedFile struct{ path, stamp string }

// check returns an error if the size or the time of the file has changed.
func (f sharedFile) check() error {
	info, err := os.Stat(f.path)
	if err == nil && stamp(info) != f.stamp {
		err = errChanging
	}
	return err
}

// free unmaps memory of Make or of a List before Close. Other memory stays.
func (d *Dir) free(bytes []byte) error {
	if len(bytes) == 0 {
		return nil
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	i := slices.IndexFunc(d.maps, func(m []byte) bool { return unsafe.SliceData(m) == unsafe.SliceData(bytes) })
	if i < 0 {
		return nil
	}
	m := d.maps[i]
	d.maps = slices.Delete(d.maps, i, i+1)
	d.bytes -= int64(len(m))
	return unmap(m)
}

// sizeOf returns the size of a T in bytes.
func sizeOf[T any]() uintptr {
	var zero T
	return unsafe.Sizeof(zero)
}

// bytesOf returns the bytes of x, without a copy.
func bytesOf[T any](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), uintptr(len(x))*sizeOf[T]())
}

// HugePages asks the kernel to back b with huge pages where it can.
func HugePages(b []byte) { hugePages(b) }

// Ahead loads the pages of x before the program reads them.
func Ahead(x []byte) {
	if len(x) > 0 {
		readAhead(x)
	}
}

// Bytes returns the sum of the sizes of the files.
func (d *Dir) Bytes() int64 {
	if d == nil {
		return 0
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.bytes
}

// Close unmaps all memory of d. The program must not use its slices afterwards.
func (d *Dir) Close() error {
	if d == nil {
		return nil
	}
	if d.stop != nil {
		d.stop()
		d.stop = nil
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	var errs []error
	for _, m := range d.maps {
		errs = append(errs, unmap(m))
	}
	for _, k := range d.kept {
		errs = append(errs, k.file.Close())
	}
	d.maps, d.bytes, d.kept = nil, 0, nil
	return errors.Join(errs...)
}

// List is a slice that grows. Append writes the elements to a file, so that they take little memory
// before Slice. A List without a Dir, such as the zero value, keeps the elements in memory.
type List[T any] struct {
	dir  *Dir
	file disk.Handle
	rest []T // elements that are not yet in the file
	n    int
}

// listBuffer is the number of elements that a List writes at a time.
const listBuffer = 32 << 10

// NewList returns an empty List.
func NewList[T any](d *Dir) *List[T] { return &List[T]{dir: d} }

// Append appends elements.
func (l *List[T]) Append(xs []T) error {
	l.n += len(xs)
	l.rest = append(l.rest, xs...)
	if l.dir == nil || len(l.rest) < listBuffer {
		return nil
	}
	return l.flush()
}

// Grow makes room for n more elements if the list is in memory.
func (l *List[T]) Grow(n int) {
	if l.dir == nil {
		l.rest = slices.Grow(l.rest, n)
	}
}

// flush writes the elements that are not yet in the file.
func (l *List[T]) flush() (err error) {
	if l.file == nil {
		if l.file, err = l.dir.create(); err != nil {
			return err
		}
	}
	if len(l.rest) == 0 {
		return nil
	}
	if _, err := l.file.Write(bytesOf(l.rest)); err != nil {
		return l.dir.fail(int64(l.n)*int64(sizeOf[T]()), err)
	}
	l.rest = l.rest[:0]
	return nil
}

// Slice returns all elements and ends the list.
func (l *List[T]) Slice() ([]T, error) {
	if l.dir == nil || l.n == 0 {
		return l.rest, nil
	}
	if err := l.flush(); err != nil {
		return nil, err
	}
	defer l.file.Close()
	return mapFirst[T](l.dir, l.file, l.n, true)
}
