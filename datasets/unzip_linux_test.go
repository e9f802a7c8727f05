package datasets

import (
	"errors"
	"os/signal"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"ppal/datasets/dataerr"
	"ppal/internal/datatest"
	"ppal/internal/require"
)

// A disk that is full while a file is extracted is not the archive's fault.
func TestUnzipNoSpace(t *testing.T) {
	require.NoRace(t, "the test starts no goroutine")
	dir, body := t.TempDir(), make([]byte, 16<<20)
	archive := datatest.Write(t, dir, "archive.zip", zipArchive(t, "folder/file.bin", body))
	signal.Ignore(unix.SIGXFSZ)
	defer signal.Reset(unix.SIGXFSZ)
	var old unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &old))
	small := old
	small.Cur = 8 << 20 // far beyond the log that go test writes at the same time
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &small))
	err := unzip(archive, filepath.Join(dir, "file.bin.part"), File{Path: "file.bin", Zipped: "folder/file.bin", Size: int64(len(body))})
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &old))
	if !errors.Is(err, unix.EFBIG) || errors.Is(err, dataerr.ErrFormat) {
		t.Errorf("%v, want %v alone", err, unix.EFBIG)
	}
}
