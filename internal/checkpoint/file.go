package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ppal/internal/atomicfile"
	"ppal/internal/seal"
)

// The names of the files in the run's directory.
const (
	// Name is the name of the checkpoint.
	Name = "checkpoint"
	// previousName is the name of the checkpoint before the last one.
	previousName = "checkpoint.previous"
	// newName is the name of a checkpoint that is being written.
	newName = "checkpoint.new"
)

// Writer writes the checkpoints of a run to a directory. Only one process may write in a directory
// (package dirlock).
type Writer struct {
	Dir string

	whole bool // this writer wrote the last checkpoint
}

// Write makes c the checkpoint, and keeps the last one as the previous checkpoint, which Read
// returns if the new file is damaged later. The new file is durable before it takes the name. A
// crash at any time, and any error, therefore leave a whole checkpoint for Read: the old or the new
// one.
func (w *Writer) Write(c *Checkpoint) error {
	data, err := encode(c)
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

func (w *Writer) write(data []byte) error {
	path, next, previous := filepath.Join(w.Dir, Name), filepath.Join(w.Dir, newName), filepath.Join(w.Dir, previousName)
	if err := atomicfile.Put(next, data); err != nil {
		_ = atomicfile.Disk.Remove(next)
		return err
	}
	if w.whole || !onlyPrevious(path, previous) {
		if err := atomicfile.Disk.Rename(path, previous); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := atomicfile.Disk.Rename(next, path); err != nil {
		return err
	}
	return atomicfile.SyncFolder(path)
}

// onlyPrevious reports whether the previous checkpoint is the only whole one, as after a resume
// from it. A damaged checkpoint must not take its place.
func onlyPrevious(path, previous string) bool {
	if _, err := os.Stat(previous); err != nil {
		return false
	}
	_, err := read(path)
	return err != nil
}

// Read returns the checkpoint in the directory. If the last checkpoint is missing or damaged, Read
// returns the previous checkpoint if the directory has that file. The error wraps ErrNone,
// ErrDamaged or ErrVersion, or comes from the file system.
func Read(dir string) (*Checkpoint, error) {
	c, err := read(filepath.Join(dir, Name))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrDamaged) {
		if before, beforeErr := read(filepath.Join(dir, previousName)); beforeErr == nil {
			before.Damaged = true
			return before, nil
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("checkpoint: %w in %s", ErrNone, dir)
	case err != nil:
		return nil, fmt.Errorf("checkpoint: %s: %w", filepath.Join(dir, Name), err)
	}
	return c, nil
}

// read returns the checkpoint in a file.
func read(path string) (*Checkpoint, error) {
	data, err := seal.ReadUpTo(path, seal.State)
	if err != nil {
		return nil, err
	}
	return decode(data)
}

// Remove removes all checkpoints of the directory. A missing file is not an error.
func Remove(dir string) error {
	for _, name := range []string{newName, previousName, Name} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("checkpoint: %w", err)
		}
	}
	return nil
}
