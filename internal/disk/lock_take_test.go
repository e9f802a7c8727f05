package disk

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"ppal/internal/require"
)

// The last holder may remove the file after Take has opened the file. The lock of the removed file
// protects nothing: Take locks the present file, or reports that another process holds that file.
func TestRemovedFile(t *testing.T) {
	for _, again := range []bool{false, true} {
		dir, rounds := t.TempDir(), 0
		var other *Lock
		l, err := takeLock(filepath.Join(dir, LockName), func() {
			if rounds++; rounds > 1 {
				return
			}
			require.NoError(t, os.Remove(filepath.Join(dir, LockName)))
			if again {
				var err error
				if other, err = LockFolder(dir); err != nil {
					t.Fatal(err)
				}
			}
		})
		if again != errors.Is(err, ErrHeld) || rounds != 2 {
			t.Errorf("made again: %v: %v after %d rounds", again, err, rounds)
		}
		if !again {
			other = l
			if _, err := os.Stat(filepath.Join(dir, LockName)); err != nil {
				t.Errorf("the lock has no file: %v", err)
			}
		}
		if err := other.Release(); err != nil {
			t.Error(err)
		}
	}
}
