// Package relay carries a panic from a worker goroutine to the goroutine that waits for the worker.
// Go ends the program at once when a goroutine panics, so the waiting goroutine could neither
// report the panic in its own way nor release what it holds.
package relay

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
)

// Panic is a panic of a worker goroutine. Throw panics with a *Panic.
type Panic struct {
	Value any    // the value of the worker's panic
	Place string // where the worker panicked, as in Place; "" if the place is not known
	Stack []byte // the stack of the worker
}

var _ error = (*Panic)(nil)

// Error returns the value of the panic and the stack of the worker.
func (p *Panic) Error() string { return fmt.Sprintf("%v\n\nthe worker's %s", p.Value, p.Stack) }

// Guard turns a fault of the calling goroutine at a mapped page of a file into a panic: the file
// was shortened, or the disk cannot read the page. Without Guard, Go ends the process. Do calls
// Guard; other workers that may touch rows in files call it first.
func Guard() { debug.SetPanicOnFault(true) }

// Relay keeps the first panic of several workers. The zero value is ready. The methods may be
// called by several goroutines at the same time.
type Relay struct{ first atomic.Pointer[Panic] }

// Catch keeps a panic of the calling function. A worker defers Catch:
//
//	go func() {
//		defer close(done)
//		defer r.Catch()
//		work()
//	}()
func (r *Relay) Catch() {
	if v := recover(); v != nil {
		r.keep(v)
	}
}

// Do calls f and returns its error. If f panics, Do keeps the panic and returns the panic as an
// error, so that the worker can go on: a worker that ends may block the goroutines that wait for
// the worker's results.
func (r *Relay) Do(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = r.keep(v)
		}
	}()
	Guard()
	return f()
}

// keep keeps the value of a panic unless a worker has panicked before.
func (r *Relay) keep(v any) *Panic {
	p, nested := v.(*Panic)
	if !nested {
		p = &Panic{Value: v, Place: Place(), Stack: debug.Stack()}
	}
	r.first.CompareAndSwap(nil, p)
	return p
}

// Throw panics with the first panic of the workers, and forgets the panic. Throw does nothing if no
// worker has panicked. The goroutine that waits for the workers calls Throw after they have ended.
func (r *Relay) Throw() {
	if p := r.first.Swap(nil); p != nil {
		panic(p)
	}
}

// Place returns the place of the panic that a deferred function has just recovered, as
// "package.function in file.go:1", or "" if the place is not known.
func Place() string {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	for panicked := false; ; {
		f, more := frames.Next()
		if panicked && !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf("%s in %s:%d", f.Function, f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
		}
		panicked = panicked || f.Function == "runtime.gopanic"
		if !more {
			return ""
		}
	}
}

// Start runs f in a goroutine. The returned function waits for f and returns its result; a panic of
// f is a panic of that function.
func Start[T any](f func() (T, error)) (wait func() (T, error)) {
	var result T
	var err error
	var panics Relay
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer panics.Catch()
		Guard()
		result, err = f()
	}()
	return func() (T, error) {
		<-done
		panics.Throw()
		return result, err
	}
}

// Go is Start for a function whose only result is an error.
func Go(f func() error) (wait func() error) {
	w := Start(func() (struct{}, error) { return struct{}{}, f() })
	return func() error {
		_, err := w()
		return err
	}
}
