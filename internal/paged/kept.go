package paged

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"ppal/internal/atomicfile"
)

// ErrDamaged says that the bytes of a kept file have changed, or that a file is not a kept file.
var ErrDamaged = errors.New("paged: not a complete file of kept rows")

// A kept file is memory in a file with a name, for later processes:
//
//	head   64 bytes: magic, format, the sizes of the rest, checksums of the rest and of the head
//	data   slices, each from a multiple of 64 bytes; the zeros between are data
//	sums   CRC-32C of each block of keptBlock bytes of data
//	index  bytes of the caller
//
// All numbers have the byte order of the machine. A machine with another order finds another magic.
const (
	keptMagic  = 0x70706c726f777331 // pplrows1
	keptFormat = 1
	keptHead   = 64
	keptLine   = 64
	keptBlock  = 4 << 20
	keptMode   = 0o400

	// putBytes is the number of bytes that Put writes at a time. A system that caches larger pieces
	// maps a whole piece where a program reads one page of it.
	putBytes = 64 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Kept is a file that keeps slices for later processes.
type Kept struct {
	dir   *Dir
	file  atomicfile.Handle
	temp  string // the name until Commit; "": none
	bytes []byte // the head and the data
	used  int64
}

// KeptBytes returns the size that n elements of T need in a kept file.
func KeptBytes[T any](n int) int64 {
	return (int64(n)*int64(sizeOf[T]()) + keptLine - 1) / keptLine * keptLine
}

// NewKept begins a kept file in a folder for data of the given size, a sum of KeptBytes. The file
// has no name before Commit, so nothing stays if the process ends earlier. On a file system without
// such files (NFS), a process that is killed leaves a file .kept-*. The slices that Put returns are
// read-only, and valid until the Dir is closed, with or without Commit.
func (d *Dir) NewKept(folder string, size int64) (*Kept, error) {
	f, temp, err := unnamed(folder)
	if err != nil {
		return nil, fmt.Errorf("paged: %w", err)
	}
	k := &Kept{dir: d, file: f, temp: temp, used: keptHead}
	size += keptHead
	if err = f.Truncate(size); err != nil { // the space comes with the data
		return nil, errors.Join(d.fail(size, err), k.Discard())
	}
	if k.bytes, err = mappedBy[byte](d, f, int(size), mapToRead); err != nil {
		return nil, errors.Join(err, k.Discard())
	}
	return k, nil
}

// Put copies x to the file. It returns the copy and the position for Get.
func Put[T any](k *Kept, x []T) (copied []T, at int64, err error) {
	at, size := k.used, int64(len(x))*int64(sizeOf[T]())
	if at+size > int64(len(k.bytes)) {
		return nil, 0, fmt.Errorf("paged: a kept file of %d bytes has no room for %d more", len(k.bytes), size)
	}
	k.used += KeptBytes[T](len(x))
	if len(x) > 0 {
		raw := unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), size)
		for from := int64(0); from < size; from += putBytes {
			n, err := k.file.WriteAt(raw[from:min(from+putBytes, size)], at+from)
			if err != nil {
				return nil, 0, k.dir.fail(at+size, err)
			}
			k.dir.Touch(n)
		}
	}
	copied, err = Get[T](k, at, len(x))
	return copied, at, err
}

// Get returns the n elements at a position that Put has returned.
func Get[T any](k *Kept, at int64, n int) ([]T, error) {
	if n == 0 {
		return []T{}, nil
	}
	if at < keptHead || at%keptLine != 0 || n < 0 || int64(n) > (int64(len(k.bytes))-at)/int64(sizeOf[T]()) {
		return nil, fmt.Errorf("%w: %d elements at %d of %d bytes", ErrDamaged, n, at, len(k.bytes))
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&k.bytes[at])), n), nil
}

// Commit gives the file its name in the folder, makes it read-only, and replaces an older file with
// this name. A process that uses the older file keeps it. index holds bytes for OpenKept. Commit
// does not wait for the disk: if a power failure loses bytes, OpenKept finds that the file is
// damaged.
func (k *Kept) Commit(path string, index []byte) (err error) {
	defer func() {
		if end := k.Discard(); err == nil {
			err = end
		}
	}()
	sums, err := blockSums(k.file, int64(len(k.bytes)))
	if err != nil {
		return fmt.Errorf("paged: %w", err)
	}
	tail := slices.Concat(sums, index)
	if _, err := k.file.WriteAt(tail, int64(len(k.bytes))); err != nil {
		return k.dir.fail(int64(len(k.bytes)+len(tail)), err)
	}
	if _, err := k.file.WriteAt(head(int64(len(k.bytes)), tail), 0); err != nil {
		return fmt.Errorf("paged: %w", err)
	}
	if err := k.file.Chmod(keptMode); err != nil {
		return fmt.Errorf("paged: %w", err)
	}
	if k.temp == "" {
		temp := fmt.Sprintf("%s.%d-%d", path, os.Getpid(), k.file.Fd())
		if err := atomicfile.Disk.Link(k.file, temp); err != nil {
			return fmt.Errorf("paged: %s: %w", temp, err)
		}
		k.temp = temp
	}
	if err := atomicfile.Replace(k.temp, path); err != nil {
		return fmt.Errorf("paged: %w", err)
	}
	k.dir.keeps(inUse{k.file, path, int64(len(k.bytes)), sums})
	k.file, k.temp = nil, ""
	return nil
}

// Discard ends a file that gets no name. After Commit it does nothing.
func (k *Kept) Discard() error {
	if k.file == nil {
		return nil
	}
	err := k.file.Close()
	if k.temp != "" {
		err = errors.Join(err, atomicfile.Disk.Remove(k.temp))
	}
	k.file, k.temp = nil, ""
	return err
}

// head returns the first bytes of a kept file.
func head(data int64, tail []byte) []byte {
	h := make([]byte, keptHead)
	for i, x := range []uint64{keptMagic, keptFormat, uint64(data), uint64(len(tail)), uint64(crc32.Checksum(tail, castagnoli))} {
		binary.NativeEndian.PutUint64(h[8*i:], x)
	}
	binary.NativeEndian.PutUint64(h[keptHead-8:], uint64(crc32.Checksum(h[:keptHead-8], castagnoli)))
	return h
}

// OpenKept opens a kept file and returns its index. First, check gets the index and returns an
// error if the caller does not want this file. Then OpenKept reads all bytes for their checksums.
// The errors are those of check, of the file system (fs.ErrNotExist), or wrap ErrDamaged.
func (d *Dir) OpenKept(path string, check func(index []byte) error) (k *Kept, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("paged: %w", err)
	}
	defer func() {
		if k == nil {
			f.Close()
		}
	}()
	if !ours(f) {
		return nil, fmt.Errorf("%w: another user can write it", ErrDamaged)
	}
	data, tail, err := readHead(f)
	if err != nil {
		return nil, err
	}
	blocks := (data - keptHead + keptBlock - 1) / keptBlock
	if int64(len(tail)) < 4*blocks {
		return nil, fmt.Errorf("%w: %d bytes for %d checksums", ErrDamaged, len(tail), blocks)
	}
	if err := check(tail[4*blocks:]); err != nil {
		return nil, err
	}
	sums, err := blockSums(f, data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err := compareSums(sums, tail); err != nil {
		return nil, err
	}
	bytes, err := mappedBy[byte](d, f, int(data), mapToRead)
	if err != nil {
		return nil, err
	}
	d.keeps(inUse{f, path, data, sums})
	return &Kept{dir: d, used: data, bytes: bytes}, nil
}

// compareSums returns an error if the checksums of blocks are not those at the beginning of want.
func compareSums(sums, want []byte) error {
	for i := 0; i < len(sums); i += 4 {
		if string(sums[i:i+4]) != string(want[i:i+4]) {
			return fmt.Errorf("%w: its bytes from %d have another checksum", ErrDamaged, keptHead+i/4*keptBlock)
		}
	}
	return nil
}

// inUse is a kept file whose rows the process uses.
type inUse struct {
	file atomicfile.Handle
	path string
	end  int64  // of the data
	sums []byte // of the blocks
}

// keeps remembers a kept file for Check and Close.
func (d *Dir) keeps(f inUse) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.kept = append(d.kept, f)
}

// Check reads the kept files that the process uses, and compares their checksums. The error wraps
// ErrDamaged: results from these rows are wrong.
func (d *Dir) Check() error {
	if d == nil {
		return nil
	}
	d.mutex.Lock()
	files := slices.Clone(d.kept)
	d.mutex.Unlock()
	for _, f := range files {
		sums, err := blockSums(f.file, f.end)
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrDamaged, err)
		} else {
			err = compareSums(sums, f.sums)
		}
		if err != nil {
			return fmt.Errorf("%s changed while its rows were used: %w", f.path, err)
		}
	}
	return nil
}

// readHead returns the size of head and data, and the bytes after the data.
func readHead(f *os.File) (data int64, tail []byte, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, nil, fmt.Errorf("paged: %w", err)
	}
	h := make([]byte, keptHead)
	if _, err := io.ReadFull(f, h); err != nil {
		return 0, nil, fmt.Errorf("%w: it has %d bytes", ErrDamaged, info.Size())
	}
	number := func(i int) int64 { return int64(binary.NativeEndian.Uint64(h[8*i:])) }
	switch {
	case number(0) != keptMagic || number(1) != keptFormat:
		return 0, nil, fmt.Errorf("%w: its first bytes are not those of a kept file", ErrDamaged)
	case number(keptHead/8-1) != int64(crc32.Checksum(h[:keptHead-8], castagnoli)):
		return 0, nil, fmt.Errorf("%w: its first bytes have another checksum", ErrDamaged)
	case number(2)+number(3) != info.Size():
		return 0, nil, fmt.Errorf("%w: it has %d of %d bytes", ErrDamaged, info.Size(), number(2)+number(3))
	}
	tail = make([]byte, number(3))
	if _, err := f.ReadAt(tail, number(2)); err != nil {
		return 0, nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if number(4) != int64(crc32.Checksum(tail, castagnoli)) {
		return 0, nil, fmt.Errorf("%w: its index has another checksum", ErrDamaged)
	}
	return number(2), tail, nil
}

// blockSums returns the checksums of the blocks of the data, which end at the given position. It
// reads the file and not its mapping, so the pages do not become resident.
func blockSums(f atomicfile.Handle, end int64) ([]byte, error) {
	smallPieces(f)
	blocks := int((end - keptHead + keptBlock - 1) / keptBlock)
	sums, workers := make([]byte, 4*blocks), max(1, min(runtime.GOMAXPROCS(0), blocks))
	failures := make([]error, workers)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			room := make([]byte, keptBlock)
			for i := w; i < blocks && failures[w] == nil; i += workers {
				at := keptHead + int64(i)*keptBlock
				own := room[:min(keptBlock, end-at)]
				_, failures[w] = f.ReadAt(own, at)
				binary.NativeEndian.PutUint32(sums[4*i:], crc32.Checksum(own, castagnoli))
			}
		})
	}
	group.Wait()
	return sums, errors.Join(failures...)
}

// Free removes memory that Make or a List has made, before Close. Other memory stays.
func Free[T any](d *Dir, x []T) error {
	if d == nil || len(x) == 0 {
		return nil
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	for i, m := range d.maps {
		if unsafe.Pointer(&m[0]) == unsafe.Pointer(&x[0]) {
			d.maps[i] = d.maps[len(d.maps)-1]
			d.maps = d.maps[:len(d.maps)-1]
			d.bytes -= int64(len(m))
			return unmap(m)
		}
	}
	return nil
}
