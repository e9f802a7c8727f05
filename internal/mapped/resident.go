package mapped

import "time"

const (
	// watchEvery is the time between two checks of Watch.
	watchEvery = 10 * time.Millisecond
	// leastGrowth is the part of the limit, as a divisor, that the pages grow between two releases.
	leastGrowth = 16
)

// Watch calls Bound again and again until Close.
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
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				d.Bound()
			}
		}
	}()
}

// Bound checks the resident memory, and releases all pages of the files if they take more than half
// of what the process's own memory leaves of the limit. Their contents stay in the files, and the
// next access loads a page again. The work loads the pages that it always needs again, so that the
// next release waits until the pages take more memory than these pages. Work that reads single
// numbers of many pages calls Bound, because it may load many pages between two checks of Watch.
func (d *Dir) Bound() {
	if d == nil {
		return
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	all, own := d.usage()
	pages := all - min(all, own)
	if d.least = min(d.least, pages); pages <= (d.limit-min(d.limit, own))/2 || pages <= d.least+d.limit/leastGrowth {
		return
	}
	d.release()
	all, own = d.usage()
	d.least = all - min(all, own)
}

// release releases all pages of the files. The caller holds the mutex.
func (d *Dir) release() {
	for _, m := range d.maps {
		giveBack(m)
	}
	d.given++
}
