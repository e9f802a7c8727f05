package constraints

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// TestInParts checks that the parts cover each row once, and that a panic of a part arrives.
func TestInParts(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	for _, n := range []int{0, 1, leastPart, 2*leastPart + 1, 9 * leastPart} {
		seen, parts := make([]int32, n), int32(0)
		inParts(n, func(from, to int) {
			atomic.AddInt32(&parts, 1)
			for i := from; i < to; i++ {
				atomic.AddInt32(&seen[i], 1)
			}
		})
		for i, times := range seen {
			if times != 1 {
				t.Fatalf("%d rows: row %d is in %d parts", n, i, times)
			}
		}
		if want := int32(max(1, min(3, n/leastPart))); parts != want {
			t.Errorf("%d rows: %d parts, want %d", n, parts, want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("the panic of a task is lost")
		}
	}()
	concurrently(func() {}, func() { panic("a task") })
}
