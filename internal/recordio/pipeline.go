package recordio

import (
	"errors"
	"io"
	"runtime"
	"sync"

	"ppal/internal/relay"
)

// job is a chunk on its way through a worker, with the worker's result.
type job[T any] struct {
	Chunk
	result T
	err    error
	done   chan struct{}
}

// InOrder passes chunks through as many workers as GOMAXPROCS, and their results to emit in the
// order of the chunks. A worker fills a result up to its first error. next reuses the memory of a
// chunk, and a worker reuses a result, once emit has returned. next and emit each run in one
// goroutine. Memory holds at most 2 chunks for each worker.
//
// The error is the first one in the order of the chunks, of a worker after the emit of its result,
// of emit, or of next. io.EOF of next ends the chunks.
func InOrder[T any](next func(buffer []byte) (Chunk, error), newWorker func() func(c Chunk, result *T) error, emit func(result *T) error) error {
	workers := runtime.GOMAXPROCS(0)
	free := make(chan *job[T], 2*workers)
	for range cap(free) {
		free <- &job[T]{done: make(chan struct{}, 1)}
	}
	todo, order := make(chan *job[T], cap(free)), make(chan *job[T], cap(free))
	stop := make(chan struct{})
	var group sync.WaitGroup
	var panics relay.Relay
	for range workers {
		group.Go(func() {
			var work func(c Chunk, result *T) error
			_ = panics.Do(func() error { work = newWorker(); return nil })
			for j := range todo {
				j.err = panics.Do(func() error { return work(j.Chunk, &j.result) })
				j.done <- struct{}{}
			}
		})
	}
	var readErr error
	group.Go(func() {
		defer close(order)
		defer close(todo)
		defer panics.Catch()
		relay.Guard()
		for {
			var j *job[T]
			select {
			case j = <-free:
			case <-stop:
				return
			}
			if j.Chunk, readErr = next(j.Text); readErr != nil {
				return
			}
			todo <- j
			order <- j
		}
	})
	err := emitAll(order, free, emit)
	close(stop)
	for j := range order { // wait for the jobs that remain after an error
		<-j.done
	}
	group.Wait()
	panics.Throw()
	if err == nil && readErr != io.EOF {
		err = readErr
	}
	return err
}

// emitAll emits the results in the order of their chunks, up to the first error.
func emitAll[T any](order <-chan *job[T], free chan<- *job[T], emit func(result *T) error) error {
	for j := range order {
		<-j.done
		if errors.As(j.err, new(*relay.Panic)) { // the result is not complete
			return j.err
		}
		if err := emit(&j.result); err != nil {
			return err
		}
		if j.err != nil {
			return j.err
		}
		free <- j
	}
	return nil
}

// InParallel calls do(0), ..., do(n-1) from as many goroutines as GOMAXPROCS.
func InParallel(n int, do func(i int)) {
	var group sync.WaitGroup
	var panics relay.Relay
	todo := make(chan int)
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for i := range todo {
				_ = panics.Do(func() error { do(i); return nil })
			}
		})
	}
	for i := range n {
		todo <- i
	}
	close(todo)
	group.Wait()
	panics.Throw()
}
