// Package atomicfile replaces files atomically.
package atomicfile

import (
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// Write replaces the file at path atomically: it writes and syncs a temporary file in the same
// directory, renames the temporary file, and syncs the directory. A reader never sees an incomplete
// file, not even after a power failure. Errors come from the file system.
func Write(path string, data []byte, perm os.FileMode) error {
	if err := renameio.WriteFile(path, data, perm); err != nil {
		return err
	}
	return syncFolder(path)
}

// File is a new file that replaces path when Commit is called.
type File struct {
	pending *renameio.PendingFile
	path    string
}

// Create begins a file beside path. The caller calls Commit, or Discard, which may follow Commit.
func Create(path string, perm os.FileMode) (*File, error) {
	f, err := renameio.NewPendingFile(path, renameio.WithPermissions(perm), renameio.WithExistingPermissions())
	if err != nil {
		return nil, err
	}
	return &File{f, path}, nil
}

// Write implements io.Writer.
func (f *File) Write(p []byte) (int, error) { return f.pending.Write(p) }

// Commit syncs the file and replaces path by it.
func (f *File) Commit() error {
	if err := f.pending.CloseAtomicallyReplace(); err != nil {
		return err
	}
	return syncFolder(f.path)
}

// Discard removes the new file and leaves path unchanged. After Commit it does nothing.
func (f *File) Discard() error { return f.pending.Cleanup() }

// syncFolder syncs the directory of a file.
func syncFolder(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
