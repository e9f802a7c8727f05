package mapped

import "time"

// touchStep is the largest number of bytes of Touch between two checks of the resident memory.
// leastChecks is the least number of checks during accesses to as many bytes as the limit.
const (
	touchStep   = 32 << 20
	leastChecks = 16
)

// Touch tells d that the caller reads or writes the given number of bytes. If the pages take too
// much of the limit (see New), Touch releases all pages. Their contents stay in the files, and the
// next access loads a page again.
func (d *Dir) Touch(bytes int) {
	if d == nil || d.touched.Add(int64(bytes)) < int64(min(touchStep, d.limit/leastChecks)) {
		return
	}
	d.touched.Store(0)
	if pages, room := d.pagesAndRoom(); pages > room {
		d.release()
	}
}

// pagesAndRoom returns the size of the resident pages of files, and the size above which Touch and
// Watch release the pages, both in bytes.
func (d *Dir) pagesAndRoom() (pages, room uint64) {
	all, own := d.usage()
	return all - min(all, own), (d.limit - min(d.limit, own)) / 2
}

// release releases all pages of the files.
func (d *Dir) release() {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	for _, m := range d.maps {
		giveBack(m)
	}
	d.given++
}

// watchEvery is the time between two checks of Watch.
const watchEvery = 10 * time.Millisecond

// Watch checks the resident memory until Close, and releases the pages near the limit. Watch is for
// work that does not call Touch.
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
			// The work loads the pages that it always needs again after a release. The next release
			// therefore waits until the pages take more memory than these pages.
			now, room := d.pagesAndRoom()
			least = min(least, now)
			if now > room && now > least+d.limit/leastChecks {
				d.release()
				least, _ = d.pagesAndRoom()
			}
		}
	}()
}
