package paged

import "time"

// LeastVector is the number of bytes from which a Vector lies in a file. A file for each small
// vector would be too many files.
const LeastVector = 128 << 10

// Vector returns n zeros: in a file if they take at least LeastVector bytes, else in the process's
// own memory. It is for vectors of a few bytes for each row. If the file cannot be made, Vector
// returns own memory: a vector is much smaller than the rows, whose files Make has made before.
// A vector in a file that Free does not remove stays until Close.
func Vector[T any](d *Dir, n int) []T {
	if d != nil && uintptr(n)*sizeOf[T]() >= LeastVector {
		if x, err := Make[T](d, n); err == nil {
			d.Touch(n * int(sizeOf[T]())) // the caller will write all of it
			return x
		}
	}
	return make([]T, n)
}

// Room returns x without elements and with room for n. If x has less room, Room makes a new vector
// and removes x.
func Room[T any](d *Dir, x []T, n int) []T {
	if cap(x) >= n {
		return x[:0]
	}
	Drop(d, x)
	return Vector[T](d, n)[:0]
}

// Drop removes vectors, as Free. It ignores errors of the system: the memory then stays until
// Close.
func Drop[T any](d *Dir, vectors ...[]T) {
	for _, x := range vectors {
		_ = Free(d, x[:cap(x)])
	}
}

// watchEvery is the time between two looks of Watch.
const watchEvery = 10 * time.Millisecond

// Watch looks at the resident memory until Close, and gives pages back near the limit. It is for
// the work on vectors that does not call Touch.
func (d *Dir) Watch() {
	stop, ended := make(chan struct{}), make(chan struct{})
	d.stop = func() {
		close(stop)
		<-ended
	}
	go func() {
		defer close(ended)
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		least := uint64(0) // pages after the last release
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			// Pages that the work needs all the time come back after a release. So the next release
			// waits until there are more of them.
			now, room := d.pagesAndRoom()
			least = min(least, now)
			if now > room && now > least+d.limit/looks {
				d.release()
				least, _ = d.pagesAndRoom()
			}
		}
	}()
}
