package disk

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Faults is a System for tests. It notes its operations, and fails at the operation At and then at
// every operation, as after a crash: nothing cleans up. The first operation is 1.
type Faults struct {
	At    int
	Once  bool  // only the operation At fails
	Short bool  // a write stores a half before it fails
	Torn  bool  // a rename takes place and then fails
	Err   error // of the faults; nil: syscall.ENOSPC
	// Calls are the operations. Paths are base names without the numbers at the end, which are
	// random in temporary names, and "directory" stands for a directory.
	Calls []string

	OS
	ended bool // after Run: no faults
}

// EveryFault gives Faults that fail at the first operation, the second, and so on, in every kind of
// fault, until one does not fail: see Failed.
func EveryFault() iter.Seq[*Faults] {
	return func(yield func(*Faults) bool) {
		for kind := range 6 {
			for at := 1; ; at++ {
				f := &Faults{At: at, Once: kind >= 3, Short: kind%3 == 1, Torn: kind%3 == 2}
				if !yield(f) {
					return
				}
				if !f.Failed() {
					break
				}
			}
		}
	}
}

// Run calls act with f as Local, and returns its error. Files that act leaves open work without
// faults afterwards.
func (f *Faults) Run(act func() error) error {
	before := Local
	defer func() { Local, f.ended = before, true }()
	Local = f
	return act()
}

// Failed reports whether an operation has failed.
func (f *Faults) Failed() bool { return f.At > 0 && len(f.Calls) >= f.At }

// String describes the faults.
func (f *Faults) String() string {
	return fmt.Sprintf("fault %d (once %v, short %v, torn %v) of %q", f.At, f.Once, f.Short, f.Torn, f.Calls)
}

// fault notes the next operation, and returns the error with which it fails.
func (f *Faults) fault(call string, paths ...string) error {
	if f.ended {
		return nil
	}
	for _, path := range paths {
		name := strings.TrimRight(filepath.Base(path), "-0123456789")
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			name = "directory"
		}
		call += " " + name
	}
	f.Calls = append(f.Calls, call)
	switch n := len(f.Calls); {
	case f.At == 0 || n < f.At || n > f.At && f.Once:
		return nil
	case f.Err != nil:
		return f.Err
	}
	return syscall.ENOSPC
}

// OpenShared implements System.
func (f *Faults) OpenFile(path string, flags int, perm os.FileMode) (Handle, error) {
	if err := f.fault("open", path); err != nil {
		return nil, err
	}
	h, err := f.OS.OpenFile(path, flags, perm)
	if err != nil {
		return nil, err
	}
	return faulty{h, f}, nil
}

// Unnamed implements System.
func (f *Faults) Unnamed(path string, perm os.FileMode) (Handle, error) {
	if err := f.fault("create", path); err != nil {
		return nil, err
	}
	h, err := f.OS.Unnamed(path, perm)
	if err != nil {
		return nil, err
	}
	return faulty{h, f}, nil
}

// Rename implements System.
func (f *Faults) Rename(from, to string) error {
	err := f.fault("rename", from, to)
	if err != nil && !f.Torn {
		return err
	}
	if real := f.OS.Rename(from, to); real != nil {
		return real
	}
	return err
}

// Remove implements System.
func (f *Faults) Remove(path string) error {
	if err := f.fault("remove", path); err != nil {
		return err
	}
	return f.OS.Remove(path)
}

// Link implements System.
func (f *Faults) Link(h Handle, path string) error {
	if err := f.fault("link", path); err != nil {
		return err
	}
	return f.OS.Link(h, path)
}

// faulty is a Handle of Faults. It gives the descriptor of the file also after a fault.
type faulty struct {
	Handle
	f *Faults
}

// write writes p by the given function.
func (h faulty) write(p []byte, write func(p []byte) (int, error)) (int, error) {
	err := h.f.fault("write", h.Name())
	switch {
	case err == nil:
		return write(p)
	case h.f.Short:
		n, _ := write(p[:len(p)/2])
		return n, err
	}
	return 0, err
}

// Write implements Handle.
func (h faulty) Write(p []byte) (int, error) { return h.write(p, h.Handle.Write) }

// WriteAt implements Handle.
func (h faulty) WriteAt(p []byte, at int64) (int, error) {
	return h.write(p, func(p []byte) (int, error) { return h.Handle.WriteAt(p, at) })
}

// Truncate implements Handle.
func (h faulty) Truncate(size int64) error {
	if err := h.f.fault("truncate", h.Name()); err != nil {
		return err
	}
	return h.Handle.Truncate(size)
}

// Chmod implements Handle.
func (h faulty) Chmod(mode os.FileMode) error {
	if err := h.f.fault("chmod", h.Name()); err != nil {
		return err
	}
	return h.Handle.Chmod(mode)
}

// Sync implements Handle.
func (h faulty) Sync() error {
	if err := h.f.fault("sync", h.Name()); err != nil {
		return err
	}
	return h.Handle.Sync()
}

// Close implements Handle. The file is closed also if the operation fails.
func (h faulty) Close() error {
	err := h.f.fault("close", h.Name())
	if real := h.Handle.Close(); real != nil {
		return real
	}
	return err
}
