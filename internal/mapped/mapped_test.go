//go:build linux

package mapped

import (
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"ppal/internal/require"
)

func newDir(t *testing.T, resident uint64) *Dir {
	t.Helper()
	d := require.Value(New(t.TempDir(), 100<<20))(t)
	d.usage = func() (all, own uint64) { return resident, 0 }
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// The contents stay when the pages are given back, and no file has a name.
func TestContentsStay(t *testing.T) {
	d := newDir(t, 90<<20)
	x := require.Value(Make[float64](d, 300_000))(t)
	if slices.ContainsFunc(x, func(v float64) bool { return v != 0 }) {
		t.Fatal("the memory is not zero")
	}
	for i := range x {
		x[i] = float64(i)
	}
	d.release()
	Ahead(bytesOf(x[1000:200_000]))
	Ahead(nil)
	for i, v := range x {
		if v != float64(i) {
			t.Fatalf("element %d is %v", i, v)
		}
	}
	if list, err := os.ReadDir(d.path); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	if d.Bytes() != 2_400_000 {
		t.Errorf("%d bytes", d.Bytes())
	}
}

// A list gives its elements in their order, in memory and in a file.
func TestList(t *testing.T) {
	for _, d := range []*Dir{nil, newDir(t, 0)} {
		l, want := NewList[int32](d), []int32(nil)
		for k := range 7 {
			part := make([]int32, k*listBuffer/3)
			for i := range part {
				part[i] = int32(len(want) + i)
			}
			want = append(want, part...)
			require.NoError(t, l.Append(part))
		}
		if got, err := l.Slice(); err != nil || !slices.Equal(got, want) {
			t.Errorf("%d of %d elements, %v", len(got), len(want), err)
		}
		if got, err := NewList[int32](d).Slice(); got != nil || err != nil {
			t.Errorf("an empty list: %v, %v", got, err)
		}
	}
}

// A nil Dir is the process's memory.
func TestMemory(t *testing.T) {
	var d *Dir
	x, err := Make[int](d, 3)
	d.Bound()
	if err != nil || len(x) != 3 || d.Bytes() != 0 || d.Close() != nil {
		t.Error(x, err)
	}
	if x, err = Make[int](newDir(t, 0), 0); err != nil || len(x) != 0 {
		t.Errorf("no elements: %v, %v", x, err)
	}
}

// Pages that are given back take no resident memory, Ahead brings those of a slice, and Close
// removes all. No file stays open.
func TestResidentMemory(t *testing.T) {
	const size, half = 32 << 20, 16 << 20
	d := newDir(t, 0)
	open := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(list)
	}
	mapped := func() int {
		text, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Skip(err)
		}
		return strings.Count(string(text), d.path)
	}
	before := open()
	x := require.Value(Make[int64](d, size/8))(t)
	for i := range x {
		x[i] = 1
	}
	about := func(when string, from, grown int) {
		if now := int(ResidentMemory()) - from; now < grown-size/8 || now > grown+size/8 {
			t.Errorf("%s the resident memory grows by %d MiB, want about %d", when, now>>20, grown>>20)
		}
	}
	debug.FreeOSMemory() // else the runtime may return memory of earlier tests between two checks
	full := int(ResidentMemory())
	d.release()
	about("without its pages", full, -size)
	Ahead(bytesOf(x[1 : half/8])) // not from a page
	page := unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), 1)
	if unix.Madvise(page, unix.MADV_POPULATE_READ) == nil { // an old kernel cannot bring the pages
		about("with half of the pages", full, -half)
	}
	l := NewList[int64](d)
	require.NoError(t, l.Append(make([]int64, listBuffer)))
	require.Value(l.Slice())(t)
	if after := open(); after != before || mapped() != 2 || d.Bytes() != size+8*listBuffer {
		t.Errorf("%d open files before and %d after, %d mappings, %d bytes", before, after, mapped(), d.Bytes())
	}
	if err := d.Close(); err != nil || mapped() != 0 || d.Bytes() != 0 {
		t.Errorf("%v, %d mappings, %d bytes", err, mapped(), d.Bytes())
	}
}

// Close returns the error of memory that cannot be removed.
func TestCloseError(t *testing.T) {
	d := newDir(t, 0)
	if d.maps = append(d.maps, make([]byte, 1)); !errors.Is(d.Close(), unix.EINVAL) {
		t.Error("memory that is not a mapping is removed")
	}
}

// A file system that cannot reserve gets zeros, as many as the file needs.
func TestWriteZeros(t *testing.T) {
	for _, size := range []int64{0, 1, 1 << 20, 1<<20 + 1, 5 << 19} {
		f := require.Value(os.Create(filepath.Join(t.TempDir(), "zeros")))(t)
		require.NoError(t, writeZeros(f, size))
		info, err := f.Stat()
		if err != nil || info.Size() != size {
			t.Errorf("%d bytes: %v, %v", size, info, err)
		}
		require.NoError(t, f.Close())
		if err := writeZeros(f, size); (err == nil) != (size == 0) {
			t.Errorf("%d bytes to a closed file: %v", size, err)
		}
	}
}

// The part of a slice that begins at a page.
func TestWhole(t *testing.T) {
	x := require.Value(Make[byte](newDir(t, 0), 8192))(t)
	for _, tc := range []struct{ from, to, want int }{{0, 10, 10}, {0, 8192, 8192}, {1, 8192, 4096}, {4095, 8192, 4096}, {1, 4096, 0}, {1, 4097, 1}, {5, 9, 0}} {
		part := whole(x[tc.from:tc.to], 4096)
		if len(part) != tc.want || len(part) > 0 && &part[0] != &x[tc.to-tc.want] {
			t.Errorf("%d to %d: %d bytes, want the last %d", tc.from, tc.to, len(part), tc.want)
		}
	}
}

func TestNoDirectory(t *testing.T) {
	if _, err := New(filepath.Join(t.TempDir(), "absent"), 1); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A file that finds no space is an error of the call that needs it, and no later access ends the
// process.
func TestNoSpace(t *testing.T) {
	signal.Ignore(unix.SIGXFSZ)
	defer signal.Reset(unix.SIGXFSZ)
	var old unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &old))
	d := newDir(t, 0)
	l := NewList[float64](d)
	small := old
	small.Cur = 100_000
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &small))
	_, made := Make[float64](d, 20_000)
	listed := l.Append(make([]float64, listBuffer))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &old))
	if !errors.Is(made, unix.EFBIG) || !errors.Is(listed, unix.EFBIG) {
		t.Errorf("%v, %v, want %v", made, listed, unix.EFBIG)
	}
	if d.Bytes() != 0 {
		t.Errorf("%d bytes stay", d.Bytes())
	}
}

// The pages stay while they take at most half of what the process's own memory leaves of the limit,
// 100 MiB, and while they are hardly more than after the last release.
func TestPagesStay(t *testing.T) {
	d := newDir(t, 0)
	for _, tc := range []struct {
		all, own, least uint64 // MiB
		given           int
	}{{50, 0, 0, 0}, {51, 0, 0, 1}, {75, 50, 0, 0}, {76, 50, 0, 1}, {100, 100, 0, 0}, {107, 100, 0, 1}, {300, 200, 0, 1}, {200, 200, 0, 0},
		{80, 0, 60, 1}, {66, 0, 60, 0}, {67, 0, 60, 1}} {
		d.usage = func() (all, own uint64) { return tc.all << 20, tc.own << 20 }
		d.given, d.least = 0, tc.least<<20
		if d.Bound(); d.given != tc.given || d.least > (tc.all-tc.own)<<20 {
			t.Errorf("%+v: the pages are given back %d times, least %d bytes", tc, d.given, d.least)
		}
	}
}

// Watch checks until Close.
func TestWatch(t *testing.T) {
	d := require.Value(New(t.TempDir(), 100<<20))(t)
	checks := make(chan bool)
	d.usage = func() (all, own uint64) {
		checks <- true
		return 0, 0
	}
	d.Watch()
	for range 2 {
		select {
		case <-checks:
		case <-time.After(10 * time.Second):
			t.Fatal("no check")
		}
	}
	closed := make(chan error)
	go func() { closed <- d.Close() }()
	for {
		select {
		case <-checks:
		case err := <-closed:
			if err != nil {
				t.Error(err)
			}
			return
		}
	}
}
