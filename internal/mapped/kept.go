package mapped

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"ppal/internal/disk"
)

// ErrDamaged is the error of a kept file whose bytes have changed, and of a file that is not a kept
// file.
var ErrDamaged = errors.New("mapped: not a complete file of kept rows")

// A kept file holds arrays for later processes:
//
//	head    64 bytes: magic, format, position and size of the record, checksums of record and head
//	arrays  each at a multiple of 64 bytes; zeros fill the gaps, and the checksums include them
//	record  a keptRecord in JSON
//
// All numbers have the byte order of the machine. On a machine with the other byte order, the magic
// is wrong.
const (
	keptMagic  = 0x70706c726f777331 // pplrows1
	keptFormat = 2
	keptHead   = 64
	keptLine   = 64
	keptBlock  = 4 << 20
	keptMode   = 0o400

	// pieceBytes is the size of a write, in bytes. After larger writes, the system may cache larger
	// pieces of the file, and maps a whole piece when a program reads one page.
	pieceBytes = 64 << 10
)

// keptRecord describes a kept file.
type keptRecord struct {
	Key    string          // the Keeper's key in the process that wrote the file
	SHA256 string          // checksum of the source
	Sizes  []int64         // size of each array in bytes
	Sums   []uint32        // CRC-32C of each block of keptBlock bytes of arrays
	Index  json.RawMessage // the caller's description of the arrays
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Array is a variable whose array Keeper.Write or Kept.Read places in a kept file.
type Array struct {
	bytes []byte
	size  int64           // size of the array in the file, in bytes
	set   func(in []byte) // sets the variable to the array in these bytes
}

// Of returns the array of n elements in a variable. Keeper.Write and Kept.Read set the variable to
// the array in the file, which is read-only and valid until the Dir is closed.
func Of[T any](x *[]T, n int) Array {
	return Array{bytesOf(*x), int64(n) * int64(sizeOf[T]()), func(in []byte) { *x = elements[T](in) }}
}

// elements returns bytes as a slice of T, without a copy.
func elements[T any](bytes []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(bytes))), len(bytes)/int(sizeOf[T]()))
}

// Kept is a kept file whose rows the process uses.
type Kept struct {
	file   disk.Handle
	path   string
	end    int64 // end of the arrays in the file
	record *keptRecord
	bytes  []byte // the head and the arrays
	at     int64  // position of the next array of Read
	read   int    // number of arrays that Read has set
}

// Read sets the variables to the next arrays, in the order of Keeper.Write. An array of another
// size is an error, which wraps ErrDamaged.
func (k *Kept) Read(arrays ...Array) error {
	for _, a := range arrays {
		if k.read >= len(k.record.Sizes) || k.record.Sizes[k.read] != a.size || k.at+a.size > k.end {
			return fmt.Errorf("%w: it has no array of %d bytes at position %d of %d", ErrDamaged, a.size, k.at, k.end)
		}
		a.set(k.bytes[k.at:][:a.size])
		k.at, k.read = k.at+lines(a.size), k.read+1
	}
	return nil
}

// lines rounds a size up to a multiple of keptLine.
func lines(size int64) int64 { return (size + keptLine - 1) / keptLine * keptLine }

// writeKept writes a kept file and makes it read-only. The file gets its name when it is complete.
// A process that uses an older file with this name can still read the older file. If a power
// failure loses bytes, openKept reports that the file is damaged.
func (d *Dir) writeKept(path string, record keptRecord, arrays []Array) (err error) {
	out, err := disk.Create(path, keptMode)
	if err != nil {
		return fmt.Errorf("mapped: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, out.Discard())
		}
	}()
	f, end := out.Handle(), int64(keptHead)
	for _, a := range arrays {
		record.Sizes = append(record.Sizes, a.size)
		end += lines(a.size)
	}
	if err := f.Truncate(end); err != nil { // the writes of the arrays allocate the space
		return d.fail(end, err)
	}
	bytes, err := mapFirst[byte](d, f, int(end), false)
	if err != nil {
		return err
	}
	if err := d.moveTo(f, bytes, arrays); err != nil {
		return err
	}
	if record.Sums, err = blockSums(f, end); err != nil {
		return fmt.Errorf("mapped: %w", err)
	}
	tail, err := json.Marshal(record)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(tail, end); err != nil {
		return d.fail(end+int64(len(tail)), err)
	}
	if _, err := f.WriteAt(head(end, tail), 0); err != nil {
		return fmt.Errorf("mapped: %w", err)
	}
	if err := out.Replace(); err != nil {
		return fmt.Errorf("mapped: %w", err)
	}
	d.uses(&Kept{file: f, path: path, end: end, record: &record})
	return nil
}

// moveTo moves the arrays to a file. bytes is the mapping of the file.
func (d *Dir) moveTo(f disk.Handle, bytes []byte, arrays []Array) error {
	at := int64(keptHead)
	for _, a := range arrays {
		for from := 0; from < len(a.bytes); from += pieceBytes {
			if _, err := f.WriteAt(a.bytes[from:min(from+pieceBytes, len(a.bytes))], at+int64(from)); err != nil {
				return d.fail(int64(len(bytes)), err)
			}
		}
		a.set(bytes[at:][:len(a.bytes)])
		at += lines(int64(len(a.bytes)))
		if err := d.free(a.bytes); err != nil {
			return err
		}
	}
	return nil
}

// head returns the first bytes of a kept file.
func head(end int64, tail []byte) []byte {
	h := make([]byte, keptHead)
	for i, x := range []uint64{keptMagic, keptFormat, uint64(end), uint64(len(tail)), uint64(crc32.Checksum(tail, castagnoli))} {
		binary.NativeEndian.PutUint64(h[8*i:], x)
	}
	binary.NativeEndian.PutUint64(h[keptHead-8:], uint64(crc32.Checksum(h[:keptHead-8], castagnoli)))
	return h
}

// openKept opens a kept file. First, openKept calls check with the record: check returns an error
// if the caller does not want the file. Then openKept verifies the checksums of all bytes. The
// error is an error of check or of the file system (fs.ErrNotExist), or wraps ErrDamaged.
func (d *Dir) openKept(path string, check func(r *keptRecord) error) (k *Kept, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("mapped: %w", err)
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if !ours(f) {
		return nil, fmt.Errorf("%w: another user owns the file or can write to it", ErrDamaged)
	}
	k = &Kept{file: f, path: path, at: keptHead}
	if k.end, k.record, err = readRecord(f); err != nil {
		return nil, err
	}
	if err := check(k.record); err != nil {
		return nil, err
	}
	if err := k.check(); err != nil {
		return nil, err
	}
	if k.bytes, err = mapFirst[byte](d, f, int(k.end), false); err != nil {
		return nil, err
	}
	d.uses(k)
	return k, nil
}

// readRecord returns the record of a kept file, and its position.
func readRecord(f *os.File) (end int64, r *keptRecord, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, nil, fmt.Errorf("mapped: %w", err)
	}
	h := make([]byte, keptHead)
	if _, err := f.ReadAt(h, 0); err != nil {
		return 0, nil, fmt.Errorf("%w: it has %d bytes", ErrDamaged, info.Size())
	}
	number := func(i int) int64 { return int64(binary.NativeEndian.Uint64(h[8*i:])) }
	switch {
	case number(0) != keptMagic || number(1) != keptFormat:
		return 0, nil, fmt.Errorf("%w: it does not begin with the head of a kept file", ErrDamaged)
	case number(keptHead/8-1) != int64(crc32.Checksum(h[:keptHead-8], castagnoli)):
		return 0, nil, fmt.Errorf("%w: the checksum of its head is wrong", ErrDamaged)
	case number(2)+number(3) != info.Size():
		return 0, nil, fmt.Errorf("%w: it has %d of %d bytes", ErrDamaged, info.Size(), number(2)+number(3))
	}
	tail := make([]byte, number(3))
	if _, err := f.ReadAt(tail, number(2)); err != nil {
		return 0, nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	r = &keptRecord{}
	if number(4) != int64(crc32.Checksum(tail, castagnoli)) || json.Unmarshal(tail, r) != nil {
		return 0, nil, fmt.Errorf("%w: the checksum of its record is wrong", ErrDamaged)
	}
	return number(2), r, nil
}

// uses adds a kept file to the files of Check and Close.
func (d *Dir) uses(k *Kept) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.kept = append(d.kept, k)
}

// check compares the checksums of the blocks with the record.
func (k *Kept) check() error {
	sums, err := blockSums(k.file, k.end)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	for i, sum := range sums {
		if len(k.record.Sums) != len(sums) || k.record.Sums[i] != sum {
			return fmt.Errorf("%w: the checksum of its bytes from %d on is wrong", ErrDamaged, keptHead+i*keptBlock)
		}
	}
	return nil
}

// Check verifies the checksums of the kept files that the process uses, and the sizes and times of
// the files of Shared. After an error, results from these rows are wrong. The error of a kept file
// wraps ErrDamaged.
func (d *Dir) Check() error {
	if d == nil {
		return nil
	}
	d.mutex.Lock()
	files, shared := slices.Clone(d.kept), slices.Clone(d.shared)
	d.mutex.Unlock()
	for _, f := range shared {
		if err := f.check(); err != nil {
			return fmt.Errorf("%s changed while ppal used its rows: %w", f.path, err)
		}
	}
	for _, f := range files {
		if err := f.check(); err != nil {
			return fmt.Errorf("%s changed while ppal used its rows: %w", f.path, err)
		}
	}
	return nil
}

// blockSums returns the checksums of the blocks of the arrays, which end at position end. blockSums
// reads the file and not its mapping, so that the pages do not become resident.
func blockSums(f disk.Handle, end int64) ([]uint32, error) {
	smallPieces(f)
	blocks := int((end - keptHead + keptBlock - 1) / keptBlock)
	sums, workers := make([]uint32, blocks), max(1, min(runtime.GOMAXPROCS(0), blocks))
	failures := make([]error, workers)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			buffer := make([]byte, keptBlock)
			for i := w; i < blocks && failures[w] == nil; i += workers {
				at := keptHead + int64(i)*keptBlock
				own := buffer[:min(keptBlock, end-at)]
				_, failures[w] = f.ReadAt(own, at)
				sums[i] = crc32.Checksum(own, castagnoli)
			}
		})
	}
	group.Wait()
	return sums, errors.Join(failures...)
}
