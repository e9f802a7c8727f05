//go:build linux

package mapped

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ppal/internal/disk"
	"ppal/internal/require"
)

// write writes numbers and codes to a kept file, to which they move.
func write(d *Dir, path string, numbers *[]float64, codes *[]int32, key string) error {
	return d.writeKept(path, keptRecord{Key: key}, []Array{Of(numbers, len(*numbers)), Of(codes, len(*codes))})
}

// keep writes numbers and codes to a kept file, and checks that they move there.
func keep(t *testing.T, d *Dir, path string, numbers []float64, codes []int32, key string) {
	t.Helper()
	movedNumbers, movedCodes := numbers, codes
	require.NoError(t, write(d, path, &movedNumbers, &movedCodes, key))
	if !slices.Equal(movedNumbers, numbers) || !slices.Equal(movedCodes, codes) || &movedNumbers[0] == &numbers[0] || &movedCodes[0] == &codes[0] {
		t.Fatal("the arrays in the file differ, or did not move")
	}
}

func anyRecord(*keptRecord) error { return nil }

// A kept file returns its arrays, in this process and for a Dir of another process. An older file
// stays for the processes that use it. The folder has no other files.
func TestKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows")
	numbers, codes := make([]float64, 1_300_001), []int32{7, -1, 5}
	for i := range numbers {
		numbers[i] = float64(i) / 3
	}
	keep(t, newDir(t, 0), path, numbers, codes, "the key")
	d := newDir(t, 1<<40)
	k, err := d.openKept(path, anyRecord)
	if err != nil || k.record.Key != "the key" {
		t.Fatal(k, err)
	}
	for range 2 { // before and after another process replaces the file
		own := *k
		var got []float64
		var other []int32
		if err := own.Read(Of(&got, len(numbers)), Of(&other, 3)); err != nil || !slices.Equal(got, numbers) || !slices.Equal(other, codes) {
			t.Fatal("the file has other values", err)
		}
		if err := own.Read(Of(&other, 0)); !errors.Is(err, ErrDamaged) {
			t.Errorf("a third array: %v", err)
		}
		d.release()
		keep(t, newDir(t, 0), path, []float64{1}, []int32{2}, "")
	}
	for _, n := range []int{-1, 0, len(numbers) - 1, len(numbers) + 1} {
		if err := k.Read(Of(new([]float64), n)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%d elements: %v", n, err)
		}
	}
	if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

// An array in a file of its own loses this file when it moves to a kept file, and no other memory.
func TestMoveFromFile(t *testing.T) {
	d := newDir(t, 0)
	x, err := Make[float64](d, 1000)
	y, err2 := Make[int64](d, 10)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	x[3], y[3] = 5, 6
	require.NoError(t, write(d, filepath.Join(t.TempDir(), "rows"), &x, &[]int32{1}, ""))
	if want := int64(80 + keptHead + 8000 + keptLine); x[3] != 5 || y[3] != 6 || d.Bytes() != want {
		t.Errorf("%d bytes, want %d; %v, %v", d.Bytes(), want, x[3], y[3])
	}
}

// Whichever operation fails, the kept file is the old or the new one, and after one fault no other
// file stays. Without files that have no name, there is a temporary name.
func TestKeptFaults(t *testing.T) {
	for f := range disk.EveryFault() {
		path := filepath.Join(t.TempDir(), "rows")
		keep(t, newDir(t, 0), path, []float64{1}, []int32{2}, "old")
		d := newDir(t, 0)
		err := f.Run(func() error { return write(d, path, &[]float64{3}, &[]int32{4}, "new") })
		temporary := f.At == 1 && f.Once
		if fails := f.Failed() && !temporary; fails != errors.Is(err, syscall.ENOSPC) || !fails && err != nil {
			t.Errorf("%v: %v", f, err)
		}
		if temporary && !slices.Contains(f.Calls, "rename .rows rows") {
			t.Errorf("%v: no temporary name", f)
		}
		got := ""
		_, open := newDir(t, 0).openKept(path, func(r *keptRecord) error { got = r.Key; return nil })
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
	good := require.Value(os.ReadFile(path))(t)
	try := func(what string, text []byte) {
		t.Helper()
		require.NoError(t, os.WriteFile(path, text, 0o600))
		if _, err := newDir(t, 0).openKept(path, anyRecord); !errors.Is(err, ErrDamaged) {
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

	require.NoError(t, os.WriteFile(path, good, 0o600))
	require.NoError(t, os.Chmod(path, 0o666))
	if _, err := newDir(t, 0).openKept(path, anyRecord); !errors.Is(err, ErrDamaged) {
		t.Errorf("a file that others can write: %v", err)
	}
	require.NoError(t, os.Chmod(path, 0o600))
	foreign := errors.New("other rows")
	if _, err := newDir(t, 0).openKept(path, func(*keptRecord) error { return foreign }); !errors.Is(err, foreign) {
		t.Errorf("a foreign file: %v", err)
	}
	if _, err := newDir(t, 0).openKept(filepath.Join(dir, "absent"), anyRecord); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := newDir(t, 0).openKept(path, anyRecord); err != nil {
		t.Error(err)
	}
}

// A folder that does not exist has no kept file.
func TestNoFolder(t *testing.T) {
	if err := write(newDir(t, 0), filepath.Join(t.TempDir(), "absent", "rows"), &[]float64{1}, &[]int32{1}, ""); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
