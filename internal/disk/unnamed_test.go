package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"ppal/internal/require"
)

// refused makes the file system refuse files without names if at is 1.
func refused(at int) *Faults { return &Faults{At: at, Once: true, Err: syscall.EOPNOTSUPP} }

// A file replaces the path with Replace and stays open; before, and after DiscardAll, the folder
// has nothing of it. Both kinds of file systems; only the one without such files has a name before.
func TestUnnamed(t *testing.T) {
	for _, at := range []int{0, 1} {
		for _, keep := range []bool{false, true} {
			folder := t.TempDir()
			path := filepath.Join(folder, "rows")
			err := refused(at).Run(func() error {
				f, err := Create(path, 0o400)
				if err != nil {
					return err
				}
				if _, err := f.Handle().WriteAt([]byte("new"), 0); err != nil {
					return err
				}
				list, err := os.ReadDir(folder)
				if want := at == 1 || !hasUnnamed(folder); err != nil || len(list) > 0 != want {
					t.Errorf("before the end: %v, %v, want a name: %v", list, err, want)
				}
				if !keep {
					named := f.temp != ""
					DiscardAll()
					if list, err := os.ReadDir(folder); err != nil || len(list) > 0 {
						t.Errorf("after DiscardAll: %v, %v", list, err)
					}
					if err := f.Replace(); !errors.Is(err, fs.ErrClosed) {
						t.Errorf("a discarded file replaces the path: %v", err)
					}
					if err := f.Discard(); (err != nil) != named { // a temporary file is gone already
						t.Error(err)
					}
					return nil
				}
				if err := f.Replace(); err != nil {
					return err
				}
				if err := f.Discard(); err != nil {
					return err
				}
				return f.Handle().Close()
			})
			require.NoError(t, err)
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
}

// Scratch leaves no name in the folder.
func TestScratch(t *testing.T) {
	for _, at := range []int{0, 1} {
		folder := t.TempDir()
		err := refused(at).Run(func() error {
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
