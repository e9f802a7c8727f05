// Package atomicfile replaces files atomically.
package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/google/renameio/v2"
)

// disk holds the calls whose order makes a moved file and a name durable. Tests replace them.
var disk = struct {
	sync   func(f *os.File) error
	rename func(from, to string) error
}{(*os.File).Sync, os.Rename}

// Write replaces the file at path atomically: it writes and syncs a temporary file in the same
// directory, renames the temporary file, and syncs the directory. A reader never sees an incomplete
// file, not even after a power failure. An existing file keeps its permissions; a new file has perm
// without the bits of the umask. Errors come from the file system, and leave path unchanged unless
// only the sync of the directory fails.
func Write(path string, data []byte, perm os.FileMode) error {
	f, err := Create(path, perm)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return errors.Join(err, f.Discard())
	}
	if err := f.Commit(); err != nil {
		return errors.Join(err, f.Discard())
	}
	return nil
}

// Move renames the file from to path, which is in the same file system, after it has synced the
// file. Move then syncs the directory of path.
func Move(from, path string) error {
	f, err := os.OpenFile(from, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(disk.sync(f), f.Close()); err != nil {
		return err
	}
	if err := disk.rename(from, path); err != nil {
		return err
	}
	return syncFolder(path)
}

// Replace renames the file from to path, which is in the same file system, and does not wait for
// the disk. It is for files whose readers find lost bytes by checksums.
func Replace(from, path string) error { return disk.rename(from, path) }

// File is a new file that replaces path when Commit is called.
type File struct {
	pending *renameio.PendingFile
	path    string
}

// unfinished are the files that have been created and neither committed nor discarded.
var unfinished sync.Map

// DiscardAll removes all files of the process that are not committed: the process ends while its
// goroutines still work, so that no deferred Discard runs. It does not wait for a Commit that has
// begun, which syncs a large file for seconds: the Commit then fails.
func DiscardAll() {
	unfinished.Range(func(f, _ any) bool {
		_ = os.Remove(f.(*File).pending.Name()) // there is none if a Commit has just ended
		return true
	})
}

// Create begins a file in the directory of path: only a file in the same file system can be renamed
// to path, and the directory gives the file its group. The caller calls Commit, or Discard, which
// may follow Commit.
func Create(path string, perm os.FileMode) (*File, error) {
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)),
		renameio.WithPermissions(perm), renameio.WithExistingPermissions())
	if err != nil {
		return nil, err
	}
	own := &File{pending: f, path: path}
	unfinished.Store(own, nil)
	return own, nil
}

// Write implements io.Writer.
func (f *File) Write(p []byte) (int, error) { return f.pending.Write(p) }

// Commit syncs the file, replaces path by it and syncs the directory.
func (f *File) Commit() error {
	if err := f.pending.CloseAtomicallyReplace(); err != nil {
		return err
	}
	unfinished.Delete(f)
	return syncFolder(f.path)
}

// Discard removes the new file and leaves path unchanged. After Commit it does nothing.
func (f *File) Discard() error {
	unfinished.Delete(f)
	return f.pending.Cleanup()
}

// syncFolder syncs the directory of a file, if the file system can sync directories.
func syncFolder(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := disk.sync(dir); !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}
