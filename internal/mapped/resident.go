package mapped

import "time"

// step is the largest number of bytes that are read or written between two looks at the resident
// memory, and looks is the least number of looks while as many bytes as the limit are read.
const (
	step  = 32 << 20
	looks = 16
)

// Touch says that the caller reads or writes the given number of bytes of the memory. When pages
// take too much of the limit (see New), Touch gives all pages back. Their contents stay, and the
// next access brings them again.
func (d *Dir) Touch(bytes int) {
	if d == nil || d.touched.Add(int64(bytes)) < int64(min(step, d.limit/looks)) {
		return
	}
	d.touched.Store(0)
	if pages, room := d.pagesAndRoom(); pages > room {
		d.release()
	}
}

// pagesAndRoom returns the resident pages of files in bytes, and the number above which they are
// given back.
func (d *Dir) pagesAndRoom() (pages, room uint64) {
	all, own := d.usage()
	return all - min(all, own), (d.limit - min(d.limit, own)) / 2
}

// release gives all pages back.
func (d *Dir) release() {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	for _, m := range d.maps {
		giveBack(m)
	}
	d.given++
}

// watchEvery is the time between two looks of Watch.
const watchEvery = 10 * time.Millisecond

// Watch looks at the resident memory until Close, and gives pages back near the limit. It is for
// the work that does not call Touch.
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
