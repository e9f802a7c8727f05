//go:build linux

package paged

import (
	"sync/atomic"
	"testing"
	"time"
)

// A vector lies in a file from LeastVector bytes on. Drop and Room remove its memory.
func TestVector(t *testing.T) {
	d := newDir(t, 0)
	if x := Vector[byte](d, LeastVector-1); d.Bytes() != 0 || len(x) != LeastVector-1 {
		t.Errorf("a small vector: %d bytes in files", d.Bytes())
	}
	x := Vector[float64](d, LeastVector/8)
	if d.Bytes() != LeastVector {
		t.Errorf("%d bytes in files, want %d", d.Bytes(), LeastVector)
	}
	if same := Room(d, x[:0], len(x)); &same[:1][0] != &x[0] || len(same) != 0 {
		t.Error("Room does not use a vector that is large enough")
	}
	if more := Room(d, x, 2*len(x)); cap(more) != 2*len(x) || d.Bytes() != 2*LeastVector {
		t.Errorf("a larger vector: room for %d, %d bytes in files", cap(more), d.Bytes())
	} else if Drop(d, more); d.Bytes() != 0 {
		t.Errorf("%d bytes in files after Drop", d.Bytes())
	}
	if x := Vector[byte](nil, 1<<20); len(x) != 1<<20 {
		t.Errorf("without a Dir: %d elements", len(x))
	}
}

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
