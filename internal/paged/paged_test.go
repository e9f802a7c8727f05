//go:build linux

package paged

import (
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func newDir(t *testing.T, resident uint64) *Dir {
	t.Helper()
	d, err := New(t.TempDir(), 100<<20)
	if err != nil {
		t.Fatal(err)
	}
	d.resident = func() uint64 { return resident }
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
	x, err := Make[float64](d, 300_000)
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(x, func(v float64) bool { return v != 0 }) {
		t.Fatal("the memory is not zero")
	}
	for i := range x {
		x[i] = float64(i)
	}
	look := min(step, 100<<20/looks)
	d.Touch(look - 1)
	if d.given != 0 {
		t.Fatal("the pages are given back before a step")
	}
	d.Touch(1)
	if d.given != 1 {
		t.Fatal("the pages are not given back")
	}
	Ahead(d, x[1000:200_000])
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

// The pages stay while the resident memory is below three quarters of the limit.
func TestPagesStay(t *testing.T) {
	d := newDir(t, 75<<20)
	d.Touch(step)
	if d.given != 0 {
		t.Error("the pages are given back")
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
			if err := l.Append(part); err != nil {
				t.Fatal(err)
			}
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
	d.Touch(1 << 40)
	Ahead(d, x)
	if err != nil || len(x) != 3 || d.Bytes() != 0 || d.Close() != nil {
		t.Error(x, err)
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
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	d := newDir(t, 0)
	l := NewList[float64](d)
	small := old
	small.Cur = 100_000
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &small); err != nil {
		t.Fatal(err)
	}
	_, made := Make[float64](d, 20_000)
	listed := l.Append(make([]float64, listBuffer))
	if restored := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); restored != nil {
		t.Fatal(restored)
	}
	if !errors.Is(made, unix.EFBIG) || !errors.Is(listed, unix.EFBIG) {
		t.Errorf("%v, %v, want %v", made, listed, unix.EFBIG)
	}
	if d.Bytes() != 0 {
		t.Errorf("%d bytes stay", d.Bytes())
	}
}
