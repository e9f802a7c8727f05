package atomicfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A file of Unnamed replaces the path with Keep and stays open; before, and after Discard, nothing
// of it stays, and DiscardAll leaves the folder. Both kinds of file systems.
func TestUnnamed(t *testing.T) {
	for _, at := range []int{0, 1} { // 1: the file system refuses files without names
		for _, keep := range []bool{false, true} {
			faults := &Faults{At: at, Once: true, Err: syscall.EOPNOTSUPP}
			folder := t.TempDir()
			path := filepath.Join(folder, "rows")
			err := faults.Run(func() error {
				f, err := Unnamed(path)
				if err != nil {
					return err
				}
				if _, err := f.Handle().WriteAt([]byte("new"), 0); err != nil {
					return err
				}
				if !keep {
					DiscardAll()
					if list, err := os.ReadDir(folder); err != nil || len(list) > 0 {
						t.Errorf("after DiscardAll: %v, %v", list, err)
					}
					if err := f.Discard(); (err == nil) != (at == 0) { // a temporary file is gone already
						t.Error(err)
					}
					return nil
				}
				if err := f.Keep(0o400); err != nil {
					return err
				}
				if err := f.Discard(); err != nil {
					return err
				}
				return f.Handle().Close()
			})
			if err != nil {
				t.Fatal(err)
			}
			list, err := os.ReadDir(folder)
			if err != nil || len(list) != map[bool]int{true: 1}[keep] {
				t.Errorf("%d, %v: %v, %v", at, keep, list, err)
			}
			if !keep {
				continue
			}
			info, err := os.Stat(path)
			if got, _ := os.ReadFile(path); err != nil || info.Mode() != fs.FileMode(0o400) || string(got) != "new" {
				t.Errorf("%v, %v, %q", info, err, got)
			}
		}
	}
	if _, err := Unnamed(filepath.Join(t.TempDir(), "none", "rows")); err == nil {
		t.Error("in no folder")
	}
}

// Scratch leaves no name in the folder.
func TestScratch(t *testing.T) {
	for _, at := range []int{0, 1} {
		folder := t.TempDir()
		err := (&Faults{At: at, Once: true, Err: syscall.EOPNOTSUPP}).Run(func() error {
			f, err := Scratch(folder)
			if err != nil {
				return err
			}
			defer f.Close()
			if list, err := os.ReadDir(folder); err != nil || len(list) > 0 {
				t.Errorf("%v, %v", list, err)
			}
			_, err = f.Write([]byte("x"))
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}
