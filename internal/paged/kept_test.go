//go:build linux

package paged

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ppal/internal/atomicfile"
)

// keep writes numbers and codes to a kept file and returns their positions.
func keep(t *testing.T, d *Dir, path string, numbers []float64, codes []int32, index string) (at [2]int64) {
	t.Helper()
	k, err := d.NewKept(filepath.Dir(path), KeptBytes[float64](len(numbers))+KeptBytes[int32](len(codes)))
	if err != nil {
		t.Fatal(err)
	}
	copied, first, err := Put(k, numbers)
	if err != nil || !slices.Equal(copied, numbers) {
		t.Fatalf("the copy differs, %v", err)
	}
	other, second, err := Put(k, codes)
	if err != nil || !slices.Equal(other, codes) {
		t.Fatalf("the copy differs, %v", err)
	}
	if _, _, err := Put(k, codes[:1]); err == nil {
		t.Error("more data than the file has room for")
	}
	if err := k.Commit(path, []byte(index)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(copied, numbers) {
		t.Error("the copy is lost with its name")
	}
	return [2]int64{first, second}
}

func anyIndex([]byte) error { return nil }

// A kept file returns the elements that were put, in this process and for a Dir of another process.
// An older file stays for the processes that use it. The folder has no other files.
func TestKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows")
	numbers, codes := make([]float64, 1_300_001), []int32{7, -1, 5}
	for i := range numbers {
		numbers[i] = float64(i) / 3
	}
	at := keep(t, newDir(t, 0), path, numbers, codes, "the index")
	d := newDir(t, 1<<40)
	k, err := d.OpenKept(path, func(index []byte) error {
		if string(index) != "the index" {
			t.Errorf("the index is %q", index)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // before and after another process replaces the file
		got, err := Get[float64](k, at[0], len(numbers))
		other, err2 := Get[int32](k, at[1], 3)
		if err != nil || err2 != nil || !slices.Equal(got, numbers) || !slices.Equal(other, codes) {
			t.Fatal("the file has other values", err, err2)
		}
		if d.Touch(step); d.given == 0 {
			t.Error("the pages are not given back")
		}
		keep(t, newDir(t, 0), path, []float64{1}, []int32{2}, "")
	}
	if _, err := Get[float64](k, at[0], len(numbers)+1000); !errors.Is(err, ErrDamaged) {
		t.Errorf("elements beyond the file: %v", err)
	}
	if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

// Whichever operation fails, the kept file is the old or the new one, and after one fault no other
// file stays. Without files that have no name, there is a temporary name.
func TestKeptFaults(t *testing.T) {
	for f := range atomicfile.EveryFault() {
		path := filepath.Join(t.TempDir(), "rows")
		keep(t, newDir(t, 0), path, []float64{1}, []int32{2}, "old")
		d := newDir(t, 0)
		err := f.Run(func() error {
			k, err := d.NewKept(filepath.Dir(path), KeptBytes[float64](1))
			if err != nil {
				return err
			}
			if _, _, err := Put(k, []float64{3}); err != nil {
				return errors.Join(err, k.Discard())
			}
			return k.Commit(path, []byte("new"))
		})
		temporary := f.At == 1 && f.Once
		if fails := f.Failed() && !temporary; fails != errors.Is(err, syscall.ENOSPC) || !fails && err != nil {
			t.Errorf("%v: %v", f, err)
		}
		if temporary && !slices.Contains(f.Calls, "rename .kept rows") {
			t.Errorf("%v: no temporary name", f)
		}
		got := ""
		_, open := newDir(t, 0).OpenKept(path, func(index []byte) error { got = string(index); return nil })
		if open != nil || err == nil && got != "new" || got != "new" && got != "old" {
			t.Errorf("%v: %q, %v", f, got, open)
		}
		if list, err := os.ReadDir(filepath.Dir(path)); err != nil || f.Once && len(list) != 1 {
			t.Errorf("%v: %v, %v", f, list, err)
		}
	}
}

// A damaged byte of a kept file, a shorter or longer file and another kind of file are errors.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "rows")
	keep(t, newDir(t, 0), path, slices.Repeat([]float64{1.5}, 2<<20/8*5), []int32{1, 2, 3}, `{"a":1}`)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string, text []byte) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := newDir(t, 0).OpenKept(path, anyIndex); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, at := range []int{0, 8, 16, 24, 32, 40, keptHead - 1, keptHead, keptHead + keptBlock, len(good) - 20, len(good) - 1} {
		bad := slices.Clone(good)
		bad[at] ^= 1
		try("a changed byte", bad)
	}
	for _, n := range []int{0, 10, keptHead, len(good) / 2, len(good) - 1} {
		try("a short file", good[:n])
	}
	try("a long file", append(slices.Clone(good), 0))
	try("another file", []byte(strings.Repeat("x,y\n", 1000)))

	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := newDir(t, 0).OpenKept(path, anyIndex); !errors.Is(err, ErrDamaged) {
		t.Errorf("a file that others can write: %v", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := errors.New("other rows")
	if _, err := newDir(t, 0).OpenKept(path, func([]byte) error { return foreign }); !errors.Is(err, foreign) {
		t.Errorf("a foreign file: %v", err)
	}
	if _, err := newDir(t, 0).OpenKept(filepath.Join(dir, "absent"), anyIndex); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := newDir(t, 0).OpenKept(path, anyIndex); err != nil {
		t.Error(err)
	}
}

// A file that gets no name leaves nothing, also in a file system without unnamed files.
func TestDiscard(t *testing.T) {
	d, folder := newDir(t, 0), t.TempDir()
	k, err := d.NewKept(folder, 64)
	if err != nil {
		t.Fatal(err)
	}
	named, err := os.CreateTemp(folder, "x")
	if err != nil {
		t.Fatal(err)
	}
	other := &Kept{dir: d, file: named, temp: named.Name()}
	if err := errors.Join(k.Discard(), k.Discard(), other.Discard()); err != nil {
		t.Error(err)
	}
	if list, err := os.ReadDir(folder); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := d.NewKept(filepath.Join(folder, "absent"), 64); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// Free removes memory before Close.
func TestFree(t *testing.T) {
	d := newDir(t, 0)
	x, err := Make[int64](d, 1000)
	y, err2 := Make[int64](d, 10)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	y[3] = 5
	if err := errors.Join(Free(d, x), Free(d, []int64{1}), Free[int64](nil, x)); err != nil || d.Bytes() != 80 || y[3] != 5 {
		t.Errorf("%v, %d bytes, %v", err, d.Bytes(), y[3])
	}
}
