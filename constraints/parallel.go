package constraints

import (
	"runtime"
	"sync"

	"ppal/internal/relay"
)

// leastPart is the least number of rows for which another goroutine is worth its start.
const leastPart = 4096

// inParts calls do for consecutive ranges that cover the rows 0..n-1, and waits for all calls. The
// calls run at the same time, on all cores.
func inParts(n int, do func(from, to int)) {
	parts := max(1, min(runtime.GOMAXPROCS(0), n/leastPart))
	tasks := make([]func(), parts)
	for k := range tasks {
		tasks[k] = func() { do(n*k/parts, n*(k+1)/parts) }
	}
	concurrently(tasks...)
}

// concurrently runs the tasks at the same time, and waits for all tasks. A task's panic is a panic
// of concurrently.
func concurrently(tasks ...func()) {
	var group sync.WaitGroup
	var panics relay.Relay
	for _, task := range tasks[1:] {
		group.Go(func() { _ = panics.Do(func() error { task(); return nil }) })
	}
	tasks[0]()
	group.Wait()
	panics.Throw()
}
