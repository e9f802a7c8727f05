package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// The names of the files in the run's directory.
const (
	// Name is the name of the checkpoint.
	Name = "checkpoint"
	// previousName is the name of the old checkpoint until the new checkpoint is durable.
	previousName = "checkpoint.previous"
	// newName is the name of a checkpoint that is being written.
	newName = "checkpoint.new"
)

// System is the part of the file system that Write needs. Tests replace it.
type System interface {
	// Create opens a new file, or empties an old one.
	Create(path string) (File, error)
	Rename(from, to string) error
	Remove(path string) error
	// SyncDir makes the names in the directory durable.
	SyncDir(dir string) error
}

// File is a file that Write writes.
type File interface {
	io.WriteCloser
	// Sync makes the contents durable.
	Sync() error
}

// OS is the file system of the operating system.
type OS struct{}

// Create implements System.
func (OS) Create(path string) (File, error) { return os.Create(path) }

// Rename implements System.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements System.
func (OS) Remove(path string) error { return os.Remove(path) }

// SyncDir implements System.
func (OS) SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Write makes c the checkpoint in the directory. The new file is durable before it takes the place
// of the old checkpoint, and the old checkpoint stays until the new name is durable. A crash at any
// time, and any error, therefore leave a whole checkpoint for Read: the old or the new one.
//
// Only one process may write in a directory (package dirlock).
func Write(system System, dir string, c *Checkpoint) error {
	data, err := encode(c)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	path, next, previous := filepath.Join(dir, Name), filepath.Join(dir, newName), filepath.Join(dir, previousName)
	if err := write(system, next, data); err != nil {
		_ = system.Remove(next)
		return fmt.Errorf("checkpoint: %w", err)
	}
	if !onlyPrevious(path, previous) {
		if err := system.Rename(path, previous); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("checkpoint: %w", err)
		}
	}
	if err := system.Rename(next, path); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if err := system.SyncDir(dir); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if err := system.Remove(previous); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
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

// write writes a file and makes its contents durable.
func write(system System, path string, data []byte) error {
	f, err := system.Create(path)
	if err != nil {
		return err
	}
	n, err := f.Write(data)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Read returns the checkpoint in the directory. If the last checkpoint is missing or damaged, Read
// returns the previous checkpoint if the directory still has that file. The error wraps ErrNone,
// ErrDamaged or ErrVersion, or comes from the file system.
func Read(dir string) (*Checkpoint, error) {
	c, err := read(filepath.Join(dir, Name))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrDamaged) {
		if before, beforeErr := read(filepath.Join(dir, previousName)); beforeErr == nil {
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
	data, err := os.ReadFile(path)
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
