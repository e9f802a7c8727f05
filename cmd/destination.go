package cmd

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"ppal/internal/atomicfile"
)

// errInterrupted is the error of a command that a signal stopped before its output was complete.
var errInterrupted = errors.New("interrupted; no output file was written")

// outputs begin and go on until a signal ends the process. The command may still work then, and no
// deferred function of it runs.
type outputs struct {
	mutex sync.Mutex
	ended bool
}

// endsWithin is the longest time that end waits for a write that has begun: its reader may never
// read.
const endsWithin = time.Second

// end lets no output begin or go on, and removes the incomplete files. A write that has begun comes
// to its end first, so that a stream ends with a whole row.
func (o *outputs) end() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		o.mutex.Lock()
		defer o.mutex.Unlock()
		o.ended = true
	}()
	select {
	case <-done:
	case <-time.After(endsWithin):
	}
	atomicfile.DiscardAll()
}

// do calls f unless the process ends.
func (o *outputs) do(f func() error) error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.ended {
		return errInterrupted
	}
	return f()
}

// destination is where a command writes its result: a file that appears when it is complete, or a
// stream. Each write has whole rows.
type destination struct {
	outputs *outputs
	out     io.Writer
	commit  func() error
	// discard removes the incomplete file, if any.
	discard func()
}

// Write implements io.Writer.
func (d *destination) Write(p []byte) (n int, err error) {
	err = d.outputs.do(func() error {
		n, err = d.out.Write(p)
		return err
	})
	return n, err
}

// create returns the destination with the given name. If the name is not a regular file, such as
// /dev/null, the command writes to it without replacing it.
func (a *app) create(name string) (*destination, error) {
	o := &a.outputs
	nothing := func() error { return nil }
	if name == standard {
		return &destination{o, a.stdout, nothing, func() {}}, nil
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &destination{o, f, f.Close, func() {}}, nil
	}
	var f *atomicfile.File
	if err := o.do(func() (err error) {
		f, err = atomicfile.Create(name, 0o644)
		return err
	}); err != nil {
		return nil, err
	}
	return &destination{o, f, func() error { return o.do(f.Commit) }, func() { _ = f.Discard() }}, nil
}
