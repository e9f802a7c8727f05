package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ppal/internal/disk"
)

// The names of the files in the run's directory.
const (
	// CheckpointName is the name of the checkpoint.
	CheckpointName = "checkpoint"
	// previousCheckpoint is the name of the checkpoint before the last one.
	previousCheckpoint = "checkpoint.previous"
	// newCheckpoint is the name of a checkpoint that is being written.
	newCheckpoint = "checkpoint.new"
)

// CheckpointWriter writes the checkpoints of a run to a directory. Only one process may write in a
// directory (disk.LockFolder).
type CheckpointWriter struct {
	Dir string

	whole bool // this writer wrote the last checkpoint
}

// Write makes c the checkpoint, and keeps the last one as the previous checkpoint, which Read
// returns if the new file is damaged later. The new file is durable before it takes the name. A
// crash at any time, and any error, therefore leave a whole checkpoint for Read: the old or the new
// one.
func (w *CheckpointWriter) Write(c *Checkpoint) error {
	data, err := encodeCheckpoint(c)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if err := w.write(data); err != nil {
		w.whole = false
		return fmt.Errorf("checkpoint: %w", err)
	}
	w.whole = true
	return nil
}

func (w *CheckpointWriter) write(data []byte) error {
	path, next, previous := filepath.Join(w.Dir, CheckpointName), filepath.Join(w.Dir, newCheckpoint), filepath.Join(w.Dir, previousCheckpoint)
	if err := disk.Put(next, data); err != nil {
		_ = disk.Local.Remove(next)
		return err
	}
	if w.whole || !onlyPrevious(path, previous) {
		if err := disk.Local.Rename(path, previous); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := disk.Local.Rename(next, path); err != nil {
		return err
	}
	return disk.SyncFolder(path)
}

// onlyPrevious reports whether the previous checkpoint is the only whole one, as after a resume
// from it. A damaged checkpoint must not take its place.
func onlyPrevious(path, previous string) bool {
	if _, err := os.Stat(previous); err != nil {
		return false
	}
	_, err := readCheckpoint(path)
	return err != nil
}

// ReadCheckpoint returns the checkpoint in the directory. If the last checkpoint is missing or
// damaged, Read returns the previous checkpoint if the directory has that file. The error wraps
// ErrNone, ErrDamagedCheckpoint or ErrVersion, or comes from the file system.
func ReadCheckpoint(dir string) (*Checkpoint, error) {
	c, err := readCheckpoint(filepath.Join(dir, CheckpointName))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrDamagedCheckpoint) {
		if before, beforeErr := readCheckpoint(filepath.Join(dir, previousCheckpoint)); beforeErr == nil {
			before.Damaged = true
			return before, nil
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("checkpoint: %w in %s", ErrNoCheckpoint, dir)
	case err != nil:
		return nil, fmt.Errorf("checkpoint: %s: %w", filepath.Join(dir, CheckpointName), err)
	}
	return c, nil
}

// readCheckpoint returns the checkpoint in a file.
func readCheckpoint(path string) (*Checkpoint, error) {
	data, err := disk.ReadUpTo(path, disk.MostState)
	if err != nil {
		return nil, err
	}
	return decodeCheckpoint(data)
}

// RemoveCheckpoint removes all checkpoints of the directory. A missing file is not an error.
func RemoveCheckpoint(dir string) error {
	for _, name := range []string{newCheckpoint, previousCheckpoint, CheckpointName} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("checkpoint: %w", err)
		}
	}
	return nil
}
