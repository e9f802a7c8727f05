package cpu

import "sync"

// A job is work that goroutines do at the same time, each its own share.
type job interface {
	// work does the share of a worker, 0 to n-1.
	work(worker int)
}

// parallel does a job with n workers, the caller one of them.
func parallel(n int, j job) {
	if n <= 1 {
		j.work(0)
		return
	}
	var group sync.WaitGroup
	for t := 1; t < n; t++ {
		group.Go(func() { j.work(t) })
	}
	j.work(0)
	group.Wait()
}
