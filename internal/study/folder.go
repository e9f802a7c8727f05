package study

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ppal/internal/disk"
)

// Locked creates the directory dir, and calls work while dir is locked against other processes. The
// error wraps disk.ErrHeld if another process is at work in dir.
func Locked(dir string, work func() error) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("%w; use another directory (--out)", err)
	}
	lock, err := disk.LockFolder(dir)
	if err != nil {
		return err
	}
	return errors.Join(work(), lock.Release())
}

// patience is the longest time for which patient waits. Tests shorten it.
var patience = 20 * time.Second

// patient is Locked for short work: it waits while another process does short work in dir. The
// error wraps disk.ErrHeld if the other process holds dir for longer than patience.
func patient(ctx context.Context, dir string, work func() error) error {
	for end := time.Now().Add(patience); ; {
		err := Locked(dir, work)
		if !errors.Is(err, disk.ErrHeld) || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(look):
		}
	}
}

// description says what the results of a study depend on. It is a file in the directory of the
// study, which an interrupted study continues only with the same description.
type description struct {
	File    string // name of the file
	Content []byte
	// Refused is the error that claim wraps if the directory holds something else.
	Refused error
	// Continues returns an error if a study with another description cannot go on with this one.
	Continues func(other []byte) error
}

// claim writes the description into a directory that is empty but for the lock, or compares the
// description that is there. The caller has locked the directory.
func (d description) claim(dir string) error {
	path := filepath.Join(dir, d.File)
	have, err := os.ReadFile(path)
	switch {
	case err == nil && bytes.Equal(have, d.Content):
		return nil
	case err == nil:
		err = d.Continues(have)
	case errors.Is(err, fs.ErrNotExist):
		err = d.empty(dir, disk.LockName)
	}
	if err != nil {
		return err
	}
	return disk.Write(path, d.Content, 0o644)
}

// release removes the description from a directory that holds nothing else, so that another study
// can have the directory. The caller has locked it.
func (d description) release(dir string) error {
	if d.empty(dir, disk.LockName, d.File) != nil {
		return nil
	}
	return os.Remove(filepath.Join(dir, d.File))
}

// empty returns an error if the directory holds more than the named files.
func (d description) empty(dir string, names ...string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !slices.Contains(names, entry.Name()) {
			return fmt.Errorf("%w: %s is not empty: use a new directory (--out)", d.Refused, dir)
		}
	}
	return nil
}
