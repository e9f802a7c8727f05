package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// LockName is the name of the lock's file in the directory.
const LockName = ".lock"

// ErrHeld says that another process, or another lock of this process, holds the directory.
var ErrHeld = errors.New("another ppal is at work in")

// Lock is a lock on a directory. The operating system releases the lock when the process ends, also
// when the process is killed.
type Lock struct {
	file *os.File
	path string
}

// LockFolder locks the existing directory dir, and waits at most some 50 ms. The error wraps
// ErrHeld if the lock is held, or comes from the file system. On a file system or an operating
// system without file locks, Take succeeds and the lock does not protect.
func LockFolder(dir string) (*Lock, error) { return LockFile(filepath.Join(dir, LockName)) }

// LockFile is Take with a lock on a part of a directory: the file path, which it creates.
func LockFile(path string) (*Lock, error) { return takeLock(path, func() {}) }

// takeLock is TakeFile with a call between the opening and the locking of the file, for tests.
func takeLock(path string, opened func()) (*Lock, error) {
	for {
		f, err := OpenShared(path, os.O_CREATE|os.O_RDWR, 0o644) // Release removes the open file
		if err != nil {
			return nil, fmt.Errorf("lock: %w", err)
		}
		opened()
		held, err := tryLock(f)
		switch {
		case err != nil:
			_ = f.Close()
			return nil, fmt.Errorf("lock: %s: %w", path, err)
		case held:
			_ = f.Close()
			return nil, fmt.Errorf("lock: %w %s: wait until that process ends, or use another directory", ErrHeld, filepath.Dir(path))
		}
		// The last holder may have removed the file after OpenFile opened the file.
		mine, err := f.Stat()
		if err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("lock: %w", err)
		}
		if now, err := os.Stat(path); err == nil && os.SameFile(mine, now) {
			return &Lock{f, path}, nil
		}
		_ = f.Close()
	}
}

// Unlocked reports whether certainly no process holds the lock of the directory dir: the lock's
// file is missing or not locked. Free neither creates nor removes the file. On a file system or an
// operating system without file locks, Free reports false while the file exists.
func Unlocked(dir string) bool {
	f, err := OpenRegular(filepath.Join(dir, LockName), os.O_RDONLY)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	defer f.Close()
	return isFree(f)
}

// Release removes the lock's file and releases the lock. A second call does nothing.
func (l *Lock) Release() error {
	if l == nil || l.file == nil {
		return nil
	}
	err := os.Remove(l.path) // before the lock is released: no other process has the file yet
	if errors.Is(err, os.ErrNotExist) {
		err = nil // the directory was removed
	}
	err = errors.Join(err, l.file.Close())
	l.file = nil
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	return nil
}
