//go:build unix

package disk

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ppal/internal/require"
)

// A file that cannot be written whole leaves the old file, and no other file.
func TestNoSpace(t *testing.T) {
	signal.Ignore(unix.SIGXFSZ)
	defer signal.Reset(unix.SIGXFSZ)
	var old unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &old))
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	require.NoError(t, Write(path, []byte("old"), 0o600))
	small := old
	small.Cur = 1 << 20 // beyond the log that go test writes at the same time
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &small))
	err := Write(path, make([]byte, 2<<20), 0o600)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &old))
	if !errors.Is(err, syscall.EFBIG) {
		t.Errorf("%v, want %v", err, syscall.EFBIG)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "old" {
		t.Errorf("%q, %v, want the old file", text, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v: want the file alone", entries, err)
	}
}
