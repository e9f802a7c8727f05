//go:build linux

package mapped

import (
	"sync/atomic"
	"testing"
	"time"
)

// Watch gives pages back if they take more than half of what the own memory leaves, and again only
// if more pages came.
func TestWatch(t *testing.T) {
	d, err := New(t.TempDir(), 100<<20)
	if err != nil {
		t.Fatal(err)
	}
	var resident atomic.Uint64
	resident.Store(70 << 20)
	d.usage = func() (all, own uint64) { return resident.Load(), 40 << 20 }
	given := func() int {
		d.mutex.Lock()
		defer d.mutex.Unlock()
		return d.given
	}
	d.Watch()
	time.Sleep(5 * watchEvery)
	if n := given(); n != 0 {
		t.Errorf("below the limit: pages are given back %d times", n)
	}
	resident.Store(80 << 20)
	for began := time.Now(); given() == 0 && time.Since(began) < 10*time.Second; {
		time.Sleep(watchEvery)
	}
	time.Sleep(5 * watchEvery)
	if n := given(); n != 1 {
		t.Errorf("40 MiB of pages: they are given back %d times, want once", n)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}
